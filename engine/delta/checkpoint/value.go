package checkpoint

import (
	"strconv"
	"strings"
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
		// A timestamp without an offset is ambiguous if the type has a time zone.
		if !quoted {
			return nil
		}
		return parseTime(t, text, sqltype.WithOffset)
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
		if days, ok := sqltype.ParseDays(text); ok {
			return arrow.Date32(days)
		}
	case *arrow.TimestampType:
		return parseTime(t, text, sqltype.OptionalOffset)
	}
	return nil
}

// parseTime parses a timestamp in microseconds. If the type has no time zone, an offset is
// ambiguous, because readers ignore it; otherwise zoned says whether there must be one.
func parseTime(t *arrow.TimestampType, text string, zoned sqltype.Offset) any {
	if t.TimeZone == "" {
		zoned = sqltype.WithoutOffset
	}
	if n, ok := sqltype.ParseMicros(text, zoned); ok {
		return arrow.Timestamp(n)
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
