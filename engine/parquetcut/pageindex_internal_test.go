package parquetcut

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/thrift/lib/go/thrift"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

// Columns are numbers only where everybody orders their values as signed ones.
func TestNumbersOfAColumn(t *testing.T) {
	logical := func(id int16, of structure) structure { return structure{{id, of}} }
	for name, c := range map[string]struct {
		element structure
		want    numbers
	}{
		"plain INT64":           {structure{{1, int32(typeInt64)}}, wholeNumbers},
		"INT_8":                 {structure{{1, int32(typeInt32)}, {6, int32(15)}}, wholeNumbers},
		"signed integer":        {structure{{1, int32(typeInt32)}, {6, int32(17)}, {10, logical(10, structure{{1, int8(32)}, {2, true}})}}, wholeNumbers},
		"DATE":                  {structure{{1, int32(typeInt32)}, {6, int32(6)}}, days},
		"date by logical type":  {structure{{1, int32(typeInt32)}, {10, logical(6, structure{})}}, days},
		"UINT_32":               {structure{{1, int32(typeInt32)}, {6, int32(13)}}, noNumbers},
		"unsigned integer":      {structure{{1, int32(typeInt32)}, {10, logical(10, structure{{1, int8(32)}, {2, false}})}}, noNumbers},
		"two types at once":     {structure{{1, int32(typeInt32)}, {6, int32(13)}, {10, logical(6, structure{})}}, noNumbers},
		"DECIMAL":               {structure{{1, int32(typeInt64)}, {6, int32(5)}}, noNumbers},
		"decimal, logical only": {structure{{1, int32(typeInt64)}, {10, logical(5, structure{})}}, noNumbers},
		"timestamp":             {structure{{1, int32(typeInt64)}, {10, logical(8, structure{})}}, noNumbers},
		"days of 64 bits":       {structure{{1, int32(typeInt64)}, {6, int32(6)}}, noNumbers},
		"DOUBLE":                {structure{{1, int32(typeDouble)}}, noNumbers},
	} {
		require.Equal(t, c.want, numbersOf(c.element), name)
	}
}

// An index that does not fit itself, or the chunk, says nothing.
func TestPagesOfAnIndex(t *testing.T) {
	one, nine := plain(1, typeInt64), plain(9, typeInt64)
	type change func(index, offsets *structure, c *chunk)
	listOf := func(of thrift.TType, items ...any) list { return list{of: of, items: items} }
	pages := func(change change) map[int64]indexedPage {
		index := structure{
			{1, listOf(thrift.BOOL, false, true, false)}, {2, listOf(thrift.STRING, one, []byte{}, one)},
			{3, listOf(thrift.STRING, one, []byte{}, nine)}, {4, int32(0)}, {5, listOf(thrift.I64, int64(0), int64(20), int64(3))},
		}
		place := func(at, row int64) structure { return structure{{1, at}, {2, int32(10)}, {3, row}} }
		offsets := structure{{1, structureList([]structure{place(4, 0), place(14, 10), place(24, 30)})}}
		c := &chunk{physical: typeInt64, numbers: wholeNumbers, meta: structure{{12, structure{{statNulls, int64(23)}, {statMax, nine}, {statMin, one}}}}}
		if change != nil {
			change(&index, &offsets, c)
		}
		a, err := index.encode()
		require.NoError(t, err)
		b, err := offsets.encode()
		require.NoError(t, err)
		c.columnIndex, c.offsetIndex = Rows{100, 100 + int64(len(a))}, Rows{500, 500 + int64(len(b))}
		return pageIndex{excerpt{c.columnIndex, a}, excerpt{c.offsetIndex, b}}.pages(c, 40)
	}
	require.Equal(t, map[int64]indexedPage{
		4: {Rows{0, 10}, stats{any: true, min: 1, max: 1}}, 14: {Rows{10, 30}, stats{nulls: 20}}, 24: {Rows{30, 40}, stats{any: true, min: 1, max: 9, nulls: 3}},
	}, pages(nil))
	for name, change := range map[string]change{
		"no counts of nulls":   func(index, _ *structure, _ *chunk) { *index = index.without(5) },
		"a list that is short": func(index, _ *structure, _ *chunk) { *index = index.with(3, listOf(thrift.STRING, one)) },
		"no places":            func(_, offsets *structure, _ *chunk) { *offsets = structure{} },
		"values in an empty page": func(index, _ *structure, _ *chunk) {
			*index = index.with(5, listOf(thrift.I64, int64(0), int64(19), int64(4)))
		},
		"more nulls than rows": func(index, _ *structure, _ *chunk) {
			*index = index.with(5, listOf(thrift.I64, int64(11), int64(20), int64(-8)))
		},
		"a bound of other width": func(index, _ *structure, _ *chunk) {
			*index = index.with(2, listOf(thrift.STRING, []byte{1}, []byte{}, one))
		},
		"bounds the wrong way": func(index, _ *structure, _ *chunk) {
			*index = index.with(2, listOf(thrift.STRING, nine, []byte{}, one))
		},
		"a maximum of the chunk": func(_, _ *structure, c *chunk) {
			c.meta = structure{{12, structure{{statNulls, int64(23)}, {statMax, one}, {statMin, one}}}}
		},
		"nulls of the chunk": func(_, _ *structure, c *chunk) {
			c.meta = structure{{12, structure{{statNulls, int64(22)}, {statMax, nine}, {statMin, one}}}}
		},
		"no statistics":        func(_, _ *structure, c *chunk) { c.meta = nil },
		"no column of numbers": func(_, _ *structure, c *chunk) { c.numbers = noNumbers },
		"rows that go back": func(_, offsets *structure, _ *chunk) {
			(*offsets)[0].value.(list).items[1].(structure)[2].value = int64(31)
		},
		"rows before the first": func(_, offsets *structure, _ *chunk) {
			(*offsets)[0].value.(list).items[0].(structure)[2].value = int64(1)
		},
		"two pages at one place": func(_, offsets *structure, _ *chunk) {
			(*offsets)[0].value.(list).items[1].(structure)[0].value = int64(4)
		},
		"a number where a list was": func(index, _ *structure, _ *chunk) { *index = index.with(1, int64(3)) },
	} {
		require.Nil(t, pages(change), name)
	}
}

// writtenFile is one of 12000 rows in many pages, with page indexes.
func writtenFile(t *testing.T, dictionary bool, fields []arrow.Field, fill func(b *array.RecordBuilder, i int)) []byte {
	t.Helper()
	schema := arrow.NewSchema(fields, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i := range 12000 {
		fill(b, i)
	}
	rows := b.NewRecordBatch()
	defer rows.Release()
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &out, parquet.NewWriterProperties(
		parquet.WithDictionaryDefault(dictionary), parquet.WithDataPageSize(400), parquet.WithDataPageVersion(parquet.DataPageV1),
		parquet.WithBatchSize(64), parquet.WithPageIndexEnabled(true),
	), pqarrow.DefaultWriterProps())
	require.NoError(t, err)
	require.NoError(t, w.Write(rows))
	require.NoError(t, w.Close())
	return out.Bytes()
}

// numbered is a file of one column, 0 to 11999.
func numbered(t *testing.T) []byte {
	t.Helper()
	return writtenFile(t, false, []arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, func(b *array.RecordBuilder, i int) {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
	})
}

// opened is a file, which has to be one.
func opened(t *testing.T, content []byte) *File {
	t.Helper()
	bucket := mem.New()
	require.NoError(t, bucket.Put(t.Context(), "f", bytes.NewReader(content), int64(len(content))))
	f, err := Open(t.Context(), bucket, "f", int64(len(content)))
	require.NoError(t, err)
	return f
}

// cutNumbered cuts the rows 5000 to 6999 out of a file, and returns the statistics of
// the two row groups that are left.
func cutNumbered(t *testing.T, content []byte) (first, second structure) {
	t.Helper()
	f := opened(t, content)
	later, err := os.Create(filepath.Join(t.TempDir(), "later"))
	require.NoError(t, err)
	defer later.Close()
	_, made, err := f.write(t.Context(), []Rows{{0, 5000}, {7000, 12000}}, newTarget(io.Discard, 1<<20), later)
	require.NoError(t, err)
	require.Len(t, made, 2)
	of := func(g structure) structure { return g.structures(1)[0].structure(3).structure(12) }
	return of(made[0]), of(made[1])
}

// A bound that an index gives and no value meets, which the format allows, is not taken
// for one that is met.
func TestIndexesWithLooseBounds(t *testing.T) {
	content := numbered(t)
	first, second := cutNumbered(t, content)
	require.Equal(t, stats{any: true, min: 0, max: 4999}.encode(typeInt64), first)
	require.Equal(t, stats{any: true, min: 7000, max: 11999}.encode(typeInt64), second)

	at := opened(t, content).groups[0].chunks[0].columnIndex
	index, _, err := decode(content[at.From:at.To])
	require.NoError(t, err)
	index.items(3)[10] = plain(8000, typeInt64) // in the first stretch, and below the chunk's
	loose, err := index.encode()
	require.NoError(t, err)
	require.Len(t, loose, int(at.Count()))
	copy(content[at.From:], loose)
	first, second = cutNumbered(t, content)
	require.Nil(t, first)
	require.Equal(t, stats{any: true, min: 7000, max: 11999}.encode(typeInt64), second)
}

// Indexes of two columns in one place, or behind the file, are no file that is cut.
func TestIndexesThatLieWrong(t *testing.T) {
	leaf := func(name string) structure { return structure{{1, int32(typeInt64)}, {3, int32(0)}, {4, []byte(name)}} }
	open := func(aColumn, aOffset, bColumn, bOffset int64) error {
		column := func(at, columnIndex, offsetIndex int64) structure {
			meta := structure{{1, int32(typeInt64)}, {2, list{of: thrift.I32}}, {4, int32(codecNone)}, {5, int64(10)}, {7, int64(10)}, {9, at}}
			return structure{{2, int64(0)}, {3, meta}, {4, offsetIndex}, {5, int32(10)}, {6, columnIndex}, {7, int32(10)}}
		}
		group := structure{{1, structureList([]structure{column(4, aColumn, aOffset), column(14, bColumn, bOffset)})}, {2, int64(0)}, {3, int64(10)}}
		f := &File{footer: structure{
			{2, structureList([]structure{{{4, []byte("schema")}, {5, int32(2)}}, leaf("a"), leaf("b")})}, {3, int64(10)}, {4, structureList([]structure{group})},
		}}
		return f.layOut(100)
	}
	require.NoError(t, open(30, 50, 40, 60))
	require.ErrorIs(t, open(30, 50, 30, 60), ErrNotCut, "in one place")
	require.ErrorIs(t, open(30, 50, 40, 55), ErrNotCut, "in each other")
	require.ErrorIs(t, open(30, 50, 40, 91), ErrNotCut, "in the footer")
	require.ErrorIs(t, open(4, 50, 40, 60), ErrNotCut, "in pages")
	require.NoError(t, open(30, 50, 1<<62, 60), "far away: as none")
}
