package worker

import (
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
)

// sentRows are the payloads of a stream with a batch of one row, as a child may send them.
func sentRows(t *testing.T, typ arrow.DataType, opts ...ipc.Option) (frames [][2][]byte) {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: typ, Nullable: true}}, nil)
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(`[{"v":"`+strings.Repeat("x", 200)+`"}]`))
	require.NoError(t, err)
	out := &capture{}
	w := ipc.NewWriterWithPayloadWriter(out, append(opts, ipc.WithSchema(schema))...)
	require.NoError(t, w.Write(batch))
	return out.frames
}

// capture keeps the payloads of an IPC writer.
type capture struct{ frames [][2][]byte }

func (*capture) Start() error { return nil }
func (*capture) Close() error { return nil }

func (c *capture) WritePayload(p ipc.Payload) error {
	var body bytes.Buffer
	if err := p.SerializeBody(&body); err != nil {
		return err
	}
	c.frames = append(c.frames, [2][]byte{bytes.Clone(p.Meta().Bytes()), body.Bytes()})
	return nil
}

// receiveRows reads what a child sent, and returns the number of rows and the bytes that were
// allocated.
func receiveRows(t *testing.T, frames [][2][]byte) (rows int64, taken uint64, err error) {
	t.Helper()
	ours, theirs, err := newPair()
	require.NoError(t, err)
	defer ours.close()
	child, err := wireOf(theirs)
	require.NoError(t, err)
	defer child.close()
	for _, f := range frames[1:] {
		require.NoError(t, child.send(kindRows, 1, f[0], f[1]))
	}
	require.NoError(t, child.conn.CloseWrite())
	taken = allocated(func() { rows, err = countRows(ours, frames[0][0]) })
	return rows, taken, err
}

func countRows(w *wire, schema []byte) (n int64, err error) {
	r, err := newRowReader(w, frame{kind: kindRows, head: schema}, w.receive)
	if err != nil {
		return 0, err
	}
	defer r.release()
	for {
		batch, err := r.read()
		if err != nil {
			return n, err
		}
		n += batch.NumRows()
		batch.Release()
	}
}

// TestRowsThatClaimMemory: the Arrow library allocates what messages claim, so a hostile child must
// not be able to pass it such claims.
func TestRowsThatClaimMemory(t *testing.T) {
	claim := func(b []byte, find, put uint64) []byte {
		at := bytes.LastIndex(b, binary.LittleEndian.AppendUint64(nil, find))
		require.GreaterOrEqual(t, at, 0)
		b = bytes.Clone(b)
		binary.LittleEndian.PutUint64(b[at:], put)
		return b
	}
	for name, opt := range map[string]ipc.Option{"LZ4": ipc.WithLZ4(), "Zstandard": ipc.WithZstd()} {
		t.Run(name, func(t *testing.T) {
			frames := sentRows(t, arrow.BinaryTypes.String, opt)
			frames[1][1] = claim(frames[1][1], 200, 1<<32)
			_, taken, err := receiveRows(t, frames)
			require.ErrorIs(t, err, errWire)
			require.Less(t, taken, uint64(1<<20))
		})
	}
	t.Run("fields", func(t *testing.T) {
		frames := sentRows(t, arrow.BinaryTypes.String)
		// The list of fields is the only vector of one element that a table follows.
		schema := frames[0][0]
		for at := 8; at+4 <= len(schema); at += 4 {
			if binary.LittleEndian.Uint32(schema[at:]) != 1 {
				continue
			}
			wrong := bytes.Clone(schema)
			binary.LittleEndian.PutUint32(wrong[at:], 1<<22)
			_, taken, err := receiveRows(t, [][2][]byte{{wrong, nil}, frames[1]})
			require.Error(t, err)
			require.Less(t, taken, uint64(1<<20))
		}
	})
}

// TestRowsAreAccepted checks streams that an honest child sends.
func TestRowsAreAccepted(t *testing.T) {
	for _, typ := range []arrow.DataType{arrow.BinaryTypes.String, arrow.BinaryTypes.StringView,
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}} {
		rows, _, err := receiveRows(t, sentRows(t, typ))
		require.ErrorIs(t, err, io.EOF)
		require.EqualValues(t, 1, rows)
	}
}
