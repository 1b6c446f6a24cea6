package anomaly

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/relation"
)

const (
	// minRepeats is the number of rows that a value of a recurring column has on average.
	minRepeats = 15
	// maxRecurring is the number of columns that are tried.
	maxRecurring = 12
	// slotWeight is the evidence of a free or taken slot.
	slotWeight = 1.5
)

// slots are the other rows that recur with a row, at the time of its stamp and at the time
// that its parts name. A row whose stamp is wrong usually has a row of the same kind at the
// wrong time, and none at the right one.
type slots struct {
	stamp, parts int64
	// nearStamp and nearParts are the rows of the same kind a day or a week before or after.
	nearStamp, nearParts int64
}

// slots reads the slots of the rows whose date is inconsistent.
func (d *detector) slots(ctx context.Context, c *check) error {
	recurring := d.recurring(c.parts)
	if len(recurring) == 0 {
		return nil
	}
	p := c.parts
	var same []string
	for k := range recurring {
		same = append(same, fmt.Sprintf("a.c%d = b.c%d", k, k))
	}
	read := append(slices.Clone(recurring), p.Columns()...)
	first := len(recurring)
	var parts []string
	for k := first + 1; k < len(read); k++ {
		parts = append(parts, fmt.Sprintf("a.c%d = b.c%d", k, k))
	}
	items := make([]string, len(read))
	columns := make([]analysis.Column, len(read))
	for k, i := range read {
		columns[k] = d.column(i)
		items[k] = columns[k].Quoted() + fmt.Sprintf(" AS c%d", k)
	}
	seconds := relation.Number(d.column(p.Stamp))
	if d.column(p.Stamp).Kind() == analysis.KindDate {
		seconds = "(" + seconds + ") * 86400"
	}
	const near = "IN (-604800, -86400, 86400, 604800)"
	list := strings.Join(items, ", ") + ", " + seconds + " AS e"
	own := make([]string, len(p.Offsets))
	for k, offset := range p.Offsets {
		own[k] = fmt.Sprintf("b.e - a.e + (a.d - %g) * 3600 %s", offset, near)
	}
	sql := fmt.Sprintf(`SELECT a.i, count(*) FILTER (WHERE a.c%d = b.c%d) - 1, count(*) FILTER (WHERE %s) - 1,
count(*) FILTER (WHERE b.e - a.e %s), count(*) FILTER (WHERE %s)
FROM (SELECT %s, %s AS i, floor(%s) AS d FROM %s WHERE %s ORDER BY i LIMIT %d) AS a JOIN (SELECT %s FROM %s) AS b ON %s GROUP BY a.i`,
		first, first, strings.Join(parts, " AND "), near, strings.Join(own, " OR "), list, d.identity(),
		d.sample.DifferenceSQL(*p), d.in.Table.From(d.sample.Columns...), c.where, maxFlagged, list,
		d.in.Table.From(columns...), strings.Join(same, " AND "))
	return d.in.Each(ctx, sql, func(r engine.Row) error {
		if one := d.rows[r.Int64(0)]; one != nil {
			one.slots = &slots{stamp: r.Int64(1), parts: r.Int64(2), nearStamp: r.Int64(3), nearParts: r.Int64(4)}
		}
		return nil
	})
}

// recurring returns the one or two columns that, with the stamp, tell rows apart, and whose
// values recur most regularly from day to day.
func (d *detector) recurring(p *relation.Parts) []int {
	s := d.sample
	var single []int
	for i, c := range s.Columns {
		kind := c.Kind()
		if (kind == analysis.KindText || kind == analysis.KindInteger) && s.Distinct[i] >= 10 && !slices.Contains(p.Columns(), i) &&
			d.total >= minRepeats*int64(s.Distinct[i]) && len(single) < maxRecurring {
			single = append(single, i)
		}
	}
	candidates := make([][]int, 0, len(single)*len(single))
	for at, i := range single {
		candidates = append(candidates, []int{i})
		for _, j := range single[at+1:] {
			candidates = append(candidates, []int{i, j})
		}
	}
	day := 86400.0
	if s.Columns[p.Stamp].Kind() == analysis.KindDate {
		day = 1
	}
	// The sample has a part of the rows, and so a part of those that recur.
	most := int(0.3 * float64(s.Rows) * float64(s.Rows) / float64(max(d.total, 1)))
	var best []int
	for _, columns := range candidates {
		if n := d.recurs(columns, p.Stamp, day); n > most {
			best, most = columns, n
		}
	}
	return best
}

// recurs counts the rows of the sample that have a row with the same values a day later. It is
// 0 if the values and the stamp do not tell rows apart.
func (d *detector) recurs(columns []int, stamp int, day float64) int {
	type slot struct {
		key [2]int32
		at  float64
	}
	s := d.sample
	seen := make(map[slot]bool, s.Rows)
	for at := range s.Rows {
		seen[slot{d.sampleKey(columns, at), s.Numbers[stamp][at]}] = true
	}
	if len(seen)*100 < s.Rows*97 {
		return 0
	}
	n := 0
	for at := range s.Rows {
		if seen[slot{d.sampleKey(columns, at), s.Numbers[stamp][at] + day}] {
			n++
		}
	}
	return n
}

// slotEvidence returns the evidence of the slots of a row against a column, which is a stamp
// or one of its parts.
func (d *detector) slotEvidence(r *row, open []hit, column int) float64 {
	for _, h := range open {
		p := h.check.parts
		if p == nil || r.slots == nil || h.check.weights[column] == 0 {
			continue
		}
		o := *r.slots
		if o.stamp == 0 && o.parts == 0 {
			// Both times are free: the row belongs where its kind recurs.
			o.stamp, o.parts = o.nearParts, o.nearStamp
		}
		switch {
		case o.stamp > 0 && o.parts == 0 && column == p.Stamp:
			return slotWeight
		case o.stamp == 0 && o.parts > 0 && column == d.wrongPart(r, p):
			return slotWeight
		}
	}
	return 0
}

// wrongPart returns the column of the only part that differs from the stamp, or a negative
// number.
func (d *detector) wrongPart(r *row, p *relation.Parts) int {
	for _, offset := range p.Offsets {
		parts := d.sample.PartsOf(*p, r.numbers[p.Stamp], offset)
		odd, n := -1, 0
		for at, i := range p.Columns()[1:] {
			if v := r.numbers[i]; !math.IsNaN(v) && v != parts[at] {
				odd = i
				n++
			}
		}
		if n == 1 {
			return odd
		}
	}
	return -1
}
