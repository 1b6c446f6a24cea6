package checkpoint

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// parseJSON parses a value in statistics. It returns nil if the value is invalid for
// the type. Strings, times and the numbers that JSON does not have are quoted.
func parseJSON(t arrow.DataType, raw jsontext.Value) any {
	text, quoted := string(raw), raw.Kind() == '"'
	if quoted && json.Unmarshal(raw, &text) != nil {
		return nil
	}
	switch t := t.(type) {
	case *arrow.StringType, *arrow.Date32Type:
		if !quoted {
			return nil
		}
	case *arrow.TimestampType:
		// A timestamp without an offset is ambiguous if the type has a time zone, and
		// so is one with an offset if it has none.
		if !quoted || hasOffset(text) != (t.TimeZone != "") {
			return nil
		}
	case *arrow.Float32Type, *arrow.Float64Type:
		if quoted && text != "NaN" && text != "Infinity" && text != "-Infinity" {
			return nil
		}
	default:
		if quoted {
			return nil
		}
	}
	return parse(t, text)
}

// parse parses a value in the text form of the log. It returns nil if the value is
// invalid for the type.
func parse(t arrow.DataType, text string) any {
	switch t := t.(type) {
	case *arrow.Int8Type:
		return parseInteger[int8](text, 8)
	case *arrow.Int16Type:
		return parseInteger[int16](text, 16)
	case *arrow.Int32Type:
		return parseInteger[int32](text, 32)
	case *arrow.Int64Type:
		return parseInteger[int64](text, 64)
	case *arrow.Float32Type:
		if f, err := strconv.ParseFloat(text, 32); err == nil {
			return float32(f)
		}
	case *arrow.Float64Type:
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return f
		}
	case *arrow.BooleanType:
		switch strings.ToLower(text) {
		case "true":
			return true
		case "false":
			return false
		}
	case *arrow.StringType:
		if utf8.ValidString(text) {
			return text
		}
	case *arrow.BinaryType:
		return []byte(text)
	case *arrow.Decimal128Type:
		// A rounded bound would be wrong.
		if n, ok := sqltype.ParseDecimal(text, int(t.Precision), int(t.Scale), sqltype.Exact); ok {
			return decimal128.FromBigInt(n)
		}
	case *arrow.Date32Type:
		if at, err := time.Parse(time.DateOnly, text); err == nil {
			return arrow.Date32FromTime(at)
		}
	case *arrow.TimestampType:
		if t.TimeZone != "" || !hasOffset(text) { // readers ignore an offset if the type has no time zone
			return parseTime(text)
		}
	}
	return nil
}

func parseInteger[T int8 | int16 | int32 | int64](text string, bits int) any {
	n, err := strconv.ParseInt(text, 10, bits)
	if err != nil {
		return nil
	}
	return T(n)
}

// timeLayouts are the forms of timestamps in statistics and partition values.
// time.Parse accepts a fractional second after each of them.
var timeLayouts = []string{
	"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04:05Z07:00",
}

// parseTime parses a timestamp in microseconds. Without an offset it is in UTC.
func parseTime(text string) any {
	for _, layout := range timeLayouts {
		if at, err := time.Parse(layout, text); err == nil && at.Nanosecond()%1000 == 0 {
			return arrow.Timestamp(at.UnixMicro())
		}
	}
	return nil
}

func hasOffset(text string) bool {
	_, clock, _ := strings.Cut(text, ":")
	return strings.ContainsAny(clock, "Zz+-")
}
