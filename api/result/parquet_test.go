package result_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/result"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

func readParquet(t *testing.T, text string) (arrow.Table, int) {
	t.Helper()
	f, err := file.NewParquetReader(strings.NewReader(text))
	require.NoError(t, err)
	r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	require.NoError(t, err)
	table, err := r.ReadTable(t.Context())
	require.NoError(t, err)
	return table, f.NumRowGroups()
}

func TestParquetReadsBackEqual(t *testing.T) {
	in := oneOfEach()
	want := in.batches[0]
	want.Retain()
	in.batches = append(in.batches, want)
	text, sum, _, err := write(t, in, result.Options{Format: result.Parquet})
	require.NoError(t, err)
	require.Equal(t, int64(6), sum.Rows)
	require.Equal(t, int64(len(text)), sum.Bytes)
	table, groups := readParquet(t, text)
	require.Equal(t, 1, groups, "small batches share a row group")
	for i := range int(want.NumCols()) {
		got := table.Column(i).Data().Chunk(0)
		require.Equal(t, want.ColumnName(i), table.Column(i).Name())
		require.Equal(t, want.Column(i).String(), array.NewSlice(got, 0, 3).String())
		require.Equal(t, want.Column(i).String(), array.NewSlice(got, 3, 6).String())
	}
}

// one returns a result of one column from a function that fills it.
func one(typ arrow.DataType, sqlType string, fill func(array.Builder)) *rows {
	schema := arrow.NewSchema([]arrow.Field{{Name: "x", Type: typ, Nullable: true}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	fill(b.Field(0))
	return &rows{schema: schema, columns: []engine.Column{{Name: "x", Type: sqltype.MustParse(sqlType)}},
		batches: []arrow.RecordBatch{b.NewRecordBatch()}, err: io.EOF}
}

// fourGroups are four million rows.
func fourGroups() *rows {
	r := one(arrow.PrimitiveTypes.Int64, "BIGINT", func(b array.Builder) {
		for i := range int64(1 << 17) {
			b.(*array.Int64Builder).Append(i * 0x9E3779B9)
		}
	})
	for range 5 {
		r.batches = append(r.batches, r.batches...)
	}
	return r
}

func TestParquetRowGroupsAreBounded(t *testing.T) {
	r := fourGroups()
	var out bytes.Buffer
	sink := result.NewSink(&out, func() {})
	_, err := result.Write(context.Background(), sink, r, result.Options{Format: result.Parquet})
	require.NoError(t, err)
	table, groups := readParquet(t, out.String())
	require.Equal(t, int64(1<<22), table.NumRows())
	require.Equal(t, 4, groups, "a million rows each")
}

func TestParquetRefusesWhatItWouldChange(t *testing.T) {
	nothing := func(array.Builder) {}
	for name, r := range map[string]*rows{
		"INTERVAL":     one(arrow.FixedWidthTypes.MonthDayNanoInterval, "INTERVAL", nothing),
		"INTERVAL[]":   one(arrow.ListOf(arrow.FixedWidthTypes.MonthDayNanoInterval), "INTERVAL[]", nothing),
		"empty struct": one(arrow.StructOf(), "STRUCT()", nothing),
	} {
		text, _, started, err := write(t, r, result.Options{Format: result.Parquet})
		var refused *result.ColumnError
		require.ErrorAs(t, err, &refused, name)
		require.Equal(t, "x", refused.Column.Name)
		require.False(t, started)
		require.Empty(t, text)
	}
	for _, sqlType := range []string{"TIMESTAMP WITH TIME ZONE", `STRUCT("BIT" INTEGER)`} {
		_, _, _, err := write(t, one(arrow.PrimitiveTypes.Int32, sqlType, nothing), result.Options{Format: result.Parquet})
		require.NoError(t, err)
	}
}

func TestParquetRefusesWideHugeints(t *testing.T) {
	wide := decimal128.New(math.MaxInt64, 0) // 39 digits
	for _, r := range []*rows{
		one(&arrow.Decimal128Type{Precision: 38}, "HUGEINT", func(b array.Builder) { b.(*array.Decimal128Builder).Append(wide) }),
		one(arrow.ListOf(&arrow.Decimal128Type{Precision: 38}), "HUGEINT[]", func(b array.Builder) {
			b.(*array.ListBuilder).Append(true)
			b.(*array.ListBuilder).ValueBuilder().(*array.Decimal128Builder).Append(wide)
		}),
	} {
		_, _, started, err := write(t, r, result.Options{Format: result.Parquet})
		var refused *result.ColumnError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, "value_error", refused.ProblemCode())
		require.Equal(t, "a number of 39 digits", refused.Value)
		require.False(t, started)
	}
}

func TestParquetOfAnEnum(t *testing.T) {
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint8, ValueType: arrow.BinaryTypes.String}
	r := one(typ, "ENUM('a', 'b')", func(b array.Builder) {
		d := b.(*array.BinaryDictionaryBuilder)
		require.NoError(t, d.AppendString("a"))
		d.AppendNull()
		require.NoError(t, d.AppendString("b"))
	})
	text, _, _, err := write(t, r, result.Options{Format: result.Parquet})
	require.NoError(t, err)
	table, _ := readParquet(t, text)
	require.Equal(t, `["a" (null) "b"]`, table.Column(0).Data().Chunk(0).String())
}

// poison overwrites released memory, as the engine does.
type poison struct{ memory.Allocator }

func (p poison) Free(b []byte) {
	for i := range b[:cap(b)] {
		b[:cap(b)][i] = 0xAA
	}
}

// TestParquetHoldsNothingOfReleasedBatches checks that no memory of a batch is read after
// its release, which precedes the writing of its row group.
func TestParquetHoldsNothingOfReleasedBatches(t *testing.T) {
	fill := func(mem memory.Allocator) *rows {
		schema := arrow.NewSchema([]arrow.Field{
			{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "b", Type: arrow.BinaryTypes.Binary, Nullable: true},
			{Name: "d", Type: &arrow.Decimal128Type{Precision: 38, Scale: 2}, Nullable: true},
			{Name: "i", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
			{Name: "l", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
		}, nil)
		r := &rows{schema: schema, err: io.EOF}
		for _, f := range schema.Fields() {
			r.columns = append(r.columns, engine.Column{Name: f.Name, Type: sqltype.Varchar})
		}
		for n := range 3 {
			b := array.NewRecordBuilder(mem, schema)
			for i := range 1000 {
				word := strings.Repeat(string(rune('a'+i%26)), i%40+n)
				b.Field(0).(*array.StringBuilder).Append(word)
				b.Field(1).(*array.BinaryBuilder).Append([]byte(word))
				b.Field(2).(*array.Decimal128Builder).Append(decimal128.FromI64(int64(i * n)))
				b.Field(3).(*array.Int32Builder).Append(int32(i))
				b.Field(4).(*array.ListBuilder).Append(true)
				b.Field(4).(*array.ListBuilder).ValueBuilder().(*array.StringBuilder).Append(word)
			}
			r.batches = append(r.batches, b.NewRecordBatch())
			b.Release()
		}
		return r
	}
	// The fixture's rows have a reference of their own, which is released here.
	give := func(r *rows) *releasing { return &releasing{r} }
	var want, got bytes.Buffer
	_, err := result.Write(context.Background(), result.NewSink(&want, func() {}), give(fill(memory.NewGoAllocator())),
		result.Options{Format: result.Parquet})
	require.NoError(t, err)
	_, err = result.Write(context.Background(), result.NewSink(&got, func() {}), give(fill(poison{memory.NewGoAllocator()})),
		result.Options{Format: result.Parquet})
	require.NoError(t, err)
	require.True(t, bytes.Equal(want.Bytes(), got.Bytes()))
}

// releasing transfers the only reference to each batch.
type releasing struct{ *rows }

func (r *releasing) Next(ctx context.Context) (arrow.RecordBatch, error) {
	batch, err := r.rows.Next(ctx)
	if err == nil {
		batch.Release()
	}
	return batch, err
}

// TestParquetToABrokenClientFails checks errors that the library ignores: those of a row
// group that it closes implicitly.
func TestParquetToABrokenClientFails(t *testing.T) {
	gone := errors.New("gone")
	r := fourGroups()
	total := len(r.batches)
	_, err := result.Write(context.Background(), result.NewSink(failing{gone}, func() {}), r, result.Options{Format: result.Parquet})
	require.ErrorIs(t, err, gone)
	require.ErrorIs(t, err, result.ErrBroken)
	require.Greater(t, len(r.batches), total/2, "and fails at once")
}

func TestParquetThatBreaksOffHasNoFooter(t *testing.T) {
	r := fourGroups()
	r.err = errors.New("boom")
	text, _, _, err := write(t, r, result.Options{Format: result.Parquet})
	require.ErrorIs(t, err, r.err)
	require.ErrorIs(t, err, result.ErrBroken, "row groups were out before the failure")
	require.False(t, strings.HasSuffix(text, "PAR1"))
	_, err = file.NewParquetReader(strings.NewReader(text))
	require.Error(t, err)
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
