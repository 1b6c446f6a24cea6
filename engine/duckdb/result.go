package duckdb

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakewarden/lakewarden/engine"
)

var _ engine.Result = (*result)(nil)

// result is the running statement of a session. Its schema and columns are
// fixed; everything native in it is touched under the session's mutex.
type result struct {
	session *session
	guard   *guard
	cursor  *cursor
	schema  *arrow.Schema
	columns []engine.Column
	closed  bool
	err     error
}

func (r *result) Schema() *arrow.Schema { return r.schema }

func (r *result) Columns() []engine.Column { return r.columns }

func (r *result) Next(ctx context.Context) (arrow.RecordBatch, error) {
	defer r.guard.also(ctx)()
	s := r.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.err != nil {
		return nil, r.err
	}
	if r.closed {
		return nil, engine.Interrupted(engine.CauseClosed)
	}
	if err := r.guard.err(); err != nil {
		r.err = err
		return nil, err
	}
	batch, err := r.cursor.next()
	if err != nil {
		r.err = s.note(r.guard.judge(err))
		return nil, r.err
	}
	return batch, nil
}

func (r *result) Close() error {
	// A statement that still runs is stopped, and not waited for.
	r.guard.trip(engine.CauseClosed)
	r.session.mu.Lock()
	defer r.session.mu.Unlock()
	r.release()
	return nil
}

// release frees the statement and makes the session ready for the next one. The
// caller holds the session's mutex.
func (r *result) release() {
	if r.closed {
		return
	}
	r.closed = true
	r.guard.end()
	r.cursor.close()
	if r.session.active == r {
		r.session.active = nil
	}
}
