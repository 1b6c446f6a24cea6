package anomaly

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/lakewarden/lakewarden/engine/analysis"
)

// cell is a cell that is blamed.
type cell struct {
	row    *row
	column int
	kind   string
	score  float64
	// expected is the value or range that fits; "" if it is unknown. certain reports that it
	// is the only value that fits.
	expected string
	certain  bool
	reason   string
	check    *check
	// weight is the largest weight of a violation against the column.
	weight float64
}

// certain is the weight from which a single violation is enough to blame a column.
const certain = 0.75

// blame returns the cells that are probably wrong.
func (d *detector) blame() []cell {
	visible := map[string]bool{}
	for _, c := range d.in.Columns {
		visible[c.Name] = true
	}
	var out []cell
	for _, r := range d.order {
		if r.numbers == nil {
			continue
		}
		for _, c := range d.judge(r) {
			if visible[d.column(c.column).Name] {
				out = append(out, c)
			}
		}
	}
	return out
}

func (r *row) number(i int) float64 { return r.numbers[i] }

// judge decides which cells of a row are to blame.
func (d *detector) judge(r *row) []cell {
	var cells []cell
	blamed := map[int]int{}
	put := func(c cell) {
		if at, ok := blamed[c.column]; ok {
			if cells[at].score < c.score {
				cells[at] = c
			}
			return
		}
		blamed[c.column] = len(cells)
		cells = append(cells, c)
	}
	var open []hit
	for _, h := range r.hits {
		switch {
		case h.check.column < 0:
			open = append(open, h)
		case h.check.distant && d.usualInGroup(r, h.check.column):
		default:
			put(cell{row: r, column: h.check.column, kind: h.check.kind, score: h.check.score, expected: h.expected,
				reason: h.check.reason, check: h.check})
		}
	}
	for i := range cells {
		d.addExpected(r, open, blamed, &cells[i])
	}
	for {
		open = slices.DeleteFunc(open, func(h hit) bool { return d.explained(h, blamed) })
		if len(open) == 0 {
			break
		}
		column, margin := d.suspect(r, open)
		found := d.verdict(r, open, column, margin)
		if found.weight >= certain || d.determinantWrong(r, found) {
			put(found)
			continue
		}
		// The only evidence against the column is a weak dependency.
		open = slices.DeleteFunc(open, func(h hit) bool { return h.check.weights[column] > 0 })
	}
	for i := range cells {
		d.nameFactor(&cells[i])
	}
	return cells
}

// addExpected adds the value that fits to a cell that a check of its own column blames, if a
// relation gives that value.
func (d *detector) addExpected(r *row, open []hit, blamed map[int]int, c *cell) {
	alone := slices.DeleteFunc(slices.Clone(open), func(h hit) bool {
		for column := range h.check.weights {
			if _, ok := blamed[column]; ok && column != c.column {
				return true
			}
		}
		return h.check.weights[c.column] == 0 || h.check.depends != nil && h.check.depends.To != c.column
	})
	if len(alone) == 0 {
		return
	}
	if found := d.verdict(r, alone, c.column, 1); found.expected != "" && (found.check.depends != nil || found.check.equal != nil) {
		c.expected, c.certain, c.score = found.expected, found.certain, max(c.score, found.score)
	}
}

// determinantWrong reports whether a dependency on one column is broken although other
// relations confirm the value that it determines: then the determining column is wrong.
func (d *detector) determinantWrong(r *row, c cell) bool {
	f := c.check.depends
	return f != nil && !c.check.ignored && len(f.From) == 1 && f.From[0] == c.column && d.cleared(r, f.To)
}

// explained reports whether a violation is due to a cell that is blamed already.
func (d *detector) explained(h hit, blamed map[int]int) bool {
	for column := range h.check.weights {
		if _, ok := blamed[column]; ok {
			return true
		}
	}
	return false
}

// usualInGroup reports whether a number far from all others is usual within its group.
func (d *detector) usualInGroup(r *row, column int) bool {
	for i := range d.models {
		m := &d.models[i]
		if m.column != column || m.less >= 0 || len(m.by) == 0 {
			continue
		}
		if u, ok := m.distance(d.rowKey(m.by, r), m.value(r.number)); ok && u < 1 {
			return true
		}
	}
	return d.cleared(r, column)
}

func (d *detector) rowKey(columns []int, r *row) [2]int32 {
	if len(columns) == 0 {
		return [2]int32{}
	}
	return d.key(columns, func(c int) int32 { return r.codes[c] })
}

// suspect returns the column with the most evidence against it, and the margin to the next.
func (d *detector) suspect(r *row, open []hit) (column int, margin float64) {
	scores := map[int]float64{}
	for _, h := range open {
		for c, w := range h.check.weights {
			scores[c] += w
		}
	}
	columns := make([]int, 0, len(scores))
	for c := range scores {
		columns = append(columns, c)
	}
	slices.Sort(columns)
	for _, c := range columns {
		if len(columns) > 1 && d.cleared(r, c) {
			scores[c] -= 1.5
		}
		scores[c] += d.evidence(r, open, c) + d.slotEvidence(r, open, c)
	}
	best := columns[0]
	second := math.Inf(-1)
	for _, c := range columns[1:] {
		switch diff := scores[c] - scores[best]; {
		case diff > 1e-9 || diff > -1e-9 && d.likelierWrong(c, best):
			second = max(second, scores[best])
			best = c
		default:
			second = max(second, scores[c])
		}
	}
	return best, scores[best] - second
}

// likelierWrong reports whether column a rather than b is to blame if the evidence against
// both is equal. Texts come first, because a wrong number hardly ever fits other rows; then
// dates and timestamps; then numbers.
func (d *detector) likelierWrong(a, b int) bool {
	rank := func(i int) int {
		switch d.column(i).Kind() {
		case analysis.KindText:
			return 0
		case analysis.KindTimestamp, analysis.KindDate:
			return 1
		}
		return 2
	}
	return rank(a) < rank(b)
}

// cleared reports whether the row satisfies a strict relation that gives the value of the
// column.
func (d *detector) cleared(r *row, column int) bool {
	for _, c := range d.checks {
		if !c.strict || c.weights[column] == 0 || slices.ContainsFunc(r.hits, func(h hit) bool { return h.check == c }) {
			continue
		}
		switch {
		case c.equal != nil:
			if !math.IsNaN(c.equal.Residual(r.number)) {
				return true
			}
		case c.parts != nil:
			if !math.IsNaN(d.sample.Difference(*c.parts, r.number)) {
				return true
			}
		case c.depends != nil && c.depends.To == column && !c.ignored:
			if m, ok := c.depends.modes[d.rowKey(c.depends.From, r)]; ok && m.total >= 5 && m.code == r.codes[column] {
				return true
			}
		}
	}
	return false
}

// evidence returns how much more likely the row becomes if the column is repaired.
func (d *detector) evidence(r *row, open []hit, column int) float64 {
	repaired, ok := d.repair(r, open, column)
	if !ok {
		return 0
	}
	changed := func(c int) float64 {
		if c == column {
			return repaired
		}
		return r.numbers[c]
	}
	sum := 0.0
	for i := range d.models {
		m := &d.models[i]
		if m.column != column && m.less != column || d.circular(open, m) {
			continue
		}
		key := d.rowKey(m.by, r)
		before, known := m.distance(key, m.value(r.number))
		after, also := m.distance(key, m.value(changed))
		if known && also {
			sum += min(before, 1.5) - min(after, 1.5)
		}
	}
	return max(-2, min(2, 0.5*sum))
}

// circular reports whether a model is about columns of one violated equation, so that it is
// no additional evidence.
func (d *detector) circular(open []hit, m *model) bool {
	for _, h := range open {
		if m.less >= 0 && h.check.equal != nil && h.check.weights[m.column] > 0 && h.check.weights[m.less] > 0 {
			return true
		}
	}
	return false
}

// repair returns the number of a column that repairs a violation.
func (d *detector) repair(r *row, open []hit, column int) (float64, bool) {
	for _, h := range open {
		if h.check.equal != nil {
			if v, ok := h.check.equal.Repaired(column, r.number); ok && h.check.weights[column] > 0 {
				return v, true
			}
		}
		if h.check.depends != nil && h.check.depends.To == column && d.column(column).Numeric() {
			if v, err := strconv.ParseFloat(h.expected, 64); err == nil {
				return v, true
			}
		}
	}
	return 0, false
}

// verdict describes why a column is blamed, with the value that fits.
func (d *detector) verdict(r *row, open []hit, column int, margin float64) cell {
	out := cell{row: r, column: column, score: -1}
	for _, h := range open {
		w := h.check.weights[column]
		if out.weight = max(out.weight, w); w == 0 || h.check.score <= out.score {
			continue
		}
		out.kind, out.score, out.reason, out.check = h.check.kind, h.check.score, h.check.reason, h.check
		out.expected, out.certain = "", false
		switch {
		case h.check.depends != nil && h.check.depends.To == column:
			out.expected, out.certain = h.expected, h.check.strict && !h.check.ignored && h.support >= 20 && margin >= 0.35
		case h.check.equal != nil:
			if v, ok := h.check.equal.Repaired(column, r.number); ok {
				out.expected = strconv.FormatFloat(math.Round(v*1e4)/1e4, 'f', -1, 64)
				out.certain = h.check.equal.Modulus == 0 && margin >= 0.35 && v == math.Trunc(v)
			}
		case h.check.group != nil && h.check.group.column == column:
			out.expected = h.expected
		}
	}
	return out
}

// units are factors between units that are often confused.
var units = []float64{10, 60, 100, 1000}

// nameFactor names the factor by which a number differs from the one that fits.
func (d *detector) nameFactor(c *cell) {
	if c.check.depends == nil && c.check.equal == nil && c.check.group == nil || !d.column(c.column).Numeric() {
		return
	}
	v := c.row.numbers[c.column]
	fits, err := strconv.ParseFloat(c.expected, 64)
	if m := c.check.group; m != nil && err != nil {
		for i := range d.models {
			if d.models[i].column == m.column && d.models[i].less < 0 {
				if g, ok := d.models[i].groups[d.rowKey(d.models[i].by, c.row)]; ok {
					if fits, err = g.median, nil; d.models[i].log {
						fits = math.Exp(g.median)
					}
				}
			}
		}
	}
	if err != nil || fits == 0 || math.IsNaN(v) {
		return
	}
	ratio, exact := v/fits, c.check.group == nil
	if exact && ratio == -1 {
		c.kind, c.reason = kindSign, c.reason+", and the sign is wrong"
		return
	}
	near := 0.001
	if !exact {
		near = 0.25
	}
	for _, u := range units {
		for _, f := range []float64{u, 1 / u} {
			if math.Abs(ratio/f-1) <= near {
				c.kind, c.reason = kindUnit, fmt.Sprintf("%s, and the value is about %g times the expected one", c.reason, f)
				return
			}
		}
	}
}
