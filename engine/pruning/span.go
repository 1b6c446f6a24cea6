package pruning

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// span is the range of a column's values in one file. The zero span is unbounded.
type span struct {
	min, max value
	known    facts
}

type facts uint8

const (
	hasMin facts = 1 << iota
	hasMax
	// openMax reports that values that begin with max may exceed it.
	openMax
	noNulls
	onlyNulls
)

func (s *span) knows(f facts) bool { return s.known&f == f }

// point returns the span of a partition value.
func point(v value) span {
	return span{min: v, max: v, known: hasMin | hasMax | noNulls}
}

// below reports that every value is less than v.
func (s *span) below(v value) bool {
	return s.knows(hasMax) && compare(s.max, v) < 0 && !(s.knows(openMax) && strings.HasPrefix(v.s, s.max.s))
}

// atMost reports that every value is v or less.
func (s *span) atMost(v value) bool {
	return s.below(v) || s.knows(hasMax) && !s.knows(openMax) && compare(s.max, v) == 0
}

// above reports that every value is greater than v.
func (s *span) above(v value) bool { return s.knows(hasMin) && compare(s.min, v) > 0 }

// atLeast reports that every value is v or more.
func (s *span) atLeast(v value) bool { return s.knows(hasMin) && compare(s.min, v) >= 0 }

// setMin sets a lower bound from the statistics.
func (s *span) setMin(t delta.DataType, raw string) {
	if v, ok := bound(t, raw, sqltype.Floor); ok {
		s.min = v
		s.known |= hasMin
	}
}

// setMax sets an upper bound from the statistics.
func (s *span) setMax(t delta.DataType, raw string) {
	v, ok := bound(t, raw, sqltype.Ceiling)
	if !ok {
		return
	}
	s.max = v
	s.known |= hasMax
	if t == delta.String && utf8.RuneCountInString(v.s) >= prefixLength {
		s.known |= openMax
	}
}

// setNulls sets the count of NULLs in a file with this number of rows.
func (s *span) setNulls(nulls, rows int64) {
	if nulls == 0 {
		s.known |= noNulls
	}
	if nulls == rows {
		s.known |= onlyNulls
	}
}

// prefixLength is the length to which writers truncate strings in statistics.
const prefixLength = 32

// slack is how much a timestamp may have changed by truncation to milliseconds, in microseconds.
const slack = 999

// Days before the Gregorian calendar and instants before 1900 may have been written in a calendar,
// or with time zone rules, that differ from those of the reader.
var (
	firstDay     = value{n: time.Date(1582, 10, 15, 0, 0, 0, 0, time.UTC).Unix() / (24 * 60 * 60)}
	firstInstant = value{n: time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()}
)

// bound parses one JSON value of minValues or maxValues, rounded outwards.
func bound(t delta.DataType, raw string, r sqltype.Rounding) (value, bool) {
	switch t := t.(type) {
	case delta.Decimal:
		return decimalBound(raw, t, r)
	case delta.Primitive:
		switch t {
		case delta.Byte, delta.Short, delta.Integer, delta.Long:
			n, err := strconv.ParseInt(raw, 10, 64)
			return value{n: n}, err == nil
		case delta.Boolean:
			return boolean(raw)
		}
		if text, ok := unquoted(raw); ok {
			return textBound(t, text, r)
		}
	}
	return value{}, false
}

func textBound(t delta.Primitive, text string, r sqltype.Rounding) (value, bool) {
	switch t {
	case delta.String:
		return value{s: text}, true
	case delta.Date:
		v, ok := day(text)
		return v, ok && compare(v, firstDay) >= 0
	case delta.Timestamp, delta.TimestampNTZ:
		// An instant without an offset, or a local time with one, would be ambiguous.
		offset := sqltype.WithoutOffset
		if t == delta.Timestamp {
			offset = sqltype.WithOffset
		}
		v, ok := instant(text, offset)
		if !ok || compare(v, firstInstant) < 0 {
			return value{}, false
		}
		if r == sqltype.Floor {
			v.n -= slack
		} else {
			v.n += slack
		}
		return v, true
	}
	return value{}, false
}

// unquoted parses a JSON string.
func unquoted(raw string) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	if !strings.Contains(raw, `\`) {
		return raw[1 : len(raw)-1], true
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	return string(text), err == nil
}
