package values

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/analysis"
)

// spreadSize is the number of values that a spread has of each end, and of the most frequent.
const spreadSize = 40

// point is a value of an ordered column: its text, its place on the line of numbers, where
// times are seconds since 1970, and its number of rows.
type point struct {
	text string
	x    float64
	rows int64
}

// spread describes the values of a numeric column, or of dates and timestamps.
type spread struct {
	// values and distinct count the rows with a finite value and the values.
	values, distinct int64
	// low, high and common are the smallest values from the smallest, the largest from the
	// largest, and the most frequent.
	low, high, common []point
}

// placeOf returns the SQL of the place of v, a value of a column. ok is false if the column
// has no order that is analysed. Texts are read as numbers, or as times if times is set.
func placeOf(c analysis.Column, times bool) (sql string, ok bool) {
	switch c.Kind() {
	case analysis.KindInteger, analysis.KindDecimal, analysis.KindFloat:
		return "CAST(v AS DOUBLE)", true
	case analysis.KindDate, analysis.KindTimestamp:
		return "CASE WHEN isfinite(v) THEN CAST(epoch(v) AS DOUBLE) END", true
	case analysis.KindText:
		if times {
			return "CASE WHEN isfinite(TRY_CAST(v AS TIMESTAMP)) THEN CAST(epoch(TRY_CAST(v AS TIMESTAMP)) AS DOUBLE) END", true
		}
		return "TRY_CAST(v AS DOUBLE)", true
	}
	return "", false
}

// spreadOf describes the values of a column by their place.
func spreadOf(ctx context.Context, in analysis.Input, c analysis.Column, place string) (spread, error) {
	source := "(SELECT " + cell(c) + " AS v, count(*) AS n FROM " + in.Table.From(c) + " WHERE " + cell(c) + " IS NOT NULL"
	if c.Kind() == analysis.KindText {
		source += " AND length(" + cell(c) + ") <= 40"
	}
	source += " GROUP BY " + cell(c) + ") AS g"
	// One pass over the values: the lists are of structs, which sort by their members.
	size := strconv.Itoa(spreadSize)
	sql := "SELECT CAST(e.list AS BIGINT), e.text, CAST(e.x AS DOUBLE), CAST(e.n AS BIGINT) FROM (SELECT unnest(list_concat(list_concat(" +
		"list_transform(low, lambda s: {'list': 1, 'text': s.text, 'x': s.x, 'n': s.n}), " +
		"list_transform(high, lambda s: {'list': 2, 'text': s.text, 'x': s.x, 'n': s.n})), list_concat(" +
		"list_transform(common, lambda s: {'list': 3, 'text': s.text, 'x': -s.x, 'n': s.n}), " +
		"[{'list': 0, 'text': '', 'x': distinct_values, 'n': total}]))) AS e FROM (SELECT min({'x': x, 'text': text, 'n': n}, " + size +
		") AS low, max({'x': x, 'text': text, 'n': n}, " + size + ") AS high, max({'n': n, 'x': -x, 'text': text}, " + size +
		") AS common, CAST(count(*) AS DOUBLE) AS distinct_values, CAST(coalesce(sum(n), 0) AS BIGINT) AS total FROM " +
		"(SELECT CAST(v AS VARCHAR) AS text, " + place + " AS x, n FROM " + source + ") AS q WHERE isfinite(x)) AS a) AS u"
	var s spread
	err := in.Each(ctx, sql, func(r engine.Row) error {
		p := point{r.Text(1), r.Float64(2), r.Int64(3)}
		switch r.Int64(0) {
		case 0:
			s.distinct, s.values = int64(p.x), p.rows
		case 1:
			s.low = append(s.low, p)
		case 2:
			s.high = append(s.high, p)
		case 3:
			s.common = append(s.common, p)
		}
		return nil
	})
	s.sort()
	return s, err
}

// sort puts the lists in order.
func (s *spread) sort() {
	byText := func(a, b point) int { return strings.Compare(a.text, b.text) }
	slices.SortFunc(s.low, func(a, b point) int { return cmp.Or(cmp.Compare(a.x, b.x), byText(a, b)) })
	slices.SortFunc(s.high, func(a, b point) int { return cmp.Or(cmp.Compare(b.x, a.x), byText(b, a)) })
	slices.SortFunc(s.common, func(a, b point) int { return cmp.Or(cmp.Compare(b.rows, a.rows), cmp.Compare(a.x, b.x), byText(a, b)) })
}

// average returns the average number of rows of a value.
func (s spread) average() float64 { return ratio(s.values, max(1, s.distinct)) }

// rowsAt returns the number of rows of the listed values at a place.
func (s spread) rowsAt(x float64) int64 {
	for _, list := range [][]point{s.low, s.high, s.common} {
		for i, p := range list {
			if p.x == x {
				n := int64(0)
				for ; i < len(list); i++ {
					if list[i].x == x {
						n += list[i].rows
					}
				}
				return n
			}
		}
	}
	return 0
}

// ends returns the lists of extremes from outside to inside without the values of a set.
func (s spread) ends(without map[float64]bool) (low, high []point) {
	inside := func(list []point) []point {
		return slices.DeleteFunc(slices.Clone(list), func(p point) bool { return without[p.x] })
	}
	return inside(s.low), inside(s.high)
}
