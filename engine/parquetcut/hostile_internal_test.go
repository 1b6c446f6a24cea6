package parquetcut

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

// bend is a structure of which each value was changed with a chance.
func bend(r *rand.Rand, value any, chance float64) any {
	numbers := []int64{math.MinInt64, math.MaxInt64, math.MaxInt32, -1, 0, 1, 2, 6, 10, 400, 5000, 12000, 1 << 40}
	hit := r.Float64() < chance
	switch v := value.(type) {
	case structure:
		var out structure
		for _, f := range v {
			if r.Float64() >= chance/4 {
				out = append(out, field{f.id, bend(r, f.value, chance)})
			}
		}
		return out
	case list:
		out := list{of: v.of}
		for _, item := range v.items {
			for n := r.Float64(); n >= chance/4; n = 0 {
				out.items = append(out.items, bend(r, item, chance))
				if n < 1-chance/4 {
					break
				}
			}
		}
		return out
	case int32:
		if hit {
			return int32(numbers[r.IntN(len(numbers))]) //nolint:gosec // cut off on purpose
		}
	case int64:
		if hit {
			return numbers[r.IntN(len(numbers))]
		}
	case bool:
		return v != hit
	case []byte:
		if hit {
			out := bytes.Clone(v)
			r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
			return out[:r.IntN(len(out)+1)]
		}
	}
	return value
}

// bent is a file whose footer and page indexes were bent, and some of whose pages.
func bent(t *testing.T, r *rand.Rand, content []byte) []byte {
	t.Helper()
	n := int(binary.LittleEndian.Uint32(content[len(content)-8:]))
	footer, _, err := decode(content[len(content)-8-n : len(content)-8])
	require.NoError(t, err)
	body := bytes.Clone(content[:len(content)-8-n])
	chances := []float64{0, 0.003, 0.03}
	group := footer.structures(4)[0]
	columns := group.structures(1)
	for i, c := range columns {
		for _, id := range []int16{6, 4} {
			index, _, err := decode(content[c.number(id, 0) : c.number(id, 0)+c.number(id+1, 0)])
			require.NoError(t, err)
			b, err := bend(r, index, chances[r.IntN(3)]).(structure).encode()
			require.NoError(t, err)
			c = c.with(id, int64(len(body))).with(id+1, int32(len(b))) //nolint:gosec // small
			body = append(body, b...)
		}
		columns[i] = c
	}
	footer = footer.with(4, structureList([]structure{group.with(1, structureList(columns))}))
	end, err := bend(r, footer, chances[r.IntN(3)]).(structure).encode()
	require.NoError(t, err)
	for range r.IntN(3) {
		body[4+r.IntN(len(body)-4)] ^= 1 << r.IntN(8)
	}
	body = binary.LittleEndian.AppendUint32(append(body, end...), uint32(len(end))) //nolint:gosec // small
	return append(body, magic...)
}

// Whatever a footer and the page indexes say, a file is cut or refused, and no bounds are
// told that cannot be.
func TestFilesThatAreBent(t *testing.T) {
	fields := []arrow.Field{
		{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "d", Type: arrow.FixedWidthTypes.Date32},
		{Name: "s", Type: arrow.BinaryTypes.String}, {Name: "none", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	}
	fill := func(b *array.RecordBuilder, i int) {
		if i%7 == 0 {
			b.Field(0).AppendNull()
		} else {
			b.Field(0).(*array.Int64Builder).Append(int64(i / 20))
		}
		b.Field(1).(*array.Date32Builder).Append(arrow.Date32(i % 400))
		b.Field(2).(*array.StringBuilder).Append("text"[:i%5])
		b.Field(3).AppendNull()
	}
	later, err := os.Create(t.TempDir() + "/later")
	require.NoError(t, err)
	defer later.Close()
	r := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // reproducible
	cut, known := 0, 0
	for _, dictionary := range []bool{true, false} {
		content := writtenFile(t, dictionary, fields, fill)
		for range 1500 {
			b := bent(t, r, content)
			bucket := mem.New()
			require.NoError(t, bucket.Put(t.Context(), "f", bytes.NewReader(b), int64(len(b))))
			f, err := Open(t.Context(), bucket, "f", int64(len(b)))
			if err != nil {
				require.ErrorIs(t, err, ErrNotCut)
				continue
			}
			gap, err := f.Gap(Rows{5000, 5100}, 1)
			if err != nil {
				require.ErrorIs(t, err, ErrNotCut)
				continue
			}
			if _, err = f.Only(t.Context(), gap, io.Discard); err != nil {
				require.ErrorIs(t, err, ErrNotCut)
			}
			require.NoError(t, later.Truncate(0))
			_, err = later.Seek(0, io.SeekStart)
			require.NoError(t, err)
			_, bounds, err := f.Without(t.Context(), gap, io.Discard, later)
			if err != nil {
				require.ErrorIs(t, err, ErrNotCut)
				continue
			}
			cut++
			for _, b := range bounds {
				known++
				require.True(t, b.Nulls >= 0 && b.Nulls <= f.Rows()-gap.Count(), "%+v", b)
				require.Equal(t, b.Nulls == f.Rows()-gap.Count(), b.Min == nil)
				require.True(t, b.Min == nil || *b.Min <= *b.Max, "%+v", b)
			}
		}
	}
	t.Logf("%d files cut, %d columns with bounds", cut, known)
	require.Greater(t, cut, 500)
	require.Greater(t, known, 500)
}

// A chunk that has another type than its column is none that is cut.
func TestColumnsOfTwoTypes(t *testing.T) {
	content := numbered(t)
	f := opened(t, content)
	group := f.footer.structures(4)[0]
	column := group.structures(1)[0]
	for _, other := range []int32{typeInt32, typeByteArray, typeBoolean} {
		column := column.with(3, column.structure(3).with(1, other))
		f := &File{footer: f.footer.with(4, structureList([]structure{group.with(1, structureList([]structure{column}))}))}
		require.ErrorIs(t, f.layOut(int64(len(content))), ErrNotCut)
	}
}

// Dictionaries that are a fair part of a row group stand in both of its parts.
func TestDictionariesMayStandTwice(t *testing.T) {
	const distinct = 100_000
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	b := array.NewInt64Builder(memory.DefaultAllocator)
	defer b.Release()
	for i := range int64(1_500_000) {
		b.Append(i * 7919 % distinct)
	}
	column := b.NewInt64Array()
	defer column.Release()
	rows := array.NewRecordBatch(schema, []arrow.Array{column}, int64(column.Len()))
	defer rows.Release()
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &out, parquet.NewWriterProperties(
		parquet.WithMaxRowGroupLength(1<<30), parquet.WithDictionaryPageSizeLimit(8<<20), parquet.WithDataPageVersion(parquet.DataPageV1),
	), pqarrow.DefaultWriterProps())
	require.NoError(t, err)
	require.NoError(t, w.Write(rows))
	require.NoError(t, w.Close())
	f := opened(t, out.Bytes())
	require.Greater(t, f.groups[0].dictionaries(), f.size/growthShare+growth, "less would be nothing to tell")
	gap, err := f.Gap(Rows{700_000, 700_100}, 1)
	require.NoError(t, err)
	require.Equal(t, Rows{700_000, 700_100}, gap)
	later, err := os.Create(t.TempDir() + "/later")
	require.NoError(t, err)
	defer later.Close()
	size, _, err := f.Without(t.Context(), gap, io.Discard, later)
	require.NoError(t, err)
	require.Greater(t, size, f.size)
}
