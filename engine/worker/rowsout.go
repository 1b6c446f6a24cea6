package worker

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakewarden/lakewarden/engine"
)

// holdColumns prepares the frame that precedes the rows: the schema as an IPC message, and the
// columns with their SQL types. An engine that returned a result has its first rows ready, so the
// frame is sent together with them.
func holdColumns(w *wire, seq uint32, r engine.Result) error {
	schema := ipc.GetSchemaPayload(r.Schema(), memory.DefaultAllocator)
	defer schema.Release()
	return holdReply(w, kindColumns, seq, encode(columnsMessage{schema.Meta().Bytes(), r.Columns()}))
}

// holdReply prepares a frame of a reply, unless the parent would refuse it.
func holdReply(w *wire, k kind, seq uint32, head []byte) error {
	if len(head) > maxReply {
		return replySizeError()
	}
	w.hold(k, seq, head)
	return nil
}

func replySizeError() error {
	return internalError("reply_size", "the columns of a result or of a file are too large for a message")
}

// rowWriter sends record batches.
type rowWriter struct {
	out *rowPayloads
	ipc *ipc.Writer
}

func newRowWriter(w *wire, seq uint32, schema *arrow.Schema) *rowWriter {
	out := &rowPayloads{wire: w, seq: seq}
	return &rowWriter{out: out, ipc: ipc.NewWriterWithPayloadWriter(out, ipc.WithSchema(schema))}
}

// write sends batch. lost reports that the socket failed.
func (r *rowWriter) write(batch arrow.RecordBatch) (lost bool, err error) {
	err = r.ipc.Write(batch)
	return r.out.failed != nil, err
}

func (r *rowWriter) close() { _ = r.ipc.Close() }

// rowPayloads sends the output of the IPC writer for a batch, one frame for each payload.
type rowPayloads struct {
	wire *wire
	seq  uint32
	// begun reports that the schema, which the IPC writer sends first, was sent already.
	begun  bool
	parts  gather
	failed error
}

var _ ipc.PayloadWriter = (*rowPayloads)(nil)

// Start implements ipc.PayloadWriter.
func (p *rowPayloads) Start() error { return nil }

// WritePayload implements ipc.PayloadWriter.
func (p *rowPayloads) WritePayload(payload ipc.Payload) error {
	if !p.begun {
		p.begun = true
		return nil
	}
	p.parts = p.parts[:0]
	if err := payload.SerializeBody(&p.parts); err != nil {
		return err
	}
	if p.parts.size() > maxBody {
		return &engine.Error{Kind: engine.KindOutOfMemory, Class: "batch_size", Position: -1}
	}
	if payload.Meta().Len() > maxReply {
		return replySizeError()
	}
	p.failed = p.wire.send(kindRows, p.seq, payload.Meta().Bytes(), p.parts...)
	return p.failed
}

// Close implements ipc.PayloadWriter.
func (p *rowPayloads) Close() error { return nil }

// gather collects the slices that are written to it, without copying them.
type gather [][]byte

// Write implements io.Writer.
func (g *gather) Write(b []byte) (int, error) {
	*g = append(*g, b)
	return len(b), nil
}

func (g gather) size() int {
	n := 0
	for _, b := range g {
		n += len(b)
	}
	return n
}
