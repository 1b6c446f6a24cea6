package worker

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakewarden/lakewarden/engine/arrowcheck"
)

// rowReader decodes the frames of one result into record batches. Their arrays refer to the buffer
// into which the socket was read.
type rowReader struct {
	frames *rowFrames
	ipc    *ipc.Reader
}

// newRowReader reads the schema from first, a kindColumns frame. next returns each later frame, or
// io.EOF or the error that ended the result.
func newRowReader(w *wire, first frame, next func() (frame, error)) (*rowReader, error) {
	frames := &rowFrames{wire: w, first: &first, next: next, check: arrowcheck.NewStream(arrowcheck.Rules{
		Depth: maxDepth, BatchBytes: maxBody, Unions: true,
	})}
	r, err := ipc.NewReaderFromMessageReader(frames, ipc.WithAllocator(pooled))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errWire, err)
	}
	return &rowReader{frames: frames, ipc: r}, nil
}

func (r *rowReader) schema() *arrow.Schema { return r.ipc.Schema() }

// read returns the next batch, which the caller releases, or the error that ended the result. Other
// errors wrap errWire.
func (r *rowReader) read() (arrow.RecordBatch, error) {
	batch, err := r.ipc.Read()
	switch {
	case err == nil:
		batch.Retain()
		return batch, nil
	case r.frames.ended != nil:
		return nil, r.frames.ended
	}
	return nil, fmt.Errorf("%w: %w", errWire, err)
}

func (r *rowReader) release() { r.ipc.Release() }

// maxDepth bounds the nesting of columns, as the Arrow library does.
const maxDepth = 64

// rowFrames supplies messages to the IPC reader, each after a check.
type rowFrames struct {
	wire  *wire
	check *arrowcheck.Stream
	first *frame
	next  func() (frame, error)
	last  *ipc.Message
	// ended is the reason why there are no more messages.
	ended error
}

var _ ipc.MessageReader = (*rowFrames)(nil)

// Message implements ipc.MessageReader. The message is valid until the next call.
func (f *rowFrames) Message() (*ipc.Message, error) {
	f.Release()
	var fr frame
	if f.first != nil {
		fr, f.first = *f.first, nil
	} else if fr, f.ended = f.next(); f.ended != nil {
		return nil, f.ended
	}
	body := memory.NewResizableBuffer(pooled)
	defer body.Release()
	body.Resize(int(fr.body))
	if err := f.wire.fill(body.Bytes()); err != nil {
		f.ended = err
		return nil, err
	}
	m, err := arrowcheck.ReadMessage(fr.head)
	if err == nil {
		err = f.check.Check(m, body.Bytes())
	}
	if err != nil {
		return nil, err
	}
	meta := memory.NewBufferBytes(fr.head)
	defer meta.Release()
	f.last = ipc.NewMessage(meta, body)
	return f.last, nil
}

// Retain implements ipc.MessageReader. It does nothing, because there is one owner.
func (f *rowFrames) Retain() {}

// Release implements ipc.MessageReader.
func (f *rowFrames) Release() {
	if f.last != nil {
		f.last.Release()
		f.last = nil
	}
}
