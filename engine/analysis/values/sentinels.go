package values

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// integerLimits are the limits of integer types, which may stand for missing values.
var integerLimits = []float64{math.MinInt16, math.MaxInt16, math.MinInt32, math.MaxInt32, math.MaxUint32, math.MinInt64, math.MaxInt64}

// looksArtificial reports whether a number looks as if somebody typed it to fill a field: one
// digit repeated, ascending digits from 1, -1, -9, or the limit of a type.
func looksArtificial(x float64) bool {
	if x == -1 || x == -9 || slices.Contains(integerLimits, x) {
		return true
	}
	digits := strings.TrimLeft(strings.ReplaceAll(strconv.FormatFloat(math.Abs(x), 'f', -1, 64), ".", ""), "0")
	if digits == "12345" || digits == "123456" || digits == "1234567" || digits == "12345678" || digits == "123456789" {
		return true
	}
	return len(digits) >= 2 && strings.Trim(digits, digits[:1]) == ""
}

// sentinels returns the numbers of a column that stand for missing values.
func sentinels(s spread) []found {
	if s.distinct < 3 {
		return nil
	}
	suspects := map[float64]bool{}
	for _, list := range [][]point{s.low, s.high} {
		for _, p := range list[:min(6, len(list))] {
			if !looksArtificial(p.x) {
				break
			}
			suspects[p.x] = true
		}
	}
	low, high := s.ends(suspects)
	if len(low) == 0 || len(high) == 0 || s.distinct-int64(len(suspects)) < 3 {
		return nil
	}
	core := coreOf(low, high, s)
	var out []found
	taken := map[float64]bool{}
	take := func(p point, confidence float64, reason string) {
		if confidence >= leastConfidence && !taken[p.x] {
			taken[p.x] = true
			out = append(out, found{p.text, p.rows, reason, confidence})
		}
	}
	for _, list := range [][]point{s.low, s.high} {
		for _, p := range list {
			if suspects[p.x] {
				confidence, reason := core.judgeSuspect(p, s, low)
				take(p, confidence, reason)
			}
		}
	}
	for _, far := range core.far {
		take(far, 0.8, "a repeated number far from the others")
	}
	for _, p := range s.common[:min(3, len(s.common))] {
		if looksArtificial(p.x) && p.x != -1 && math.Abs(p.x) >= 99 && core.spike(p, s, 5) {
			take(p, 0.85, "an artificial number, far more frequent than any other")
		}
	}
	return out
}

// core is the range of the values of a column that are not suspected of standing for missing
// values.
type core struct {
	low, high float64
	distinct  int64
	// far are repeated values outside of it that are not artificial by themselves.
	far []point
}

func (c core) width() float64 { return c.high - c.low }

// coreOf returns the core of a spread, whose ends without suspects are low and high.
func coreOf(low, high []point, s spread) core {
	c := core{low: low[0].x, high: high[0].x, distinct: s.distinct}
	if len(low) < 12 || len(high) < 12 {
		return c
	}
	// The outermost value may be far from the others.
	if next := low[1].x; far(low[0], next, high[0].x-next, s) {
		c.low, c.far = next, append(c.far, low[0])
	}
	if next := high[1].x; far(high[0], next, next-c.low, s) {
		c.high, c.far = next, append(c.far, high[0])
	}
	return c
}

func far(p point, next, width float64, s spread) bool {
	return p.rows >= 3 && 2*float64(p.rows) >= s.average() && math.Abs(p.x-next) >= 10*width && width > 0
}

// judgeSuspect judges an artificial number at an end of the values. low are the smallest
// values without suspects.
func (c core) judgeSuspect(p point, s spread, low []point) (float64, string) {
	const reason = "an artificial number outside the range of the others"
	gap := max(c.low-p.x, p.x-c.high)
	width := max(c.width(), 1e-9)
	negative := p.x < 0 && c.low >= 0
	switch {
	case gap <= 0:
		return 0, ""
	case p.x == -1:
		if !negative || p.rows < 2 || c.distinct < 6 {
			return 0, ""
		}
		if c.low > 0 {
			return 0.85, "the only negative number"
		}
		near := low[0].rows
		for _, neighbour := range low[1:min(3, len(low))] {
			near = min(near, neighbour.rows)
		}
		if float64(p.rows) < 0.7*float64(near) {
			return 0, "" // the tail of a distribution
		}
		return 0.8, "the only negative number"
	case negative:
		if p.rows < 2 && gap < width {
			return 0, ""
		}
		return 0.9, "an artificial negative number among others that are not negative"
	case math.Abs(p.x) < 99:
		if gap >= 3*width && p.rows >= 2 {
			return 0.7, reason
		}
	case p.x > 0 && p.x <= 999:
		if gap >= 2*width && p.rows >= 2 {
			return 0.9, reason
		}
	case gap >= 3*width && p.rows == 1:
		return 0.7, reason
	case gap >= 0.5*width && p.rows >= 2:
		return 0.9, reason
	}
	if c.spike(p, s, 5) {
		return 0.85, "an artificial number, far more frequent than any other"
	}
	return 0, ""
}

// spike reports whether a value is at least so many times as frequent as any other that is
// not artificial.
func (c core) spike(p point, s spread, times int64) bool {
	second := int64(0)
	for _, other := range s.common {
		if other.x != p.x && (other.x == 0 || !looksArtificial(other.x)) {
			second = max(second, other.rows)
			break
		}
	}
	return s.distinct >= 10 && p.rows >= 5 && p.rows >= times*second
}

func seconds(year, month, day int) float64 {
	return float64(time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Unix())
}

// dayLength is a day in seconds.
const dayLength = 24 * 60 * 60

// artificialDates are days that stand for missing dates.
var artificialDates = map[float64]bool{
	seconds(1, 1, 1): true, seconds(1000, 1, 1): true, seconds(1111, 11, 11): true, seconds(1582, 10, 15): true, seconds(1583, 1, 1): true,
	seconds(1601, 1, 1): true, seconds(1753, 1, 1): true, seconds(1800, 1, 1): true, seconds(1899, 12, 30): true, seconds(1899, 12, 31): true,
	seconds(1900, 1, 1): true, seconds(1900, 1, 2): true, seconds(1901, 1, 1): true, seconds(1904, 1, 1): true, seconds(1969, 12, 31): true,
	seconds(1970, 1, 1): true, seconds(1970, 1, 2): true, seconds(2079, 6, 6): true, seconds(2099, 12, 31): true, seconds(2099, 1, 1): true,
	seconds(2100, 1, 1): true, seconds(2199, 12, 31): true, seconds(2222, 2, 22): true, seconds(2500, 1, 1): true, seconds(2999, 12, 31): true,
	seconds(3000, 1, 1): true, seconds(4712, 12, 31): true, seconds(5555, 5, 5): true, seconds(7777, 7, 7): true, seconds(8888, 8, 8): true,
	seconds(9999, 1, 1): true, seconds(9999, 9, 9): true, seconds(9999, 12, 30): true, seconds(9999, 12, 31): true,
}

// artificialTime reports whether a time is an artificial day, or the last second of one.
func artificialTime(x float64) bool {
	day := math.Floor(x/dayLength) * dayLength
	return artificialDates[day] && (x == day || x >= day+dayLength-1)
}

// artificialTimes returns the dates or times of a column that stand for missing ones.
func artificialTimes(s spread) []found {
	suspects := map[float64]bool{}
	for _, list := range [][]point{s.low, s.high, s.common} {
		for _, p := range list {
			suspects[p.x] = suspects[p.x] || artificialTime(p.x)
		}
	}
	for x, is := range suspects {
		if !is {
			delete(suspects, x)
		}
	}
	low, high := s.ends(suspects)
	if len(low) < 3 || len(high) < 3 {
		return nil
	}
	c := core{low: low[0].x, high: high[0].x, distinct: s.distinct}
	second := int64(0)
	for _, p := range s.common {
		if !suspects[p.x] {
			second = p.rows
			break
		}
	}
	var out []found
	taken := map[float64]bool{}
	for _, list := range [][]point{s.low, s.high, s.common} {
		for _, p := range list {
			if !suspects[p.x] || taken[p.x] {
				continue
			}
			if confidence, reason := c.judgeTime(p, s, second); confidence >= leastConfidence {
				taken[p.x] = true
				out = append(out, found{p.text, p.rows, reason, confidence})
			}
		}
	}
	if p, ok := dateSpike(s, suspects); ok {
		out = append(out, found{p.text, p.rows, "a date that is far more frequent than any other", 0.7})
	}
	return out
}

// judgeTime judges an artificial date. second is the number of rows of the most frequent date
// that is not artificial.
func (c core) judgeTime(p point, s spread, second int64) (float64, string) {
	gap := max(c.low-p.x, p.x-c.high)
	never := p.x < seconds(1753, 1, 2) || p.x > seconds(2900, 1, 1)
	repeated := p.rows >= 2 && float64(p.rows) >= 2*s.average()
	switch {
	case gap > 0 && never && ratio(p.rows, s.values) > 0.3:
		return 0.6, "an artificial date that may stand for an open end"
	case gap > 0 && never, gap >= 10*365*dayLength && p.rows >= 2, gap >= c.width()/2 && gap >= 365*dayLength && p.rows >= 2:
		return 0.95, "an artificial date outside the range of the others"
	case gap >= 365*dayLength && repeated:
		return 0.8, "an artificial date outside the range of the others"
	case p.rows >= 5 && p.rows >= 5*second:
		return 0.85, "an artificial date, far more frequent than any other"
	}
	return 0, ""
}

// dateSpike returns the first of a January or the extreme date that is far more frequent than
// any other date.
func dateSpike(s spread, suspects map[float64]bool) (point, bool) {
	ordinary := slices.DeleteFunc(slices.Clone(s.common), func(p point) bool { return suspects[p.x] })
	if len(ordinary) < 2 || s.distinct < 30 {
		return point{}, false
	}
	p := ordinary[0]
	at := time.Unix(int64(p.x), 0).UTC()
	january := at.YearDay() == 1 && int64(p.x)%dayLength == 0
	extreme := p.x == s.low[0].x || p.x == s.high[0].x
	return p, (january || extreme) && p.rows >= 20 && p.rows >= 10*ordinary[1].rows && 2*p.rows <= s.values
}
