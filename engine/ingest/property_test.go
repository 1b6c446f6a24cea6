package ingest_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/ingest"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// sample is a type of the test's own: how it is named, what values it has, and how
// they are written.
type sample struct {
	sql   string
	arrow arrow.DataType
	// draw makes a value, as goValue reads it back.
	draw func(t *rapid.T) any
	// json writes a value as JSON.
	json func(v any) string
	// build appends a value.
	build func(b array.Builder, v any)
}

func integers[T int8 | int16 | int32 | int64](sql string, typ arrow.DataType, gen *rapid.Generator[T], add func(array.Builder, T)) sample {
	return sample{
		sql: sql, arrow: typ,
		draw:  func(t *rapid.T) any { return int64(gen.Draw(t, sql)) },
		json:  func(v any) string { return strconv.FormatInt(v.(int64), 10) },
		build: func(b array.Builder, v any) { add(b, T(v.(int64))) },
	}
}

func floats(sql string, typ arrow.DataType, bits int) sample {
	return sample{
		sql: sql, arrow: typ,
		draw: func(t *rapid.T) any {
			if bits == 32 {
				return float64(rapid.Float32().Draw(t, sql))
			}
			return rapid.Float64().Draw(t, sql)
		},
		json: func(v any) string {
			if f := v.(float64); math.IsInf(f, 0) {
				return `"` + strings.TrimPrefix(strings.ReplaceAll(strconv.FormatFloat(f, 'g', -1, 64), "Inf", "Infinity"), "+") + `"`
			}
			return strconv.FormatFloat(v.(float64), 'g', -1, bits)
		},
		build: func(b array.Builder, v any) {
			if bits == 32 {
				b.(*array.Float32Builder).Append(float32(v.(float64)))
				return
			}
			b.(*array.Float64Builder).Append(v.(float64))
		},
	}
}

func quoted(s string) string {
	out, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(out)
}

func moments(sql string, typ arrow.DataType, layout string, unit time.Duration, low, high int64, add func(array.Builder, int64)) sample {
	return sample{
		sql: sql, arrow: typ,
		draw: func(t *rapid.T) any { return rapid.Int64Range(low, high).Draw(t, sql) },
		json: func(v any) string {
			perSecond := int64(time.Second / min(unit, time.Second))
			seconds, rest := v.(int64), int64(0)
			if unit > time.Second {
				seconds *= int64(unit / time.Second)
			} else {
				seconds, rest = seconds/perSecond, seconds%perSecond
			}
			return quoted(time.Unix(seconds, rest*int64(unit)).UTC().Format(layout))
		},
		build: func(b array.Builder, v any) { add(b, v.(int64)) },
	}
}

func decimals(t *rapid.T) sample {
	precision := rapid.IntRange(1, 38).Draw(t, "precision")
	scale := rapid.IntRange(0, precision).Draw(t, "scale")
	return sample{
		sql:   fmt.Sprintf("DECIMAL(%d,%d)", precision, scale),
		arrow: &arrow.Decimal128Type{Precision: int32(precision), Scale: int32(scale)},
		draw: func(t *rapid.T) any {
			digits := rapid.StringMatching(fmt.Sprintf(`-?[0-9]{1,%d}`, precision)).Draw(t, "digits")
			unscaled, _ := new(big.Int).SetString(digits, 10)
			return decimalText(unscaled, scale)
		},
		json: func(v any) string { return v.(string) },
		build: func(b array.Builder, v any) {
			unscaled, _ := new(big.Int).SetString(strings.ReplaceAll(v.(string), ".", ""), 10)
			b.(*array.Decimal128Builder).Append(decimal128.FromBigInt(unscaled))
		},
	}
}

var (
	texts = sample{
		sql: "VARCHAR", arrow: arrow.BinaryTypes.String,
		draw:  func(t *rapid.T) any { return rapid.String().Draw(t, "text") },
		json:  func(v any) string { return quoted(v.(string)) },
		build: func(b array.Builder, v any) { b.(*array.StringBuilder).Append(v.(string)) },
	}
	scalars = []sample{
		texts,
		integers("TINYINT", arrow.PrimitiveTypes.Int8, rapid.Int8(), func(b array.Builder, v int8) { b.(*array.Int8Builder).Append(v) }),
		integers("SMALLINT", arrow.PrimitiveTypes.Int16, rapid.Int16(), func(b array.Builder, v int16) { b.(*array.Int16Builder).Append(v) }),
		integers("INTEGER", arrow.PrimitiveTypes.Int32, rapid.Int32(), func(b array.Builder, v int32) { b.(*array.Int32Builder).Append(v) }),
		integers("BIGINT", arrow.PrimitiveTypes.Int64, rapid.Int64(), func(b array.Builder, v int64) { b.(*array.Int64Builder).Append(v) }),
		floats("FLOAT", arrow.PrimitiveTypes.Float32, 32), floats("DOUBLE", arrow.PrimitiveTypes.Float64, 64),
		{
			sql: "BOOLEAN", arrow: arrow.FixedWidthTypes.Boolean,
			draw:  func(t *rapid.T) any { return rapid.Bool().Draw(t, "bool") },
			json:  func(v any) string { return strconv.FormatBool(v.(bool)) },
			build: func(b array.Builder, v any) { b.(*array.BooleanBuilder).Append(v.(bool)) },
		},
		{
			sql: "BLOB", arrow: arrow.BinaryTypes.Binary,
			draw:  func(t *rapid.T) any { return append([]byte{}, rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")...) },
			json:  func(v any) string { return quoted(base64.StdEncoding.EncodeToString(v.([]byte))) },
			build: func(b array.Builder, v any) { b.(*array.BinaryBuilder).Append(v.([]byte)) },
		},
		moments("DATE", arrow.FixedWidthTypes.Date32, time.DateOnly, 24*time.Hour, -719162, 2932896,
			func(b array.Builder, v int64) { b.(*array.Date32Builder).Append(arrow.Date32(v)) }),
		moments("TIMESTAMP WITH TIME ZONE", &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, time.RFC3339Nano, time.Microsecond,
			-62135596800000000, 253402300799999999, func(b array.Builder, v int64) { b.(*array.TimestampBuilder).Append(arrow.Timestamp(v)) }),
		moments("TIMESTAMP", &arrow.TimestampType{Unit: arrow.Microsecond}, "2006-01-02T15:04:05.999999", time.Microsecond,
			-62135596800000000, 253402300799999999, func(b array.Builder, v int64) { b.(*array.TimestampBuilder).Append(arrow.Timestamp(v)) }),
	}
)

// drawSample makes a type, nested at most depth deep.
func drawSample(t *rapid.T, depth int) sample {
	kind := rapid.IntRange(0, 7).Draw(t, "kind")
	switch {
	case kind == 1:
		return decimals(t)
	case kind == 2 && depth > 0:
		return lists(drawSample(t, depth-1))
	case kind == 3 && depth > 0:
		return maps(drawSample(t, depth-1))
	case kind == 4 && depth > 0:
		n := rapid.IntRange(1, 3).Draw(t, "members")
		var parts []sample
		for range n {
			parts = append(parts, drawSample(t, depth-1))
		}
		return structs(parts)
	}
	return rapid.SampledFrom(scalars).Draw(t, "scalar")
}

// orNull writes NULL where there is no value.
func (s sample) orNull(v any) string {
	if v == nil {
		return "null"
	}
	return s.json(v)
}

func (s sample) buildOrNull(b array.Builder, v any) {
	if v == nil {
		b.AppendNull()
		return
	}
	s.build(b, v)
}

func (s sample) drawOrNull(t *rapid.T) any {
	if rapid.IntRange(0, 4).Draw(t, "null") == 0 {
		return nil
	}
	return s.draw(t)
}

func lists(element sample) sample {
	return sample{
		sql: element.sql + "[]", arrow: arrow.ListOf(element.arrow),
		draw: func(t *rapid.T) any {
			out := []any{}
			for range rapid.IntRange(0, 3).Draw(t, "length") {
				out = append(out, element.drawOrNull(t))
			}
			return out
		},
		json: func(v any) string {
			var parts []string
			for _, e := range v.([]any) {
				parts = append(parts, element.orNull(e))
			}
			return "[" + strings.Join(parts, ", ") + "]"
		},
		build: func(b array.Builder, v any) {
			b.(*array.ListBuilder).Append(true)
			for _, e := range v.([]any) {
				element.buildOrNull(b.(*array.ListBuilder).ValueBuilder(), e)
			}
		},
	}
}

func maps(value sample) sample {
	return sample{
		sql: "MAP(VARCHAR, " + value.sql + ")", arrow: arrow.MapOf(arrow.BinaryTypes.String, value.arrow),
		draw: func(t *rapid.T) any {
			out, keys := []pair{}, map[string]bool{}
			for range rapid.IntRange(0, 3).Draw(t, "entries") {
				if key := rapid.String().Draw(t, "key"); !keys[key] {
					keys[key] = true
					out = append(out, pair{key, value.drawOrNull(t)})
				}
			}
			return out
		},
		json: func(v any) string {
			object, list := []string{}, []string{}
			for _, e := range v.([]pair) {
				key, item := quoted(e.Key.(string)), value.orNull(e.Value)
				object = append(object, key+":"+item)
				list = append(list, `{"value":`+item+`,"key":`+key+`}`)
			}
			if len(object)%2 == 0 {
				return "{" + strings.Join(object, ",") + "}"
			}
			return "[" + strings.Join(list, ",") + "]"
		},
		build: func(b array.Builder, v any) {
			entries := b.(*array.MapBuilder)
			entries.Append(true)
			for _, e := range v.([]pair) {
				entries.KeyBuilder().(*array.StringBuilder).Append(e.Key.(string))
				value.buildOrNull(entries.ItemBuilder(), e.Value)
			}
		},
	}
}

func structs(parts []sample) sample {
	var sql []string
	var fields []arrow.Field
	for i, p := range parts {
		sql = append(sql, fmt.Sprintf(`"m %d" %s`, i, p.sql))
		fields = append(fields, nullable(fmt.Sprintf("m %d", i), p.arrow))
	}
	return sample{
		sql: "STRUCT(" + strings.Join(sql, ", ") + ")", arrow: arrow.StructOf(fields...),
		draw: func(t *rapid.T) any {
			out := []any{}
			for _, p := range parts {
				out = append(out, p.drawOrNull(t))
			}
			return out
		},
		json: func(v any) string {
			var out []string
			for i, m := range v.([]any) {
				if m != nil || i%2 == 0 { // a member that is missing is NULL too
					out = append(out, fmt.Sprintf(`"m %d":%s`, i, parts[i].orNull(m)))
				}
			}
			return "{" + strings.Join(out, ",") + "}"
		},
		build: func(b array.Builder, v any) {
			b.(*array.StructBuilder).Append(true)
			for i, m := range v.([]any) {
				parts[i].buildOrNull(b.(*array.StructBuilder).FieldBuilder(i), m)
			}
		},
	}
}

// TestEveryFormatStagesTheSame: random rows of random types, written in each
// format, are staged as they are.
func TestEveryFormatStagesTheSame(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var types []sample
		var table []engine.Column
		var fields []arrow.Field
		for i := range rapid.IntRange(1, 4).Draw(rt, "columns") {
			s := drawSample(rt, 2)
			types = append(types, s)
			table = append(table, engine.Column{Name: fmt.Sprintf("c%d", i), Type: sqltype.MustParse(s.sql), Nullable: true})
			fields = append(fields, nullable(fmt.Sprintf("C%d", i), s.arrow))
		}
		want := [][]any{}
		for range rapid.IntRange(0, 5).Draw(rt, "rows") {
			row := make([]any, len(types))
			for i, s := range types {
				row[i] = s.drawOrNull(rt)
			}
			want = append(want, row)
		}
		for format, body := range encodings(t, types, fields, want) {
			got := mustRead(t, body, ingest.Request{Format: format, Columns: table})
			require.Equal(t, want, got, "%s\n%s", format, body)
		}
	})
}

func encodings(tb testing.TB, types []sample, fields []arrow.Field, rows [][]any) map[staging.Format]string {
	var list, lines []string
	var sheet strings.Builder
	for i := range types {
		sheet.WriteString(strings.Repeat(",", min(i, 1)) + fmt.Sprintf("c%d", i))
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
	for n, row := range rows {
		var values, members []string
		sheet.WriteString("\r\n")
		for i, s := range types {
			text := s.orNull(row[i])
			values = append(values, text)
			if row[i] != nil || n%2 == 0 {
				members = append(members, fmt.Sprintf(`"c%d": %s`, i, text))
			}
			sheet.WriteString(strings.Repeat(",", min(i, 1)) + csvOf(tb, text))
			s.buildOrNull(b.Field(i), row[i])
		}
		lines = append(lines, "{"+strings.Join(members, ", ")+"}")
		list = append(list, "["+strings.Join(values, ",")+"]")
	}
	sheet.WriteString("\r\n")
	batch := b.NewRecordBatch()
	half := batch.NumRows() / 2
	return map[staging.Format]string{
		staging.JSON:   `{"rows":[` + strings.Join(list, ",") + `]}`,
		staging.NDJSON: strings.Join(lines, "\n"),
		staging.CSV:    sheet.String(),
		staging.Arrow: string(arrowBody(tb, []arrow.RecordBatch{batch.NewSlice(0, half), batch.NewSlice(half, batch.NumRows())},
			ipc.WithZstd())),
	}
}
