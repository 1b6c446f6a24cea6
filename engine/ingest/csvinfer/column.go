package csvinfer

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// The bounds of counting distinct values, in a column and in all columns together.
const (
	maxDistinct      = 100
	maxDistinctBytes = 1024
	countedBytes     = 32 << 20
)

// column collects what the values of a column have in common.
type column struct {
	in *inference
	// values counts the values that are neither NULL nor a quoted empty text, empty the latter: they
	// are NULL in a column that is not text.
	values, empty int64

	// nulls describes the values that may mean NULL, which are not classified.
	nulls nulls

	boolean bool
	numbers numbers
	groups  groups
	dates   forms
	times   forms

	// counts holds the distinct values; it is nil once there are too many. last is the one that
	// occurred last.
	counts map[string]*count
	last   *count
	// invalid reports a value that is not UTF-8.
	invalid bool
}

type count struct {
	value string
	n     int64
}

func newColumn(in *inference) *column {
	return &column{in: in, boolean: true, numbers: numbers{possible: true}, dates: allForms(len(in.dates)), times: allForms(len(in.times)),
		counts: map[string]*count{}}
}

// add takes a value that is neither empty nor certainly NULL. quoted reports that the value is in
// quotes, so that it cannot mean NULL.
func (c *column) add(text []byte, quoted bool) {
	c.values++
	null := c.in.nullOf(text)
	if null != "" {
		c.nulls.add(null, c.in.records.Line(), quoted)
	}
	if c.counts != nil {
		if c.last != nil && string(text) == c.last.value {
			c.last.n++
			return
		}
		if seen := c.counts[string(text)]; seen != nil {
			seen.n++
			c.last = seen
			return
		}
		c.count(text)
	}
	if null == "" {
		c.classify(text)
	}
}

// isCandidate reports whether the column may have another type than text.
func (c *column) isCandidate() bool { return c.values > c.nulls.count && !c.nulls.refused }

// count adds a distinct value, or gives up counting.
func (c *column) count(text []byte) {
	size := int64(len(text)) + 64
	if len(c.counts) == maxDistinct || len(text) > maxDistinctBytes || c.in.counted+size > countedBytes {
		for value := range c.counts {
			c.in.counted -= int64(len(value)) + 64
		}
		c.counts, c.last = nil, nil
		return
	}
	c.in.counted += size
	c.last = &count{value: string(text), n: 1}
	c.counts[c.last.value] = c.last
}

// classify excludes the types that do not hold a value.
func (c *column) classify(text []byte) {
	if c.boolean && !isBoolean(text) {
		c.boolean = false
	}
	if !c.groups.failed {
		c.groups.add(text, &c.numbers)
	}
	if c.numbers.possible {
		c.numbers.add(text)
	}
	c.groups.failed = c.groups.failed || c.groups.separator == "" && !c.numbers.possible
	if c.dates != 0 {
		c.dates = c.dates.keep(c.in.dates, text, timeForm.isDate)
	}
	if c.times != 0 {
		c.times = c.times.keep(c.in.times, text, timeForm.isTimestamp)
	}
	if !c.boolean && !c.numbers.possible && c.groups.failed && c.dates == 0 && c.times == 0 && !c.invalid && !utf8.Valid(text) {
		c.invalid = true
		c.in.problem(c.in.records.Line(), "the text is not UTF-8")
	}
}

func isBoolean(text []byte) bool {
	return len(text) == 4 && bytes.EqualFold(text, []byte("true")) || len(text) == 5 && bytes.EqualFold(text, []byte("false"))
}

// numbers collects what the numbers of a column have in common.
type numbers struct {
	// possible reports that all values are numbers with one separator.
	possible     bool
	separator    byte
	whole, scale int
	// tooLong reports values beyond 64 bits, inexact those that only DOUBLE holds, large those
	// beyond DOUBLE, finite at least one that is finite. rounded reports a whole number of 64 bits
	// that DOUBLE would change.
	tooLong, inexact, large, finite, rounded bool
}

func (n *numbers) add(text []byte) {
	f, ok := parseNumber(text)
	if !ok || f.separator != 0 && n.separator != 0 && f.separator != n.separator {
		n.possible = false
		return
	}
	if f.separator != 0 {
		n.separator = f.separator
	}
	n.whole, n.scale = max(n.whole, f.whole), max(n.scale, f.scale)
	n.finite = n.finite || f.finite
	if f.scale == 0 && !f.inexact && f.whole > 18 && !n.tooLong {
		n.tooLong = !isLong(text)
	}
	if f.scale == 0 && !f.inexact && f.whole > 15 && !n.rounded {
		n.rounded = !isExactDouble(text)
	}
	if f.inexact {
		n.inexact = true
	}
	if f.finite && (f.inexact || f.whole > 300) && !n.large {
		n.large = !isDouble(text)
	}
}

// typ returns the type of the numbers, or text if there is none.
func (n *numbers) typ(separator byte) Type {
	const digits = 38 // of a decimal
	whole := max(n.whole, 1)
	switch {
	case !n.possible || n.separator != 0 && n.separator != separator || !n.finite:
		return Type{Kind: Text}
	case n.inexact && (n.large || n.rounded):
		return Type{Kind: Text}
	case n.inexact:
		return Type{Kind: Double}
	case n.scale == 0 && !n.tooLong:
		return Type{Kind: Long}
	case whole+n.scale <= digits:
		return Type{Kind: Decimal, Precision: whole + n.scale, Scale: n.scale}
	case n.scale == 0 || n.large:
		return Type{Kind: Text} // DOUBLE would change whole numbers
	}
	return Type{Kind: Double}
}

// typ returns the type under the chosen options, provided that the values that may mean NULL are
// NULL.
func (c *column) typ(d decision) Type {
	switch {
	case !c.isCandidate():
		return Type{Kind: Text}
	case c.boolean:
		return Type{Kind: Boolean}
	}
	if t := c.numbersOf(d.thousands, d.given).typ(d.separator); t.Kind != Text {
		return t
	}
	if c.in.heldBy(c.dates, c.in.dates, d.date) >= 0 {
		return Type{Kind: Date}
	}
	if i := c.in.heldBy(c.times, c.in.times, d.timestamp); i >= 0 {
		if c.in.times[i].offset {
			return Type{Kind: Timestamp}
		}
		return Type{Kind: TimestampNTZ}
	}
	return Type{Kind: Text}
}

// heldBy returns the index of a form in the set that needs the same option as the chosen one,
// or -1.
func (in *inference) heldBy(set forms, list []timeForm, chosen int) int {
	for i, f := range list {
		if set.has(i) && f.text() == list[chosen].text() {
			return i
		}
	}
	return -1
}

// candidates returns the distinct values, most frequent first, if they can be a domain: each
// occurs twice on average, and none is blank.
func (c *column) candidates() []ValueCount {
	if len(c.counts) == 0 || c.empty > 0 || c.values < 2*int64(len(c.counts)) {
		return nil
	}
	out := make([]ValueCount, 0, len(c.counts))
	for _, v := range c.counts {
		if strings.TrimSpace(v.value) == "" || !utf8.ValidString(v.value) {
			return nil
		}
		out = append(out, ValueCount{v.value, v.n})
	}
	slices.SortFunc(out, func(a, b ValueCount) int {
		if a.Count != b.Count {
			return int(b.Count - a.Count)
		}
		return strings.Compare(a.Value, b.Value)
	})
	return out
}
