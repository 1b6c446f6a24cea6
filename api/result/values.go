package result

import (
	"encoding/base64"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// appender renders one row of one column.
type appender func(dst []byte, row int) []byte

// values renders columns by their SQL types: integers up to 64 bits signed are JSON
// numbers with exact digits; unsigned 64-bit, 128-bit and decimal values are strings,
// because a reader that uses doubles would round them.
type values struct {
	columns       []engine.Column
	integerString bool
}

func newValues(columns []engine.Column, integerString bool) values {
	return values{columns: columns, integerString: integerString}
}

// bind returns a JSON appender for each column of rec.
func (v values) bind(rec arrow.RecordBatch) []appender {
	out := make([]appender, rec.NumCols())
	for i := range out {
		out[i] = v.json(rec.Column(i), isWide(v.columns[i].Type))
	}
	return out
}

// bindText returns appenders without JSON quotes around scalars.
func (v values) bindText(rec arrow.RecordBatch) []appender {
	out := make([]appender, rec.NumCols())
	for i := range out {
		col := rec.Column(i)
		if text := scalarText(col); text != nil {
			out[i] = text
		} else {
			out[i] = v.json(col, false)
		}
	}
	return out
}

// isWide reports whether a double cannot represent all integers of a type.
func isWide(t sqltype.Type) bool {
	_, isDecimal := t.(sqltype.Decimal)
	return isDecimal || t == sqltype.UBigInt || t == sqltype.HugeInt || t == sqltype.UHugeInt
}

func (v values) json(col arrow.Array, wide bool) appender {
	inner := v.jsonNonNull(col, wide)
	if col.NullN() == 0 {
		return inner
	}
	return func(dst []byte, row int) []byte {
		if col.IsNull(row) {
			return append(dst, "null"...)
		}
		return inner(dst, row)
	}
}

func (v values) jsonNonNull(col arrow.Array, wide bool) appender {
	switch c := col.(type) {
	case *array.Null:
		return func(dst []byte, _ int) []byte { return append(dst, "null"...) }
	case *array.Boolean:
		return func(dst []byte, row int) []byte { return strconv.AppendBool(dst, c.Value(row)) }
	case *array.Float32:
		return func(dst []byte, row int) []byte { return sqltype.AppendFloat(dst, float64(c.Value(row)), 32) }
	case *array.Float64:
		return func(dst []byte, row int) []byte { return sqltype.AppendFloat(dst, c.Value(row), 64) }
	case *array.String:
		return func(dst []byte, row int) []byte { return appendString(dst, c.Value(row)) }
	case *array.LargeString:
		return func(dst []byte, row int) []byte { return appendString(dst, c.Value(row)) }
	case *array.List:
		return v.list(c.ListValues(), c.ValueOffsets)
	case *array.LargeList:
		return v.list(c.ListValues(), c.ValueOffsets)
	case *array.FixedSizeList:
		return v.list(c.ListValues(), c.ValueOffsets)
	case *array.Map:
		return v.mapEntries(c)
	case *array.Struct:
		return v.structFields(c)
	case *array.SparseUnion:
		return v.union(c)
	case *array.Dictionary:
		values := v.json(c.Dictionary(), wide)
		return func(dst []byte, row int) []byte { return values(dst, c.GetValueIndex(row)) }
	}
	text := scalarText(col)
	if text == nil {
		return func(dst []byte, row int) []byte { return appendString(dst, col.ValueStr(row)) }
	}
	if isInteger(col.DataType()) && !wide && !v.integerString {
		return text
	}
	return func(dst []byte, row int) []byte { return append(text(append(dst, '"'), row), '"') }
}

func isInteger(t arrow.DataType) bool {
	// The column's SQL type does not identify an unsigned 64-bit integer inside a nested
	// type, so it is excluded here.
	return arrow.IsInteger(t.ID()) && t.ID() != arrow.UINT64
}

func (v values) list(items arrow.Array, offsets func(int) (int64, int64)) appender {
	item := v.json(items, false)
	return func(dst []byte, row int) []byte {
		start, end := offsets(row)
		dst = append(dst, '[')
		for i := start; i < end; i++ {
			if i > start {
				dst = append(dst, ',')
			}
			dst = item(dst, int(i))
		}
		return append(dst, ']')
	}
}

// mapEntries writes a map as an array of {"key":…,"value":…}: keys need not be strings,
// and the order is preserved.
func (v values) mapEntries(c *array.Map) appender {
	key, item := v.json(c.Keys(), false), v.json(c.Items(), false)
	return func(dst []byte, row int) []byte {
		start, end := c.ValueOffsets(row)
		dst = append(dst, '[')
		for i := start; i < end; i++ {
			if i > start {
				dst = append(dst, ',')
			}
			dst = append(key(append(dst, `{"key":`...), int(i)), `,"value":`...)
			dst = append(item(dst, int(i)), '}')
		}
		return append(dst, ']')
	}
}

func (v values) structFields(c *array.Struct) appender {
	fields := c.DataType().(*arrow.StructType).Fields()
	items := make([]appender, len(fields))
	for i := range fields {
		items[i] = v.json(c.Field(i), false)
	}
	return func(dst []byte, row int) []byte {
		dst = append(dst, '{')
		for i, f := range fields {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = items[i](append(appendString(dst, f.Name), ':'), row)
		}
		return append(dst, '}')
	}
}

// union writes the alternative that a value is, as an object with its name.
func (v values) union(c *array.SparseUnion) appender {
	fields := c.DataType().(*arrow.SparseUnionType).Fields()
	items := make([]appender, len(fields))
	for i := range fields {
		items[i] = v.json(c.Field(i), false)
	}
	return func(dst []byte, row int) []byte {
		at := c.ChildID(row)
		dst = append(appendString(append(dst, '{'), fields[at].Name), ':')
		return append(items[at](dst, row), '}')
	}
}

// scalarText returns an appender of the plain text of a scalar column, or nil for a type
// that has no such text.
func scalarText(col arrow.Array) appender {
	switch c := col.(type) {
	case *array.Boolean:
		return func(dst []byte, row int) []byte { return strconv.AppendBool(dst, c.Value(row)) }
	case *array.Int8:
		return func(dst []byte, row int) []byte { return strconv.AppendInt(dst, int64(c.Value(row)), 10) }
	case *array.Int16:
		return func(dst []byte, row int) []byte { return strconv.AppendInt(dst, int64(c.Value(row)), 10) }
	case *array.Int32:
		return func(dst []byte, row int) []byte { return strconv.AppendInt(dst, int64(c.Value(row)), 10) }
	case *array.Int64:
		return func(dst []byte, row int) []byte { return strconv.AppendInt(dst, c.Value(row), 10) }
	case *array.Uint8:
		return func(dst []byte, row int) []byte { return strconv.AppendUint(dst, uint64(c.Value(row)), 10) }
	case *array.Uint16:
		return func(dst []byte, row int) []byte { return strconv.AppendUint(dst, uint64(c.Value(row)), 10) }
	case *array.Uint32:
		return func(dst []byte, row int) []byte { return strconv.AppendUint(dst, uint64(c.Value(row)), 10) }
	case *array.Uint64:
		return func(dst []byte, row int) []byte { return strconv.AppendUint(dst, c.Value(row), 10) }
	case *array.Float32:
		return func(dst []byte, row int) []byte { return unquote(dst, float64(c.Value(row)), 32) }
	case *array.Float64:
		return func(dst []byte, row int) []byte { return unquote(dst, c.Value(row), 64) }
	case *array.String:
		return func(dst []byte, row int) []byte { return append(dst, c.Value(row)...) }
	case *array.LargeString:
		return func(dst []byte, row int) []byte { return append(dst, c.Value(row)...) }
	case *array.Decimal128:
		scale := c.DataType().(*arrow.Decimal128Type).Scale
		return func(dst []byte, row int) []byte { return append(dst, c.Value(row).ToString(scale)...) }
	case *array.Decimal256:
		scale := c.DataType().(*arrow.Decimal256Type).Scale
		return func(dst []byte, row int) []byte { return append(dst, c.Value(row).ToString(scale)...) }
	case *array.Date32:
		return func(dst []byte, row int) []byte {
			if text := infinity(int64(c.Value(row)), math.MaxInt32); text != "" {
				return append(dst, text...)
			}
			return c.Value(row).ToTime().AppendFormat(dst, time.DateOnly)
		}
	case *array.Timestamp:
		return timestampText(c)
	case *array.Time64:
		unit := c.DataType().(*arrow.Time64Type).Unit
		return func(dst []byte, row int) []byte {
			if int64(c.Value(row)) == dayOf(unit) {
				return append(dst, "24:00:00"...)
			}
			return c.Value(row).ToTime(unit).AppendFormat(dst, "15:04:05.999999999")
		}
	case *array.Binary:
		return func(dst []byte, row int) []byte { return base64.StdEncoding.AppendEncode(dst, c.Value(row)) }
	case *array.LargeBinary:
		return func(dst []byte, row int) []byte { return base64.StdEncoding.AppendEncode(dst, c.Value(row)) }
	}
	return nil
}

func unquote(dst []byte, f float64, bits int) []byte {
	n := len(dst)
	dst = sqltype.AppendFloat(dst, f, bits)
	if dst[n] != '"' {
		return dst
	}
	return append(dst[:n], dst[n+1:len(dst)-1]...)
}

// timestampText prints an instant as RFC 3339 in UTC, and a local timestamp likewise
// without a zone.
func timestampText(c *array.Timestamp) appender {
	t := c.DataType().(*arrow.TimestampType)
	layout := "2006-01-02T15:04:05.999999999"
	if t.TimeZone != "" {
		layout += "Z"
	}
	return func(dst []byte, row int) []byte {
		if text := infinity(int64(c.Value(row)), math.MaxInt64); text != "" {
			return append(dst, text...)
		}
		return c.Value(row).ToTime(t.Unit).UTC().AppendFormat(dst, layout)
	}
}

// infinity returns the text of a date or timestamp that is infinite, "" for any other. DuckDB
// represents infinity by the greatest number, and -infinity by its negative.
func infinity(v, greatest int64) string {
	switch v {
	case greatest:
		return "infinity"
	case -greatest:
		return "-infinity"
	}
	return ""
}

// dayOf returns the number of units in 24 hours, which is also a value of TIME.
func dayOf(unit arrow.TimeUnit) int64 { return int64(24 * time.Hour / unit.Multiplier()) }

const hexDigits = "0123456789abcdef"

// appendString writes a JSON string. Bytes that are not UTF-8 become U+FFFD.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		b := s[i]
		if b < utf8.RuneSelf {
			if b >= ' ' && b != '"' && b != '\\' {
				i++
				continue
			}
			dst = append(dst, s[start:i]...)
			switch b {
			case '"', '\\':
				dst = append(dst, '\\', b)
			case '\n':
				dst = append(dst, '\\', 'n')
			case '\r':
				dst = append(dst, '\\', 'r')
			case '\t':
				dst = append(dst, '\\', 't')
			default:
				dst = append(dst, '\\', 'u', '0', '0', hexDigits[b>>4], hexDigits[b&15])
			}
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			dst = append(append(dst, s[start:i]...), "\uFFFD"...)
			i++
			start = i
			continue
		}
		i += size
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}
