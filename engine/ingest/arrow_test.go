package ingest_test

import (
	"bytes"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/ingest"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
)

// arrowBody writes batches as a stream.
func arrowBody(tb testing.TB, batches []arrow.RecordBatch, opts ...ipc.Option) []byte {
	tb.Helper()
	var out bytes.Buffer
	w := ipc.NewWriter(&out, append(opts, ipc.WithSchema(batches[0].Schema()))...)
	for _, b := range batches {
		require.NoError(tb, w.Write(b))
	}
	require.NoError(tb, w.Close())
	return out.Bytes()
}

// jsonBatch makes a batch of the library's own JSON.
func jsonBatch(tb testing.TB, rows string, fields ...arrow.Field) arrow.RecordBatch {
	tb.Helper()
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, arrow.NewSchema(fields, nil), bytes.NewReader([]byte(rows)),
		array.WithUseNumber())
	require.NoError(tb, err)
	return batch
}

func nullable(name string, typ arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: typ, Nullable: true}
}

func smallArrow(tb testing.TB) []byte {
	return arrowBody(tb, []arrow.RecordBatch{
		jsonBatch(tb, `[{"a":1,"b":"x"},{"a":null,"b":"y"}]`, nullable("a", arrow.PrimitiveTypes.Int32),
			nullable("b", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String})),
	})
}

// TestArrowCasts: a column of another type is taken where no value changes, value
// by value; else the value or the column is a problem.
func TestArrowCasts(t *testing.T) {
	stamp := func(unit arrow.TimeUnit, zone string) arrow.DataType {
		return &arrow.TimestampType{Unit: unit, TimeZone: zone}
	}
	dictionary := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint16, ValueType: arrow.BinaryTypes.String}
	inner := arrow.StructOf(nullable("Y", arrow.PrimitiveTypes.Int8), nullable("x", arrow.BinaryTypes.StringView))
	cases := []struct {
		name string
		from arrow.DataType
		rows string // values of the column
		to   string
		want []any // nil stands for a problem of the column
		bad  int   // rows that are problems
	}{
		{"narrower integer", arrow.PrimitiveTypes.Int64, `[{"V":127},{"V":null},{"V":128},{"V":-129}]`, "TINYINT", []any{int64(127), nil}, 2},
		{"unsigned", arrow.PrimitiveTypes.Uint64, `[{"V":5},{"V":"18446744073709551615"}]`, "BIGINT", []any{int64(5)}, 1},
		{"unsigned to decimal", arrow.PrimitiveTypes.Uint64, `[{"V":"18446744073709551615"}]`, "DECIMAL(20,0)", []any{"18446744073709551615"}, 0},
		{"integer to decimal", arrow.PrimitiveTypes.Int32, `[{"V":12},{"V":1000}]`, "DECIMAL(5,2)", []any{"12.00"}, 1},
		{"integer to double", arrow.PrimitiveTypes.Int64, `[{"V":"9007199254740992"},{"V":"9007199254740993"}]`, "DOUBLE",
			[]any{9007199254740992.0}, 1},
		{"double to float", arrow.PrimitiveTypes.Float64, `[{"V":0.5},{"V":0.1}]`, "FLOAT", []any{0.5}, 1},
		{"float to double", arrow.PrimitiveTypes.Float32, `[{"V":0.1}]`, "DOUBLE", []any{float64(float32(0.1))}, 0},
		{"half", arrow.FixedWidthTypes.Float16, `[{"V":1.5}]`, "FLOAT", []any{1.5}, 0},
		{"double to integer", arrow.PrimitiveTypes.Float64, `[{"V":1}]`, "BIGINT", nil, 0},
		{"decimal of another scale", &arrow.Decimal128Type{Precision: 20, Scale: 4},
			`[{"V":"1.2300"},{"V":"1.2345"},{"V":"12345.0000"}]`, "DECIMAL(6,2)", []any{"1.23"}, 2},
		{"wide decimal", &arrow.Decimal256Type{Precision: 50, Scale: 2}, `[{"V":"7.50"}]`, "DECIMAL(38,1)", []any{"7.5"}, 0},
		{"short decimal", &arrow.Decimal64Type{Precision: 10, Scale: 2}, `[{"V":"-7.50"}]`, "DECIMAL(38,4)", []any{"-7.5000"}, 0},
		{"dictionary", dictionary, `[{"V":"x"},{"V":null},{"V":"x"}]`, "VARCHAR", []any{"x", nil, "x"}, 0},
		{"view", arrow.BinaryTypes.StringView, `[{"V":"short"},{"V":"longer than twelve bytes"}]`, "VARCHAR",
			[]any{"short", "longer than twelve bytes"}, 0},
		{"binary", &arrow.FixedSizeBinaryType{ByteWidth: 2}, `[{"V":"AAE="}]`, "BLOB", []any{[]byte{0, 1}}, 0},
		{"large binary", arrow.BinaryTypes.LargeBinary, `[{"V":"AAE="}]`, "BLOB", []any{[]byte{0, 1}}, 0},
		{"binary to text", arrow.BinaryTypes.Binary, `[{"V":"AAE="}]`, "VARCHAR", nil, 0},
		{"text to number", arrow.BinaryTypes.String, `[{"V":"1"}]`, "BIGINT", nil, 0},
		{"milliseconds", stamp(arrow.Millisecond, "Europe/Berlin"), `[{"V":"1970-01-01 00:00:00.007"}]`,
			"TIMESTAMP WITH TIME ZONE", []any{int64(7000)}, 0},
		{"nanoseconds", stamp(arrow.Nanosecond, ""), `[{"V":"1970-01-01 00:00:00.000001"},{"V":"1970-01-01 00:00:00.000000001"}]`,
			"TIMESTAMP", []any{int64(1)}, 1},
		{"zone where none is", stamp(arrow.Microsecond, "UTC"), `[{"V":"1970-01-01 00:00:00"}]`, "TIMESTAMP", nil, 0},
		{"no zone where one is", stamp(arrow.Microsecond, ""), `[{"V":"1970-01-01 00:00:00"}]`, "TIMESTAMP WITH TIME ZONE", nil, 0},
		{"date of milliseconds", arrow.FixedWidthTypes.Date64, `[{"V":"1970-01-03"}]`, "DATE", []any{int64(2)}, 0},
		{"days of four-digit years", arrow.FixedWidthTypes.Date32, `[{"V":"9999-12-31"},{"V":2932897},{"V":-719163}]`, "DATE",
			[]any{int64(2_932_896)}, 2},
		{"the greatest timestamp", stamp(arrow.Microsecond, ""), `[{"V":"9999-12-31 23:59:59.999999"},{"V":9223372036854775807}]`, "TIMESTAMP",
			[]any{int64(253402300799999999)}, 1},
		{"time", arrow.FixedWidthTypes.Time64us, `[{"V":"01:00:00"}]`, "TIMESTAMP", nil, 0},
		{"nothing", arrow.Null, `[{"V":null}]`, "MAP(VARCHAR, INTEGER)", []any{nil}, 0},
		{"large list", arrow.LargeListOf(arrow.PrimitiveTypes.Int16), `[{"V":[1,null]},{"V":null},{"V":[]}]`, "BIGINT[]",
			[]any{[]any{int64(1), nil}, nil, []any{}}, 0},
		{"fixed list", arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Int16), `[{"V":[1,2]},{"V":[3,400]}]`, "TINYINT[]",
			[]any{[]any{int64(1), int64(2)}}, 1},
		{"list view", arrow.ListViewOf(arrow.PrimitiveTypes.Int16), `[{"V":[1,2]}]`, "INTEGER[]", []any{[]any{int64(1), int64(2)}}, 0},
		{"map", arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int8), `[{"V":[{"key":"x","value":1}]}]`,
			"MAP(VARCHAR, BIGINT)", []any{[]pair{{"x", int64(1)}}}, 0},
		{"map with a key twice", arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int8),
			`[{"V":[{"key":"x","value":1},{"key":"x","value":2}]}]`, "MAP(VARCHAR, BIGINT)", []any{}, 1},
		{"struct in another order", inner, `[{"V":{"Y":1,"x":"s"}},{"V":null}]`, "STRUCT(x VARCHAR, y INTEGER, z DATE)",
			[]any{[]any{"s", int64(1), nil}, nil}, 0},
		{"struct with more", inner, `[{"V":{"Y":1,"x":"s"}}]`, "STRUCT(x VARCHAR)", nil, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			batch := jsonBatch(t, c.rows, nullable("V", c.from))
			for _, opts := range [][]ipc.Option{nil, {ipc.WithZstd()}, {ipc.WithLZ4()}} {
				body := arrowBody(t, []arrow.RecordBatch{batch}, opts...)
				req := ingest.Request{Format: staging.Arrow, Columns: columns("v", c.to)}
				if c.want == nil || c.bad > 0 {
					_, err := stage(t, string(body), req)
					require.Len(t, problems(t, err), max(c.bad, 1))
					good := batch.NewSlice(0, int64(len(c.want)))
					if good.NumRows() == 0 {
						continue
					}
					body = arrowBody(t, []arrow.RecordBatch{good}, opts...)
				}
				var got []any
				for _, row := range mustRead(t, string(body), req) {
					got = append(got, row[0])
				}
				require.Equal(t, c.want, got)
			}
		})
	}
}
