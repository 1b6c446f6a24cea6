package values

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// quantity is something that columns of some names measure, with its bounds.
type quantity struct {
	names    []string
	min, max float64
	// whole restricts it to integers.
	whole bool
	// filled is the part of the range that the values must span.
	filled float64
}

// quantities are the known quantities. The first whose name and bounds fit is taken.
var quantities = []quantity{
	{[]string{"lat", "latitude"}, -90, 90, false, 0},
	{[]string{"lon", "lng", "longitude"}, -180, 180, false, 0},
	{[]string{"month", "mon"}, 1, 12, true, 0.5},
	{[]string{"quarter"}, 1, 4, true, 0.5},
	{[]string{"day"}, 1, 31, true, 0.5},
	{[]string{"hour"}, 0, 23, true, 0.5},
	{[]string{"minute", "min", "second", "sec"}, 0, 59, true, 0.5},
	{[]string{"percent", "percentage", "pct", "humidity", "humid", "discount", "completion", "progress"}, 0, 100, false, 0.5},
	{[]string{"ratio", "share", "fraction", "probability", "prob", "rate", "discount", "confidence"}, 0, 1, false, 0.5},
	{[]string{"direction", "dir", "bearing", "heading", "azimuth"}, 0, 360, false, 0.5},
	{[]string{"age"}, 0, 120, true, 0.3},
}

// rangeOf suggests the range of a column of numbers or times.
func (w *domainWork) rangeOf(ctx context.Context, p profile) (suggestion, bool, error) {
	c := p.column
	times := c.Temporal()
	place, ok := placeOf(c, times)
	if !ok || c.Key || c.Unique || p.distinct < 3 {
		return suggestion{}, false, nil
	}
	s, err := spreadOf(ctx, w.in, c, place)
	if err != nil || s.distinct < 3 {
		return suggestion{}, false, err
	}
	if times {
		suggested, ok := dateRange(c, s)
		return suggested, ok, nil
	}
	if q, ok := named(c, s); ok {
		suggested := rangeSuggestion(c, s, bound(q.min), bound(q.max), 0.85, "the name and the values suggest a quantity with known bounds")
		return suggested, true, nil
	}
	suggested, ok := numberRange(c, s)
	return suggested, ok, nil
}

// named returns the quantity that a column measures by its name and nearly all values.
func named(c analysis.Column, s spread) (quantity, bool) {
	words := nameWords(c.Name)
	for _, q := range quantities {
		if t, ok := c.Type.(sqltype.Decimal); ok && t.Precision-t.Scale < len(bound(q.max)) {
			continue // the type holds no greater values
		}
		low, high, ok := s.within(q.min, q.max)
		if !ok || high-low < q.filled*(q.max-q.min) || q.whole && c.Kind() != analysis.KindInteger {
			continue
		}
		for _, name := range q.names {
			if len(words) > 0 && (words[len(words)-1] == name || words[0] == name && len(words) == 1) {
				return q, true
			}
		}
	}
	return quantity{}, false
}

// within returns the least and the greatest value between bounds. ok is false if more than a
// hundredth of the rows are outside, or too many values.
func (s spread) within(least, greatest float64) (low, high float64, ok bool) {
	rows := int64(0)
	first, last := 0, 0
	for first < len(s.low) && s.low[first].x < least {
		rows += s.low[first].rows
		first++
	}
	for last < len(s.high) && s.high[last].x > greatest {
		rows += s.high[last].rows
		last++
	}
	if first == len(s.low) || last == len(s.high) || ratio(rows, s.values) > 0.01 {
		return 0, 0, false
	}
	return s.low[first].x, s.high[last].x, true
}

// nameWords returns the words of the name of a column in lower case, without numbers.
func nameWords(name string) []string {
	return slices.DeleteFunc(analysis.Words(name), func(word string) bool {
		return strings.IndexFunc(word, unicode.IsLetter) < 0
	})
}

// numberRange suggests a range from the values alone.
func numberRange(c analysis.Column, s spread) (suggestion, bool) {
	inner := s.trim()
	zero := s.rowsAt(0)
	switch {
	case s.values < 200 || s.distinct < 10:
		return suggestion{}, false
	case inner.low == 0 && inner.high == 100 && s.distinct >= 20:
		return rangeSuggestion(c, s, "0", "100", 0.8, "the values span 0 to 100"), true
	case inner.low >= 0 && inner.low < 0.05 && inner.high <= 1 && inner.high > 0.95 && s.distinct >= 50 && c.Kind() != analysis.KindInteger:
		return rangeSuggestion(c, s, "0", "1", 0.75, "the values span 0 to 1"), true
	case inner.outside && inner.low >= 0:
		limit := ""
		if inner.above {
			limit = roundAbove(inner.high, s.high[0].x)
		}
		return rangeSuggestion(c, s, "0", limit, 0.75, "a few values are far from all others"), true
	case inner.low == 0 && ratio(zero, s.values) >= 0.01:
		return rangeSuggestion(c, s, "0", "", 0.75, "no value is negative, and many are zero"), true
	case inner.low == 0 && zero > 1:
		return rangeSuggestion(c, s, "0", "", 0.6, "no value is negative, and some are zero"), true
	}
	return suggestion{}, false
}

// inner is the range of the values of a column, without the few that are far from the others.
type inner struct {
	low, high float64
	// outside reports that values were left out, above that some of them are above the range.
	outside, above bool
}

// trim leaves out artificial and far values at the ends, which together are at most a
// hundredth of the rows.
func (s spread) trim() inner {
	isolated := map[float64]bool{}
	for _, f := range sentinels(s) {
		for _, list := range [][]point{s.low, s.high} {
			for _, p := range list {
				isolated[p.x] = isolated[p.x] || p.text == f.text
			}
		}
	}
	first, last, rows := 0, 0, int64(0)
	for first < min(5, len(s.low)-1) && isolated[s.low[first].x] {
		rows += s.low[first].rows
		first++
	}
	for last < min(5, len(s.high)-1) && isolated[s.high[last].x] {
		rows += s.high[last].rows
		last++
	}
	if ratio(rows, s.values) > 0.01 || s.low[first].x > s.high[last].x {
		return inner{low: s.low[0].x, high: s.high[0].x}
	}
	return inner{s.low[first].x, s.high[last].x, first+last > 0, last > 0}
}

// dateRange suggests a range of dates if few values are far outside all others.
func dateRange(c analysis.Column, s spread) (suggestion, bool) {
	if s.values < 200 || s.distinct < 20 {
		return suggestion{}, false
	}
	const century = 100 * 365.25 * dayLength
	first, last, rows := 0, 0, int64(0)
	for first < min(5, len(s.low)-1) && outlying(s.low[first].x, s.low[first+1].x, s.high[min(5, len(s.high)-1)].x) {
		rows += s.low[first].rows
		first++
	}
	for last < min(5, len(s.high)-1) && outlying(s.high[last].x, s.high[last+1].x, s.low[first].x) {
		rows += s.high[last].rows
		last++
	}
	low, high := s.low[first].x, s.high[last].x
	if first+last == 0 || ratio(rows, s.values) > 0.01 || high-low > 2*century || low < seconds(1700, 1, 1) || high > seconds(2200, 1, 1) {
		return suggestion{}, false
	}
	least, greatest := "", ""
	if first > 0 {
		year := time.Unix(int64(low), 0).UTC().Year() / 10 * 10
		if seconds(year, 1, 1) <= s.low[first-1].x {
			return suggestion{}, false
		}
		least = timeBound(c, year, 1, 1)
	}
	if last > 0 {
		year := time.Unix(int64(high), 0).UTC().Year()/100*100 + 99
		if seconds(year+1, 1, 1) > s.high[last-1].x {
			return suggestion{}, false
		}
		greatest = timeBound(c, year, 12, 31)
	}
	return rangeSuggestion(c, s, least, greatest, 0.75, "a few dates are far from all others"), true
}

// outlying reports whether a time at an end is far from the next one, as compared with the
// distance of that to the other end, and at least twenty years.
func outlying(x, next, end float64) bool {
	gap := math.Abs(x - next)
	return gap >= 20*365*dayLength && gap >= math.Abs(next-end)
}

// timeBound returns the text of a day as a bound of a column.
func timeBound(c analysis.Column, year, month, day int) string {
	text := fmt.Sprintf("%04d-%02d-%02d", year, month, day)
	if c.Kind() == analysis.KindTimestamp {
		text += " 00:00:00"
		if c.Type.String() == "TIMESTAMP WITH TIME ZONE" {
			text += "+00"
		}
	}
	return text
}

func bound(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// roundAbove returns a power of ten that is not less than x and less than limit, or "" if
// there is none.
func roundAbove(x, limit float64) string {
	for power := 1.0; power < limit && power < 1e15; power *= 10 {
		if power >= x {
			return bound(power)
		}
	}
	return ""
}

// rangeSuggestion makes a suggestion of a range. A bound that is "" is none.
func rangeSuggestion(c analysis.Column, s spread, least, greatest string, confidence float64, reason string) suggestion {
	literal := func(text string) string {
		if c.Numeric() {
			return text
		}
		return analysis.Literal(c, text)
	}
	var outside []string
	out := DomainColumn{Kind: "range", DistinctValues: s.distinct, Confidence: confidence, Reason: reason}
	title := "Restrict " + analysis.InQuotes(c.Name) + " to values"
	if least != "" {
		outside = append(outside, c.Quoted()+" < "+literal(least))
		out.Min = &least
		title += " from " + least
	}
	if greatest != "" {
		outside = append(outside, c.Quoted()+" > "+literal(greatest))
		out.Max = &greatest
		title += " to " + greatest
	}
	return suggestion{out: out, column: c, violated: "coalesce(" + strings.Join(outside, " OR ") + ", FALSE)",
		change: analysis.RangeDomain{Column: c.Name, Min: least, Max: greatest}, title: title + "."}
}
