package duckdb

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb/native"
)

var _ engine.Result = (*result)(nil)

// result is the running statement of a session. Its schema and columns are
// fixed; everything native in it is touched under the session's mutex.
type result struct {
	session   *session
	instance  *instance
	statement engine.Statement
	guard     *native.Guard
	cursor    *native.Cursor
	schema    *arrow.Schema
	columns   []engine.Column
	closed    bool
	err       error
}

func (r *result) Schema() *arrow.Schema { return r.schema }

func (r *result) Columns() []engine.Column { return r.columns }

func (r *result) Next(ctx context.Context) (arrow.RecordBatch, error) {
	defer r.guard.Also(ctx)()
	s := r.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.err != nil {
		return nil, r.err
	}
	if r.closed {
		return nil, engine.Interrupted(engine.CauseClosed)
	}
	if err := r.guard.Err(); err != nil {
		r.err = err
		return nil, err
	}
	batch, err := r.cursor.Next()
	if err != nil {
		r.err = s.note(r.instance.diagnose(r.statement, r.guard, r.guard.InterruptCause(err)))
		return nil, r.err
	}
	return batch, nil
}

func (r *result) Close() error {
	// A statement that still runs is stopped, and not waited for.
	r.guard.Trip(engine.CauseClosed)
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
	r.guard.End()
	r.cursor.Close()
	if r.session.active == r {
		r.session.active = nil
	}
}
