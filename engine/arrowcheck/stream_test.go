package arrowcheck_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/arrowcheck"
)

// recorder checks what an IPC writer sends.
type recorder struct {
	stream *arrowcheck.Stream
	err    error
}

func (*recorder) Start() error { return nil }
func (*recorder) Close() error { return nil }

func (r *recorder) WritePayload(p ipc.Payload) error {
	var body bytes.Buffer
	if err := p.SerializeBody(&body); err != nil {
		return err
	}
	m, err := arrowcheck.ReadMessage(bytes.Clone(p.Meta().Bytes()))
	if err == nil {
		err = r.stream.Check(m, body.Bytes())
	}
	if r.err == nil {
		r.err = err
	}
	return nil
}

// check returns the first error about a stream with one batch.
func check(t *testing.T, rules arrowcheck.Rules, batch arrow.RecordBatch, opts ...ipc.Option) error {
	t.Helper()
	r := &recorder{stream: arrowcheck.NewStream(rules)}
	w := ipc.NewWriterWithPayloadWriter(r, append(opts, ipc.WithSchema(batch.Schema()))...)
	require.NoError(t, w.Write(batch))
	return r.err
}

func batchOf(t *testing.T, typ arrow.DataType, rows string) arrow.RecordBatch {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: typ, Nullable: true}}, nil)
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(rows))
	require.NoError(t, err)
	return batch
}

// TestRules checks that each rule refuses what it should, and that the streams are accepted otherwise.
func TestRules(t *testing.T) {
	text := batchOf(t, arrow.BinaryTypes.String, `[{"v":"`+strings.Repeat("x", 4096)+`"}]`)
	dictionary := batchOf(t, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String},
		`[{"v":"`+strings.Repeat("x", 4096)+`"}]`)
	list := batchOf(t, arrow.ListOf(arrow.ListOf(arrow.PrimitiveTypes.Int8)), `[{"v":[[1]]}]`)
	one := arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.SparseUnionOf(
		[]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int8}}, []arrow.UnionTypeCode{0})}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, one)
	u := b.Field(0).(*array.SparseUnionBuilder)
	u.Append(0)
	u.Child(0).(*array.Int8Builder).Append(1)
	union := b.NewRecordBatch()
	all := arrowcheck.Rules{Depth: 64, BatchBytes: 1 << 20, Compressed: true, Unions: true}
	for name, c := range map[string]struct {
		batch   arrow.RecordBatch
		opts    []ipc.Option
		lacking func(*arrowcheck.Rules)
		want    error
	}{
		"depth":         {list, nil, func(r *arrowcheck.Rules) { r.Depth = 1 }, arrowcheck.ErrTooDeep},
		"batch bytes":   {text, nil, func(r *arrowcheck.Rules) { r.BatchBytes = 4096 }, arrowcheck.ErrTooLarge},
		"decompressed":  {text, []ipc.Option{ipc.WithZstd()}, func(r *arrowcheck.Rules) { r.BatchBytes = 4096 }, arrowcheck.ErrTooLarge},
		"dictionaries":  {dictionary, nil, func(r *arrowcheck.Rules) { r.BatchBytes = 4096 }, arrowcheck.ErrTooLarge},
		"unions":        {union, nil, func(r *arrowcheck.Rules) { r.Unions = false }, nil},
		"compressed":    {text, []ipc.Option{ipc.WithLZ4()}, func(r *arrowcheck.Rules) { r.Compressed = false }, nil},
		"in dictionary": {dictionary, []ipc.Option{ipc.WithZstd()}, func(r *arrowcheck.Rules) { r.Compressed = false }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, check(t, all, c.batch, c.opts...))
			rules := all
			c.lacking(&rules)
			err := check(t, rules, c.batch, c.opts...)
			require.Error(t, err)
			if c.want != nil {
				require.ErrorIs(t, err, c.want)
			}
		})
	}
}

// TestAnyBytes checks that no metadata makes the check panic.
func TestAnyBytes(t *testing.T) {
	for _, meta := range [][]byte{nil, {}, make([]byte, 3), make([]byte, 64), bytes.Repeat([]byte{0xFF}, 64)} {
		_, err := arrowcheck.ReadMessage(meta)
		require.Error(t, err)
	}
	require.Error(t, arrowcheck.NewStream(arrowcheck.Rules{}).Check(arrowcheck.Message{}, nil))
}
