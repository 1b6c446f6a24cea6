package worker

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakewarden/lakewarden/engine"
)

var _ engine.Result = (*result)(nil)

// result reads the rows of a statement from its link. The session's mutex guards all fields except
// schema and columns.
type result struct {
	session *session
	call    *call
	rows    *rowReader
	columns []engine.Column
	// most is the size in bytes of the largest batch that the child can have held.
	most   int64
	closed bool
	err    error
}

// newResult reads the frame that precedes the rows.
func newResult(s *session, c *call, f frame) (*result, error) {
	var m columnsMessage
	if decodeReply(f.head, &m) != nil || f.body != 0 {
		return nil, c.lose(errWire)
	}
	r := &result{session: s, call: c, columns: m.Columns, most: s.link.account.leased + s.owner.opts.BaseMemory}
	rows, err := newRowReader(c.link.wire, frame{kind: kindRows, head: m.Schema}, r.frame)
	if err != nil {
		return nil, c.lose(err)
	}
	if !describes(m.Columns, rows.schema()) {
		rows.release()
		return nil, c.lose(errWire)
	}
	r.rows = rows
	return r, nil
}

// describes reports whether columns has one column for each field of schema, and each
// column has a type. A hostile child may send anything else.
func describes(columns []engine.Column, schema *arrow.Schema) bool {
	return len(columns) == schema.NumFields() && !slices.ContainsFunc(columns, func(c engine.Column) bool { return c.Type == nil })
}

// frame returns the next frame of rows, or the error that ended the result.
func (r *result) frame() (frame, error) {
	f, done, err := r.call.receive()
	switch {
	case err != nil:
		return f, err
	case done:
		return f, io.EOF
	case f.kind != kindRows || f.body > r.most:
		return f, r.call.lose(errWire)
	}
	return f, nil
}

func (r *result) Schema() *arrow.Schema { return r.rows.schema() }

func (r *result) Columns() []engine.Column { return r.columns }

func (r *result) Next(ctx context.Context) (arrow.RecordBatch, error) {
	// The statement's own context is being watched already.
	if ctx.Done() != r.call.ctx.Done() {
		defer context.AfterFunc(ctx, func() { r.call.stop(engine.CauseContext) })()
	}
	r.session.mu.Lock()
	defer r.session.mu.Unlock()
	switch {
	case r.err != nil:
		return nil, r.err
	case r.closed:
		return nil, engine.Interrupted(engine.CauseClosed)
	}
	if err := r.call.stopped(); err != nil {
		r.err = err
		return nil, err
	}
	batch, err := r.read()
	if err != nil {
		r.err = err
		if !errors.Is(err, io.EOF) {
			r.err = r.session.note(err)
		}
		return nil, r.err
	}
	return batch, nil
}

func (r *result) read() (arrow.RecordBatch, error) {
	defer r.call.attend()()
	batch, err := r.rows.read()
	switch {
	case err == nil || errors.Is(err, io.EOF):
		return batch, err
	case r.call.ended():
		return nil, err
	}
	return nil, r.call.lose(err)
}

func (r *result) Close() error {
	// A running statement is stopped. If that is impossible, its process is killed.
	r.call.stop(engine.CauseClosed)
	r.session.mu.Lock()
	defer r.session.mu.Unlock()
	r.release()
	return nil
}

// release ends the statement so that the session can run the next one. The caller holds the
// session's mutex.
func (r *result) release() {
	if r.closed {
		return
	}
	r.closed = true
	r.call.stop(engine.CauseClosed)
	if !r.call.ended() {
		r.call.drain()
	}
	r.rows.release()
	s := r.session
	s.current.Store(nil)
	s.link.proc.finish(&s.link.account)
	if s.link.lost || s.link.broken {
		s.broken.Store(true)
	}
	if s.active == r {
		s.active = nil
	}
}
