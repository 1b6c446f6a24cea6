package result_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/api/result"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// rows is a result of fixed batches that ends in err (io.EOF for a complete result).
type rows struct {
	schema  *arrow.Schema
	columns []engine.Column
	batches []arrow.RecordBatch
	err     error
}

func (r *rows) Schema() *arrow.Schema    { return r.schema }
func (r *rows) Columns() []engine.Column { return r.columns }
func (r *rows) Close() error             { return nil }
func (r *rows) Next(context.Context) (arrow.RecordBatch, error) {
	if len(r.batches) == 0 {
		return nil, r.err
	}
	next := r.batches[0]
	r.batches = r.batches[1:]
	next.Retain()
	return next, nil
}

func write(t require.TestingT, r *rows, opts result.Options) (string, result.Summary, bool, error) {
	var out bytes.Buffer
	started := false
	sum, err := result.Write(context.Background(), result.NewSink(&out, func() { started = true }), r, opts)
	if err == nil {
		require.True(t, started)
	}
	return out.String(), sum, started, err
}

// oneOfEach has a row of ordinary values, a row of extremes and a row of NULLs.
func oneOfEach() *rows {
	fields := []arrow.Field{
		{Name: "i", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "u", Type: arrow.PrimitiveTypes.Uint64, Nullable: true},
		{Name: "f", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "d", Type: &arrow.Decimal128Type{Precision: 12, Scale: 2}, Nullable: true},
		{Name: "s\"x", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "b", Type: arrow.BinaryTypes.Binary, Nullable: true},
		{Name: "day", Type: arrow.FixedWidthTypes.Date32, Nullable: true},
		{Name: "ts", Type: &arrow.TimestampType{Unit: arrow.Microsecond}, Nullable: true},
		{Name: "tz", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, Nullable: true},
		{Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32), Nullable: true},
		{Name: "st", Type: arrow.StructOf(arrow.Field{Name: "a", Type: arrow.BinaryTypes.String, Nullable: true}), Nullable: true},
	}
	types := []string{"BIGINT", "UBIGINT", "DOUBLE", "DECIMAL(12,2)", "VARCHAR", "BLOB", "DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE",
		"INTEGER[]", "STRUCT(a VARCHAR)"}
	schema := arrow.NewSchema(fields, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	add := func(i int64, u uint64, f float64, d int64, s string, day int32, us int64) {
		b.Field(0).(*array.Int64Builder).Append(i)
		b.Field(1).(*array.Uint64Builder).Append(u)
		b.Field(2).(*array.Float64Builder).Append(f)
		b.Field(3).(*array.Decimal128Builder).Append(decimal128.FromI64(d))
		b.Field(4).(*array.StringBuilder).Append(s)
		b.Field(5).(*array.BinaryBuilder).Append([]byte(s))
		b.Field(6).(*array.Date32Builder).Append(arrow.Date32(day))
		b.Field(7).(*array.TimestampBuilder).Append(arrow.Timestamp(us))
		b.Field(8).(*array.TimestampBuilder).Append(arrow.Timestamp(us))
		l := b.Field(9).(*array.ListBuilder)
		l.Append(true)
		l.ValueBuilder().(*array.Int32Builder).AppendValues([]int32{1, 2}, []bool{true, false})
		st := b.Field(10).(*array.StructBuilder)
		st.Append(true)
		st.FieldBuilder(0).(*array.StringBuilder).Append(s)
	}
	add(7, 8, 1.5, 1234, "a,\"b\"\n\tü\x01", 15706, 1357034400123456)
	add(math.MinInt64, math.MaxUint64, math.Inf(-1), -5, "", -1, -1)
	for i := range fields {
		b.Field(i).AppendNull()
	}
	columns := make([]engine.Column, len(fields))
	for i, f := range fields {
		columns[i] = engine.Column{Name: f.Name, Type: sqltype.MustParse(types[i])}
	}
	return &rows{schema: schema, columns: columns, batches: []arrow.RecordBatch{b.NewRecordBatch()}, err: io.EOF}
}

func TestJSONKeepsEveryValueExactly(t *testing.T) {
	tail := func(s result.Summary) []result.Member {
		return []result.Member{{Name: "query_id", Value: []byte(`"q"`)}}
	}
	text, sum, _, err := write(t, oneOfEach(), result.Options{Format: result.JSON, Tail: tail})
	require.NoError(t, err)
	require.Equal(t, int64(3), sum.Rows)
	require.JSONEq(t, `{
	 "columns":[{"name":"i","type":"BIGINT"},{"name":"u","type":"UBIGINT"},{"name":"f","type":"DOUBLE"},{"name":"d","type":"DECIMAL(12,2)"},
	  {"name":"s\"x","type":"VARCHAR"},{"name":"b","type":"BLOB"},{"name":"day","type":"DATE"},{"name":"ts","type":"TIMESTAMP"},
	  {"name":"tz","type":"TIMESTAMP WITH TIME ZONE"},{"name":"l","type":"INTEGER[]"},{"name":"st","type":"STRUCT(a VARCHAR)"}],
	 "rows":[
	  [7,"8",1.5,"12.34","a,\"b\"\n\tü\u0001","YSwiYiIKCcO8AQ==","2013-01-01","2013-01-01T10:00:00.123456","2013-01-01T10:00:00.123456Z",[1,null],{"a":"a,\"b\"\n\tü\u0001"}],
	  [-9223372036854775808,"18446744073709551615","-Infinity","-0.05","","","1969-12-31","1969-12-31T23:59:59.999999","1969-12-31T23:59:59.999999Z",[1,null],{"a":""}],
	  [null,null,null,null,null,null,null,null,null,null,null]],
	 "row_count":3,"truncated":false,"query_id":"q"}`, text)
	require.Contains(t, text, "-9223372036854775808", "exact digits, not a rounded double")
}

func TestIntegersAsStrings(t *testing.T) {
	text, _, _, err := write(t, oneOfEach(), result.Options{Format: result.NDJSON, IntegersAsStrings: true})
	require.NoError(t, err)
	require.Contains(t, text, `"i":"7"`)
	require.Contains(t, text, `"l":["1",null]`)
}

func TestNDJSONHasOneObjectALine(t *testing.T) {
	text, _, _, err := write(t, oneOfEach(), result.Options{Format: result.NDJSON})
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	require.Len(t, lines, 3)
	for _, line := range lines {
		var row map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &row))
		require.Len(t, row, 11)
	}
}

// TestNDJSONHasNoKeyTwice: columns of a result can have equal names.
func TestNDJSONHasNoKeyTwice(t *testing.T) {
	names := []string{"a", "a", "b", "a_1", "a", "b_1", "b"}
	fields := make([]arrow.Field, len(names))
	columns := make([]engine.Column, len(names))
	for i, name := range names {
		fields[i] = arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int64}
		columns[i] = engine.Column{Name: name, Type: sqltype.BigInt}
	}
	schema := arrow.NewSchema(fields, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i := range names {
		b.Field(i).(*array.Int64Builder).Append(int64(i))
	}
	source := &rows{schema: schema, columns: columns, batches: []arrow.RecordBatch{b.NewRecordBatch()}, err: io.EOF}
	text, _, _, err := write(t, source, result.Options{Format: result.NDJSON})
	require.NoError(t, err)
	require.Equal(t, `{"a":0,"a_2":1,"b":2,"a_1":3,"a_3":4,"b_1":5,"b_2":6}`+"\n", text)
}

func TestCSVTellsNullFromEmpty(t *testing.T) {
	text, _, _, err := write(t, oneOfEach(), result.Options{Format: result.CSV})
	require.NoError(t, err)
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	require.NoError(t, err)
	require.Equal(t, "s\"x", records[0][4])
	require.Equal(t, []string{"7", "8", "1.5", "12.34", "a,\"b\"\n\tü\x01"}, records[1][:5])
	require.Contains(t, text, `-0.05,"",`, "an empty string is quoted")
	require.True(t, strings.HasSuffix(text, "\r\n,,,,,,,,,,\r\n"), "NULL is nothing at all")
}

func TestArrowReadsBackEqual(t *testing.T) {
	in := oneOfEach()
	want := in.batches[0]
	text, _, _, err := write(t, in, result.Options{Format: result.Arrow})
	require.NoError(t, err)
	r, err := ipc.NewReader(strings.NewReader(text))
	require.NoError(t, err)
	require.True(t, r.Next())
	require.True(t, array.RecordEqual(want, r.RecordBatch()))
	require.False(t, r.Next())
	require.NoError(t, r.Err())
}

func TestLimitsTruncateAndReportIt(t *testing.T) {
	for _, f := range []result.Format{result.JSON, result.NDJSON, result.CSV, result.Arrow, result.Parquet} {
		_, sum, _, err := write(t, oneOfEach(), result.Options{Format: f, Rows: 2})
		require.NoError(t, err)
		require.Equal(t, int64(2), sum.Rows, f)
		require.True(t, sum.Truncated, f)
		_, sum, _, err = write(t, oneOfEach(), result.Options{Format: f, Rows: 3})
		require.NoError(t, err)
		require.False(t, sum.Truncated, "exactly as many rows as allowed is not a cut (%s)", f)
	}
	text, sum, _, err := write(t, oneOfEach(), result.Options{Format: result.NDJSON, Bytes: 300})
	require.NoError(t, err)
	require.True(t, sum.Truncated)
	require.LessOrEqual(t, len(text), 300)
	require.Equal(t, int64(1), sum.Rows)
}

func TestErrorBeforeTheFirstByteReachesNoClient(t *testing.T) {
	boom := errors.New("boom")
	for _, f := range []result.Format{result.JSON, result.NDJSON, result.CSV, result.Arrow, result.Parquet} {
		r := oneOfEach()
		r.err = boom
		text, _, started, err := write(t, r, result.Options{Format: f})
		require.ErrorIs(t, err, boom)
		require.NotErrorIs(t, err, result.ErrBroken)
		require.False(t, started)
		require.Empty(t, text)
	}
}

func TestErrorInTheMiddleNeverLooksComplete(t *testing.T) {
	boom := errors.New("boom")
	big := func() *rows {
		r := oneOfEach()
		for len(r.batches) < 20000 {
			r.batches = append(r.batches, r.batches[0])
		}
		r.err = boom
		return r
	}
	text, _, _, err := write(t, big(), result.Options{Format: result.JSON})
	require.ErrorIs(t, err, result.ErrBroken)
	require.False(t, json.Valid([]byte(text)))

	text, _, _, err = write(t, big(), result.Options{Format: result.NDJSON, FailLine: func(error) []byte { return []byte(`{"error":{}}`) }})
	require.ErrorIs(t, err, result.ErrBroken)
	require.True(t, strings.HasSuffix(text, "\n{\"error\":{}}\n"))

	text, _, _, err = write(t, big(), result.Options{Format: result.Arrow})
	require.ErrorIs(t, err, result.ErrBroken)
	require.False(t, strings.HasSuffix(text, "\xff\xff\xff\xff\x00\x00\x00\x00"), "no end-of-stream mark")
}

func TestStringsAreValidJSONWhateverTheBytes(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String}}, nil)
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		defer b.Release()
		b.Field(0).(*array.StringBuilder).Append(s)
		r := &rows{schema: schema, columns: []engine.Column{{Name: "s", Type: sqltype.Varchar}}, batches: []arrow.RecordBatch{b.NewRecordBatch()},
			err: io.EOF}
		text, _, _, err := write(t, r, result.Options{Format: result.NDJSON})
		require.NoError(t, err)
		var got struct{ S string }
		require.NoError(t, json.Unmarshal([]byte(text), &got))
		require.Equal(t, strings.ToValidUTF8(s, "\uFFFD") == s, got.S == s)
	})
}

func TestNegotiate(t *testing.T) {
	for accept, want := range map[string]result.Format{
		"": result.JSON, "*/*": result.JSON, "application/json": result.JSON,
		"text/csv;q=0.5, application/x-ndjson": result.NDJSON,
		"text/html, text/csv":                  result.CSV,
		"application/vnd.apache.arrow.stream":  result.Arrow,
		"application/vnd.apache.parquet":       result.Parquet,
	} {
		got, ok := result.Negotiate(accept)
		require.True(t, ok, accept)
		require.Equal(t, want, got, accept)
	}
	for _, accept := range []string{"image/png", "text/csv;q=0", "application/xml, nonsense/"} {
		_, ok := result.Negotiate(accept)
		require.False(t, ok, accept)
	}
}
