package parquetcut_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore/mem"
	"github.com/lakewarden/lakewarden/engine/parquetcut"
)

// sample is a small file of many pages, whose first and last rows make row groups of
// their own when its middle goes.
func sample(tb testing.TB, codec compress.Compression, dictionary bool) []byte {
	tb.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "s", Type: arrow.BinaryTypes.String},
		{Name: "b", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i := range 12000 {
		if i%7 == 0 {
			b.Field(0).AppendNull()
		} else {
			b.Field(0).(*array.Int64Builder).Append(int64(i / 20))
		}
		b.Field(1).(*array.StringBuilder).Append(strconv.Itoa(i % 30))
		b.Field(2).(*array.BooleanBuilder).Append(i%3 == 0)
	}
	rows := b.NewRecordBatch()
	defer rows.Release()
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &out, parquet.NewWriterProperties(
		parquet.WithCompression(codec), parquet.WithDictionaryDefault(dictionary), parquet.WithDataPageSize(400), parquet.WithDataPageVersion(parquet.DataPageV1), parquet.WithBatchSize(64),
		parquet.WithPageIndexEnabled(true),
	), pqarrow.DefaultWriterProps())
	require.NoError(tb, err)
	require.NoError(tb, w.Write(rows))
	require.NoError(tb, w.Close())
	return out.Bytes()
}

// cutAll makes both files of a gap in the middle of a file.
func cutAll(ctx context.Context, content []byte, from, count int64) (sizes []int64, err error) {
	bucket := mem.New()
	if err := bucket.Put(ctx, "f", bytes.NewReader(content), int64(len(content))); err != nil {
		return nil, err
	}
	f, err := parquetcut.Open(ctx, bucket, "f", int64(len(content)))
	if err != nil {
		return nil, err
	}
	gap, err := f.Gap(parquetcut.Rows{From: from, To: from + count}, 1)
	if err != nil {
		return nil, err
	}
	later, err := os.CreateTemp("", "parquetcut-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, later.Close(), os.Remove(later.Name())) }()
	for _, write := range []func() (int64, error){
		func() (int64, error) { return f.Only(ctx, gap, io.Discard) },
		func() (int64, error) {
			size, _, err := f.Without(ctx, gap, io.Discard, later)
			return size, err
		},
	} {
		size, err := write()
		if err != nil {
			return nil, err
		}
		sizes = append(sizes, size)
	}
	return sizes, nil
}

// FuzzCut: whatever stands in a file, it is cut or refused, in memory and space that
// follow from its length.
func FuzzCut(f *testing.F) {
	for _, codec := range []compress.Compression{compress.Codecs.Uncompressed, compress.Codecs.Zstd, compress.Codecs.Snappy, compress.Codecs.Gzip} {
		for _, dictionary := range []bool{true, false} {
			content := sample(f, codec, dictionary)
			sizes, err := cutAll(f.Context(), content, 5000, 100)
			require.NoError(f, err)
			require.Len(f, sizes, 2)
			f.Add(content, int64(5000), int64(100))
		}
	}
	f.Fuzz(func(t *testing.T, content []byte, from, count int64) {
		sizes, err := cutAll(t.Context(), content, from, count)
		if err != nil {
			require.ErrorIs(t, err, parquetcut.ErrNotCut)
			return
		}
		for _, size := range sizes {
			// Pages that were compressed well may be stored when they are cut.
			require.LessOrEqual(t, size, 4*int64(len(content))+256<<10)
		}
	})
}

// A file that is another one than its length says, or that ends amid its pages, is an
// error at once.
func TestFilesThatAreNoFiles(t *testing.T) {
	content := sample(t, compress.Codecs.Zstd, true)
	for name, b := range map[string][]byte{
		"empty": nil, "magic": []byte("PAR1"), "short": []byte("PAR1PAR1PAR1"), "no end": content[:len(content)-1],
		"only the footer": content[len(content)-3000:], "pages of zeros": append(make([]byte, len(content)-3000), content[len(content)-3000:]...),
		"text": bytes.Repeat([]byte("text"), 100),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := cutAll(t.Context(), b, 5000, 100)
			require.ErrorIs(t, err, parquetcut.ErrNotCut)
		})
	}
	_, err := cutAll(t.Context(), content, 0, 12000)
	require.ErrorIs(t, err, parquetcut.ErrNotCut, "nothing would be left")
	_, err = cutAll(t.Context(), content, 11999, 2)
	require.ErrorIs(t, err, parquetcut.ErrNotCut, "a row beyond the end")
}

// Where dictionaries are most of a file, each part of it would have them again: a row
// group is not cut then.
func TestDictionariesAreNotMultiplied(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i := range 20000 {
		b.Field(0).(*array.StringBuilder).Append(strconv.Itoa(i * 7919 % 20000))
	}
	rows := b.NewRecordBatch()
	defer rows.Release()
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &out, parquet.NewWriterProperties(
		parquet.WithDictionaryDefault(true), parquet.WithDataPageVersion(parquet.DataPageV1), parquet.WithDictionaryPageSizeLimit(64<<20),
	), pqarrow.DefaultWriterProps())
	require.NoError(t, err)
	require.NoError(t, w.Write(rows))
	require.NoError(t, w.Close())
	bucket := mem.New()
	require.NoError(t, bucket.Put(t.Context(), "f", bytes.NewReader(out.Bytes()), int64(out.Len())))
	f, err := parquetcut.Open(t.Context(), bucket, "f", int64(out.Len()))
	require.NoError(t, err)
	gap, err := f.Gap(parquetcut.Rows{From: 9000, To: 9100}, 1)
	require.NoError(t, err)
	require.Equal(t, parquetcut.Rows{From: 0, To: 20000}, gap)
	_, err = parquetcut.Open(t.Context(), bucket, "f", int64(out.Len())-1)
	require.ErrorIs(t, err, parquetcut.ErrNotCut, "the log and the store say other lengths")
}
