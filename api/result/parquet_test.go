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

// one makes a result of one column from a function that fills it.
func one(typ arrow.DataType, sqlType string, fill func(array.Builder)) *rows {
	schema := arrow.NewSchema([]arrow.Field{{Name: "x", Type: typ, Nullable: true}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	fill(b.Field(0))
	return &rows{schema: schema, columns: []engine.Column{{Name: "x", Type: sqlType}}, batches: []arrow.RecordBatch{b.NewRecordBatch()}, err: io.EOF}
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
		"INTERVAL":            one(arrow.FixedWidthTypes.MonthDayNanoInterval, "INTERVAL", nothing),
		"INTERVAL[]":          one(arrow.ListOf(arrow.FixedWidthTypes.MonthDayNanoInterval), "INTERVAL[]", nothing),
		"UHUGEINT":            one(&arrow.Decimal128Type{Precision: 38}, "UHUGEINT", nothing),
		"BIT":                 one(arrow.BinaryTypes.Binary, "BIT", nothing),
		"TIME WITH TIME ZONE": one(arrow.FixedWidthTypes.Time64us, "TIME WITH TIME ZONE", nothing),
		"STRUCT(a BIT)":       one(arrow.StructOf(arrow.Field{Name: "a", Type: arrow.BinaryTypes.Binary, Nullable: true}), "STRUCT(a BIT)", nothing),
		"empty struct":        one(arrow.StructOf(), "STRUCT()", nothing),
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
		var failure *engine.Error
		require.ErrorAs(t, err, &failure)
		require.Equal(t, "out_of_range", failure.Class)
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

// TestParquetToABrokenClientFails: the library forgets errors of a row group
// that it closes on the way to the next.
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
