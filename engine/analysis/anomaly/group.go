package anomaly

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/relation"
)

// groupCheck is the check of numbers that are unusual within their group.
type groupCheck struct {
	column int
	by     []int
	// log reports that logarithms are compared; limit is the distance from the median, in
	// robust deviations, from which on a value is unusual.
	log   bool
	limit float64
}

// model describes which values of a column, or of the difference between two columns, are
// usual in each group of rows.
type model struct {
	// column and less are indexes of columns. The value is that of column, minus that of less
	// if less is not negative. clock reports that both are times of day.
	column, less int
	clock        bool
	by           []int
	log          bool
	limit        float64
	groups       map[[2]int32]center
}

type center struct{ median, spread float64 }

// groupTail is like tail, for distances from the median of a group, whose tails are longer.
const groupTail = 6

// minMembers is the number of rows of the sample that a group needs.
const minMembers = 8

// value returns the model's number of a row, whose numbers are given by column.
func (m *model) value(row func(int) float64) float64 {
	v := row(m.column)
	if m.less >= 0 {
		w := row(m.less)
		if m.clock {
			d := math.Trunc(v/100)*60 + math.Mod(v, 100) - math.Trunc(w/100)*60 - math.Mod(w, 100)
			return d - relation.Minutes*math.Floor(d/relation.Minutes)
		}
		return v - w
	}
	if m.log {
		if v <= 0 {
			return -1e3
		}
		return math.Log(v)
	}
	return v
}

// distance returns how unusual a number is in the group: 1 is the limit of what is usual. It
// reports false if the group or the number is unknown.
func (m *model) distance(key [2]int32, value float64) (float64, bool) {
	c, ok := m.groups[key]
	if !ok || math.IsNaN(value) {
		return 0, false
	}
	v := math.Abs(value - c.median)
	if m.clock {
		v = min(v, relation.Minutes-v)
	}
	return v / c.spread / m.limit, true
}

// grouped finds the groups that explain the numbers of the columns, and adds their checks.
func (d *detector) grouped(context.Context) error {
	s := d.sample
	if s.Rows < 400 {
		return nil
	}
	by := d.groupings()
	clocks := s.Clocks()
	for i, c := range s.Columns {
		if !c.Numeric() || s.Distinct[i] < 20 || slices.Contains(clocks, i) || c.Key || c.Unique || s.Distinct[i]*10 > s.Rows*9 {
			continue
		}
		if m, ok := d.best(model{column: i, less: -1, log: d.positive(i)}, by, 0.5); ok {
			d.models = append(d.models, m)
			if len(m.by) > 0 && !d.determined(i) {
				d.add(check{kind: kindGroup, column: -1, score: 0.85, weights: map[int]float64{i: 1, m.by[0]: 0.3, m.by[len(m.by)-1]: 0.3},
					group:  &groupCheck{column: i, by: m.by, log: m.log, limit: m.limit},
					reason: fmt.Sprintf("the value is far from the others with the same %s", names(s, m.by))})
			}
		}
	}
	d.differences(clocks, by)
	return nil
}

// positive reports whether the numbers of a column are compared by their ratio.
func (d *detector) positive(i int) bool {
	n, positive := 0, 0
	for _, v := range d.sample.Numbers[i] {
		if !math.IsNaN(v) {
			n++
			if v > 0 {
				positive++
			}
		}
	}
	return float64(positive) >= 0.99*float64(n)
}

// determined reports whether a strict dependency or equation gives the column, so that its
// groups need no statistics.
func (d *detector) determined(i int) bool {
	for _, c := range d.checks {
		if c.strict && (c.equal != nil && c.equal.Modulus == 0 && c.weights[i] > 0 || c.depends != nil && c.depends.To == i) {
			return true
		}
	}
	return false
}

// groupings returns the columns, and pairs of them, whose values group the rows.
func (d *detector) groupings() [][]int {
	s, out := d.sample, [][]int{{}}
	var few []int
	for i, c := range s.Columns {
		if s.Distinct[i] >= 2 && s.Distinct[i]*20 <= s.Rows && c.Kind() != analysis.KindFloat && s.TopShare(i) < 0.95 &&
			!d.long([]int{i}) && len(out) < 25 {
			out = append(out, []int{i})
			if c.Kind() == analysis.KindText {
				few = append(few, i)
			}
		}
	}
	for a, i := range few {
		for _, j := range few[a+1:] {
			if len(out) < 40 {
				out = append(out, []int{i, j})
			}
		}
	}
	return out
}

// differences adds models of differences between columns, which are evidence about the side
// of an equation that is wrong.
func (d *detector) differences(clocks []int, by [][]int) {
	s := d.sample
	related := map[int]bool{}
	for _, c := range d.checks {
		if c.equal != nil || c.kind == kindOrder {
			for i := range c.weights {
				related[i] = true
			}
		}
	}
	for i := range s.Columns {
		for j := range s.Columns {
			if i == j || !related[i] && !related[j] || !s.Columns[i].Numeric() || !s.Columns[j].Numeric() || len(d.models) > 60 {
				continue
			}
			a, b := slices.Contains(clocks, i), slices.Contains(clocks, j)
			switch {
			case a && b:
				if m, ok := d.best(model{column: i, less: j, clock: true}, by, 0.6); ok {
					d.models = append(d.models, m)
				}
			case !a && !b && i < j:
				if m, ok := d.best(model{column: i, less: j}, [][]int{{}}, 0.7); ok {
					d.models = append(d.models, m)
				}
			}
		}
	}
}

// best returns the model with the grouping that explains most of the spread, if it leaves at
// most the given share of it.
func (d *detector) best(m model, by [][]int, most float64) (model, bool) {
	s := d.sample
	values := make([]float64, min(s.Rows, 12_000))
	for at := range values {
		values[at] = m.value(func(c int) float64 { return s.Numbers[c][at] })
	}
	all := spread(values)
	if m.less >= 0 && !m.clock {
		// A difference is evidence only if it varies less than its parts.
		all = min(spread(s.Numbers[m.column][:len(values)]), spread(s.Numbers[m.less][:len(values)]))
	}
	if !(all > 0) {
		return m, false
	}
	least, found := most, false
	var chosen []int
	for _, columns := range by {
		if slices.Contains(columns, m.column) || slices.Contains(columns, m.less) {
			continue
		}
		groups := d.centers(m, columns, values)
		rest, n := 0.0, 0
		for at, v := range values {
			if c, ok := groups[d.sampleKey(columns, at)]; ok && !math.IsNaN(v) {
				rest += c.spread
				n++
			}
		}
		if n*2 < len(values) {
			continue
		}
		if ratio := rest / float64(n) / all; ratio < least*0.97 {
			least, chosen, found = ratio, columns, true
		}
	}
	if !found {
		return m, false
	}
	m.by = chosen
	full := make([]float64, s.Rows)
	for at := range full {
		full[at] = m.value(func(c int) float64 { return s.Numbers[c][at] })
	}
	m.groups, m.limit = d.centers(m, chosen, full), 1
	var z []float64
	for at, v := range full {
		if u, ok := m.distance(d.sampleKey(chosen, at), v); ok {
			z = append(z, u)
		}
	}
	if len(z) < 200 {
		return m, false
	}
	slices.Sort(z)
	q90, q99 := z[len(z)*90/100], z[len(z)*99/100]
	// Groups explain a number only if few values are far from their group.
	if q99 > 6*max(q90, 1) {
		return m, false
	}
	m.limit = max(6, q99+groupTail*max(q99-q90, 0.5))
	return m, true
}

func (d *detector) sampleKey(columns []int, at int) [2]int32 {
	if len(columns) == 0 {
		return [2]int32{}
	}
	return d.key(columns, func(c int) int32 { return d.sample.Codes[c][at] })
}

// centers returns the medians and spreads of the groups of the first values of the sample.
func (d *detector) centers(m model, columns []int, values []float64) map[[2]int32]center {
	members := map[[2]int32][]float64{}
	for at, v := range values {
		if !math.IsNaN(v) {
			k := d.sampleKey(columns, at)
			members[k] = append(members[k], v)
		}
	}
	out := make(map[[2]int32]center, len(members))
	for k, list := range members {
		if len(list) < minMembers {
			continue
		}
		slices.Sort(list)
		c := center{median: list[len(list)/2]}
		if m.clock {
			c.median = circular(list)
		}
		away := make([]float64, len(list))
		for i, v := range list {
			if away[i] = math.Abs(v - c.median); m.clock {
				away[i] = min(away[i], relation.Minutes-away[i])
			}
		}
		slices.Sort(away)
		floor := 1e-9
		switch {
		case m.log:
			floor = 0.02
		case m.column >= 0 && d.sample.Columns[m.column].Kind() == analysis.KindInteger:
			floor = 0.5
		}
		c.spread = max(1.4826*away[len(away)/2], floor)
		out[k] = c
	}
	return out
}

// circular returns the median of sorted times of day, which begin where the gap is largest.
func circular(list []float64) float64 {
	start, gap := 0, list[0]+relation.Minutes-list[len(list)-1]
	for i := 1; i < len(list); i++ {
		if g := list[i] - list[i-1]; g > gap {
			start, gap = i, g
		}
	}
	return list[(start+len(list)/2)%len(list)]
}

func spread(values []float64) float64 {
	var list []float64
	for _, v := range values {
		if !math.IsNaN(v) {
			list = append(list, v)
		}
	}
	if len(list) < 100 {
		return math.NaN()
	}
	slices.Sort(list)
	median := list[len(list)/2]
	for i, v := range list {
		list[i] = math.Abs(v - median)
	}
	slices.Sort(list)
	return 1.4826 * list[len(list)/2]
}

// unusual returns the statement of the rows whose number is unusual in its group: their
// identity, the usual range and the number of rows of the group.
func (d *detector) unusual(c *check) string {
	g := c.group
	columns := []analysis.Column{d.column(g.column)}
	var keys, equal []string
	for at, i := range g.by {
		columns = append(columns, d.column(i))
		keys = append(keys, d.column(i).Quoted()+fmt.Sprintf(" AS k%d", at))
		equal = append(equal, fmt.Sprintf("k%d = ", at)+d.column(i).Quoted())
	}
	x := relation.Number(d.column(g.column))
	if d.column(g.column).Kind() == analysis.KindFloat {
		x = "CASE WHEN isfinite(" + d.column(g.column).Quoted() + ") THEN " + x + " END"
	}
	y, back, floor := x, "m %s %g * s", "1e-9"
	switch {
	case g.log:
		y, back, floor = "CASE WHEN "+x+" > 0 THEN ln("+x+") WHEN "+x+" <= 0 THEN -1e3 END", "exp(m %s %g * s)", "0.02"
	case d.column(g.column).Kind() == analysis.KindInteger:
		floor = "0.5"
	}
	from := "SELECT " + y + " AS y, " + strings.Join(keys, ", ") + " FROM " + d.in.Table.From(columns...)
	bound := func(sign string, times float64) string {
		return "round(" + fmt.Sprintf(back, sign, times) + ", 2)"
	}
	// The expected range is that of most values; the limit is farther away.
	return fmt.Sprintf(`WITH g AS (SELECT %s, quantile_disc(y, 0.5) AS m, greatest(1.4826 * mad(y), %s) AS s, count(y) AS n FROM (%s) GROUP
BY ALL HAVING count(y) >= 20)
SELECT %s, CAST(%s AS VARCHAR) || ' to ' || CAST(%s AS VARCHAR), n FROM %s JOIN g ON %s WHERE abs(%s - m) > %g * s ORDER BY 1 LIMIT %d`,
		strings.Join([]string{"k0", "k1"}[:len(keys)], ", "), floor, from,
		d.identity(), bound("-", 3), bound("+", 3), d.in.Table.From(d.sample.Columns...), strings.Join(equal, " AND "), y, g.limit, maxFlagged+1)
}
