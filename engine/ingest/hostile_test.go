package ingest_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/ingest"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
)

// hostileTable takes what the bodies below hold.
var hostileTable = columns("a", "INTEGER", "b", "VARCHAR", "l", "STRUCT(x VARCHAR, y DOUBLE)[]", "m",
	"MAP(VARCHAR, BIGINT)", "d", "DECIMAL(10,2)", "v", "VARCHAR")

// hostileSeeds are small streams with every layout that is decoded.
func hostileSeeds(tb testing.TB) map[string][]byte {
	batch := jsonBatch(tb, `[{"a":1,"b":"x","l":[{"x":"p","y":1.5}],"m":[{"key":"k","value":7}],"d":"1.50","v":"longer than twelve bytes"},
		{"a":null,"b":"y","l":null,"m":null,"d":null,"v":null},{"a":3,"b":null,"l":[],"m":[],"d":"-2.00","v":"s"}]`,
		nullable("a", arrow.PrimitiveTypes.Int32),
		nullable("b", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}),
		nullable("l", arrow.LargeListOf(arrow.StructOf(nullable("x", arrow.BinaryTypes.String), nullable("y", arrow.PrimitiveTypes.Float64)))),
		nullable("m", arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64)),
		nullable("d", &arrow.Decimal128Type{Precision: 10, Scale: 2}),
		nullable("v", arrow.BinaryTypes.StringView))
	text := jsonBatch(tb, `[{"b":"`+strings.Repeat("x", 200)+`"},{"b":null}]`, nullable("b", arrow.BinaryTypes.String))
	return map[string][]byte{
		"plain":      arrowBody(tb, []arrow.RecordBatch{batch, batch}),
		"zstd":       arrowBody(tb, []arrow.RecordBatch{text}, ipc.WithZstd()),
		"lz4":        arrowBody(tb, []arrow.RecordBatch{text}, ipc.WithLZ4()),
		"dictionary": smallArrow(tb),
	}
}

// attempt stages a hostile body: whatever comes of it, memory stays bounded and
// the directory tells the truth.
func attempt(tb testing.TB, dir string, format staging.Format, body []byte) error {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	staged, err := ingest.Stage(tb.Context(), bytes.NewReader(body), ingest.Request{
		Format: format, Columns: hostileTable, Dir: dir,
		Limits: staging.Limits{BatchBytes: 1 << 20, RowBytes: 1 << 20, Rows: 10_000, Depth: 32},
	})
	runtime.ReadMemStats(&after)
	require.Less(tb, after.TotalAlloc-before.TotalAlloc, uint64(64<<20))
	if err == nil {
		require.NoError(tb, os.Remove(dir+"/"+staged.File))
	}
	requireEmpty(tb, dir)
	return err
}

// TestBytesOfArrowStreams: no byte of a stream does harm when it is another.
func TestBytesOfArrowStreams(t *testing.T) {
	dir := t.TempDir()
	for name, seed := range hostileSeeds(t) {
		require.NoError(t, attempt(t, dir, staging.Arrow, seed), name)
		for at := 0; at < len(seed); at += 3 { // the fuzz target goes on from here
			body := bytes.Clone(seed)
			body[at] = [...]byte{0, 0xFF, 0x7F, seed[at] + 1}[at%4]
			_ = attempt(t, dir, staging.Arrow, body) // may be valid
		}
	}
}

// TestOffsetsOfArrowSchemas: whatever the offsets of a schema point to, walking
// over it ends: cycles, shared parts and places outside of it.
func TestOffsetsOfArrowSchemas(t *testing.T) {
	seed := arrowBody(t, []arrow.RecordBatch{jsonBatch(t, `[{"l":[{"x":"p"}]}]`,
		nullable("l", arrow.ListOf(arrow.StructOf(nullable("x", arrow.BinaryTypes.String)))))})
	dir := t.TempDir()
	length := 8 + int(binary.LittleEndian.Uint32(seed[4:]))
	for at := 8; at+4 <= length; at += 4 {
		for target := 8; target < length; target += 16 {
			body := bytes.Clone(seed)
			binary.LittleEndian.PutUint32(body[at:], uint32(target-at))
			_ = attempt(t, dir, staging.Arrow, body) // may be valid
		}
	}
}

// TestArrowClaims: what a message merely claims is not believed.
func TestArrowClaims(t *testing.T) {
	dir := t.TempDir()
	seeds := hostileSeeds(t)
	claim := func(seed []byte, find, put int64) []byte {
		old, body := binary.LittleEndian.AppendUint64(nil, uint64(find)), bytes.Clone(seed)
		at := bytes.LastIndex(body, old)
		require.GreaterOrEqual(t, at, 0)
		binary.LittleEndian.PutUint64(body[at:], uint64(put))
		return body
	}
	prefix := func(words ...uint32) []byte {
		var out []byte
		for _, w := range words {
			out = binary.LittleEndian.AppendUint32(out, w)
		}
		return out
	}
	nested := arrow.PrimitiveTypes.Int8
	for range 60 {
		nested = arrow.ListOf(nested)
	}
	deep := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{nullable("l", nested)}, nil),
		[]arrow.Array{array.NewBuilder(memory.DefaultAllocator, nested).NewArray()}, 0)
	zstd := bytes.Index(seeds["zstd"], []byte{0x28, 0xB5, 0x2F, 0xFD})
	window := bytes.Clone(seeds["zstd"])
	window[zstd+4], window[zstd+5] = window[zstd+4]&^0xE0, 0xA0 // no single segment, a window of a GiB
	cases := []struct {
		name string
		body []byte
		want error
	}{
		{"endless metadata", prefix(0xFFFFFFFF, 0x7FFFFFFF), nil},
		{"negative metadata", prefix(0xFFFFFFFF, 0xFFFFFFF0), nil},
		{"metadata that is not there", prefix(0xFFFFFFFF, 8<<20), staging.ErrTruncated},
		{"metadata of zeros", append(prefix(0xFFFFFFFF, 64), make([]byte, 64)...), nil},
		{"end without schema", prefix(0xFFFFFFFF, 0), nil},
		{"bytes after the end", append(bytes.Clone(seeds["plain"]), 0), nil},
		{"no mark of the end", seeds["plain"][:len(seeds["plain"])-8], staging.ErrTruncated},
		{"uncompressed size", claim(seeds["zstd"], 200, 1<<40), staging.ErrTooLarge},
		{"negative uncompressed size", claim(seeds["zstd"], 200, -2), nil},
		{"LZ4 size", claim(seeds["lz4"], 200, 1<<40), staging.ErrTooLarge},
		{"Zstandard window", window, staging.ErrTooLarge},
		{"deep schema", arrowBody(t, []arrow.RecordBatch{deep}), staging.ErrTooDeep},
		{"file format", append([]byte("ARROW1\x00\x00"), seeds["plain"]...), nil},
		{"Parquet", []byte("PAR1aaaaPAR1"), nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := attempt(t, dir, staging.Arrow, c.body)
			if c.want != nil {
				require.ErrorIs(t, err, c.want)
				return
			}
			var syntax *staging.SyntaxError
			require.ErrorAs(t, err, &syntax)
			require.Equal(t, staging.Arrow, syntax.Format)
		})
	}
}

// TestArrowValuesOutside: offsets and indexes that leave their arrays, and texts
// that are none.
func TestArrowValuesOutside(t *testing.T) {
	int32s := func(v ...int32) *memory.Buffer { return memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(v)) }
	list := arrow.ListOf(arrow.PrimitiveTypes.Int32)
	numbers := array.NewData(arrow.PrimitiveTypes.Int32, 1, []*memory.Buffer{nil, int32s(7)}, nil, 0, 0)
	words := array.NewData(arrow.BinaryTypes.String, 1, []*memory.Buffer{nil, int32s(0, 1), memory.NewBufferBytes([]byte("x"))}, nil, 0, 0)
	dictionary := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
	runs := func(ends ...int32) *array.Data {
		return array.NewData(arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String), 4, []*memory.Buffer{nil},
			[]arrow.ArrayData{
				array.NewData(arrow.PrimitiveTypes.Int32, len(ends), []*memory.Buffer{nil, int32s(ends...)}, nil, 0, 0),
				array.NewData(arrow.BinaryTypes.String, 3, []*memory.Buffer{nil, int32s(0, 1, 2, 3), memory.NewBufferBytes([]byte("xyz"))}, nil, 0, 0),
			}, 0, 0)
	}
	cases := map[string]*array.Data{
		"runs that go back":         runs(3, 1, 4),
		"a run of no row":           runs(2, 2, 4),
		"a run that ends before it": runs(-1, 2, 4),
		"text beyond its bytes": array.NewData(arrow.BinaryTypes.String, 2,
			[]*memory.Buffer{nil, int32s(0, 100, 1), memory.NewBufferBytes([]byte("x"))}, nil, 0, 0),
		"text that ends before it begins": array.NewData(arrow.BinaryTypes.String, 2,
			[]*memory.Buffer{nil, int32s(0, -1, 1), memory.NewBufferBytes([]byte("x"))}, nil, 0, 0),
		"list beyond its elements":        array.NewData(list, 2, []*memory.Buffer{nil, int32s(0, 100, 1)}, []arrow.ArrayData{numbers}, 0, 0),
		"list that ends before it begins": array.NewData(list, 2, []*memory.Buffer{nil, int32s(0, -5, 1)}, []arrow.ArrayData{numbers}, 0, 0),
		"index beyond the dictionary":     array.NewDataWithDictionary(dictionary, 1, []*memory.Buffer{nil, int32s(9)}, 0, 0, words),
		"negative index":                  array.NewDataWithDictionary(dictionary, 1, []*memory.Buffer{nil, int32s(-1)}, 0, 0, words),
	}
	for name, data := range cases {
		t.Run(name, func(t *testing.T) {
			typ := "VARCHAR"
			if data.DataType().ID() == arrow.LIST {
				typ = "INTEGER[]"
			}
			values := array.MakeFromData(data)
			batch := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{nullable("v", values.DataType())}, nil),
				[]arrow.Array{values}, int64(values.Len()))
			_, err := stage(t, string(arrowBody(t, []arrow.RecordBatch{batch})), ingest.Request{Format: staging.Arrow, Columns: columns("v", typ)})
			var syntax *staging.SyntaxError
			require.ErrorAs(t, err, &syntax)
		})
	}
	binary := array.NewData(arrow.BinaryTypes.String, 1, []*memory.Buffer{nil, int32s(0, 1), memory.NewBufferBytes([]byte{0xFF})}, nil, 0, 0)
	values := array.MakeFromData(binary)
	batch := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{nullable("v", values.DataType())}, nil), []arrow.Array{values}, 1)
	_, err := stage(t, string(arrowBody(t, []arrow.RecordBatch{batch})),
		ingest.Request{Format: staging.Arrow, Columns: columns("v", "VARCHAR")})
	require.Equal(t, []string{"rows[0].v: text is not UTF-8"}, problems(t, err))
}

// TestExpansion: a small stream cannot become rows or files beyond the limits.
func TestExpansion(t *testing.T) {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		nullable("v", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String})}, nil))
	text := strings.Repeat("x", 1<<20)
	for range 40 {
		require.NoError(t, b.Field(0).(*array.BinaryDictionaryBuilder).AppendString(text))
	}
	body := arrowBody(t, []arrow.RecordBatch{b.NewRecordBatch()})
	req := ingest.Request{Format: staging.Arrow, Columns: columns("v", "VARCHAR"), Limits: staging.Limits{RowBytes: 1<<20 - 1}}
	_, err := stage(t, string(body), req)
	require.ErrorIs(t, err, staging.ErrTooLarge)
	req.Limits = staging.Limits{StagedBytes: 1 << 20} // repeated text is staged compressed
	_, err = stage(t, string(body), req)
	require.ErrorIs(t, err, staging.ErrTooLarge)
}

// endless is a body that goes on until size bytes were read.
type endless struct {
	head, line string
	size, read int
	buf        []byte
	peak       uint64
}

func (e *endless) Read(p []byte) (int, error) {
	if e.buf == nil {
		e.buf = []byte(e.head + strings.Repeat(e.line, 1<<20/len(e.line)))
	}
	if e.read%(16<<20) < len(p) {
		var now runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&now)
		e.peak = max(e.peak, now.HeapAlloc)
	}
	if e.read >= e.size {
		return 0, fmt.Errorf("enough: %w", context.Canceled)
	}
	at := e.read
	if at >= len(e.buf) {
		at = len(e.head) + (e.read-len(e.head))%(len(e.buf)-len(e.head))
	}
	n := copy(p, e.buf[at:])
	e.read += n
	return n, nil
}

// TestMemory: 128 MB of rows pass through a bounded heap.
func TestMemory(t *testing.T) {
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	body := &endless{line: `{"order_id":123456,"price":12.5,"mode":"AIR","comment":"` + strings.Repeat("carefully ", 200) +
		`"}` + "\n", size: 128 << 20}
	dir := t.TempDir()
	_, err := ingest.Stage(t.Context(), body, ingest.Request{Format: staging.NDJSON, Columns: benchColumns, Dir: dir})
	require.ErrorIs(t, err, context.Canceled)
	requireEmpty(t, dir)
	require.Less(t, body.peak-min(before.HeapAlloc, body.peak), uint64(64<<20))
}
