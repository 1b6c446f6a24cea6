package query

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/revocation"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/sessions"
)

// Rows is a running statement: an engine.Result that releases its session and writes an audit
// entry when it is closed.
type Rows struct {
	engine.Result
	// ID names the statement in replies, logs and the audit log.
	ID string
	// Queued is how long it waited for its turn.
	Queued time.Duration

	actor   caller.Identity
	audit   *caller.Auditor
	metrics *Metrics
	sql     string
	started time.Time
	ctx     context.Context // of the statement; ends with its deadline
	alive   context.Context // see Context
	cancel  context.CancelFunc
	// stop ends alive.
	stop    context.CancelCauseFunc
	held    *sessions.Held
	explain func(error) error
	// again starts the statement a second time; nil if that is no longer possible.
	again *restart
	// lost reports that the statement failed for a reason outside of it.
	lost   bool
	tables []readTable
	// work ends the statement when its basis changes.
	work   *revocation.Work
	basis  access.Basis
	rows   int64
	err    error
	finish sync.Once
	// finished reports that the session was released.
	finished bool
}

var _ engine.Result = (*Rows)(nil)

// Next returns the next batch or io.EOF. Errors hold no text of the engine. It ends
// with the context of [Service.Run], whatever context it is given. After a defect of the engine
// the first call starts the statement a second time.
func (r *Rows) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if err := revocation.EndedBy(r.ctx, nil); err != nil {
		r.err = err
		return nil, err
	}
	batch, err := r.Result.Next(r.ctx)
	if err == nil {
		r.rows += batch.NumRows()
		return batch, nil
	}
	if !errors.Is(err, io.EOF) {
		r.lost = r.again != nil && r.again.wanted(err)
		if r.lost && r.rows == 0 && isDefect(err) { // no rows have been returned yet
			again, failed := r.Again()
			if again {
				return r.Next(ctx)
			}
			return nil, failed
		}
		err = r.explain(err)
		r.err = err
	}
	return nil, err
}

// restart starts a statement a second time.
type restart struct {
	// wanted reports whether to do so after an error of the engine.
	wanted    func(error) bool
	launch    func() (*sessions.Held, engine.Result, error)
	rebatched func() bool
}

// Again restarts the statement if Next failed because its process was lost, and
// reports whether it did. It does so once. An error is that of the second start and
// replaces that of Next; after a *[sessions.BusyError], Again may be called again. The
// caller must not have passed on any rows, because all rows come again, possibly in
// another order.
func (r *Rows) Again() (bool, error) {
	if !r.lost {
		return false, nil
	}
	again := r.again
	r.again, r.lost = nil, false
	_ = r.Result.Close() // it has failed already
	if r.held != nil {
		r.held.Release()
	}
	held, result, err := again.launch()
	if err != nil {
		var busy *sessions.BusyError
		if errors.As(err, &busy) {
			r.again, r.lost = again, true
		}
		r.held, r.err = nil, r.explain(err)
		return false, r.err
	}
	if again.rebatched() {
		result = engine.Rebatch(result)
	}
	r.Result, r.held, r.rows, r.err = result, held, 0, nil
	return true, nil
}

// Context returns a context that ends when the rows may no longer be shown to the
// caller. The statement's deadline does not end it, because rows that were read in
// time may be shown later.
func (r *Rows) Context() context.Context { return r.alive }

// Basis returns what determines the rows: the caller, the tables and their policies.
func (r *Rows) Basis() access.Basis { return r.basis }

// Finish releases the session and its memory when no more rows are read. Rows that
// were read may be shown until [Rows.Context] ends. Finish is idempotent.
func (r *Rows) Finish() error {
	var err error
	r.finish.Do(func() {
		err = r.Result.Close()
		r.record(r.err) // before the session is free, for which a stopping server may wait
		if r.held != nil {
			r.held.Release()
		}
		r.finished = true
		if r.cancel != nil {
			r.cancel()
		}
		if r.metrics != nil {
			r.metrics.seconds.WithLabelValues(phaseTotal).Observe(r.Elapsed().Seconds())
		}
	})
	return err
}

// Close ends the statement. It is idempotent.
func (r *Rows) Close() error {
	err := r.Finish()
	r.work.Done()
	if r.stop != nil {
		r.stop(nil)
	}
	return err
}

// Awaited reports whether statements of other users wait for a turn.
func (r *Rows) Awaited() bool { return r.held != nil && !r.finished && r.held.Awaited() }

// Slow says that the client reads at the given rate, more slowly than rows come. If others wait,
// the statement may end with a *[sessions.BusyError], and so does [Rows.Context].
func (r *Rows) Slow(rate func() float64) {
	if r.held != nil && !r.finished && r.stop != nil {
		r.held.Slow(sessions.SlowClient{Rate: rate, End: r.stop})
	}
}

// Fast says that the client has caught up.
func (r *Rows) Fast() {
	if r.held != nil && !r.finished {
		r.held.Fast()
	}
}

// Elapsed is the time since the statement was accepted.
func (r *Rows) Elapsed() time.Duration { return time.Since(r.started) }

// readTable is a table that a statement read, with the policies that were
// applied, for the audit log.
type readTable struct {
	ID       catalog.DeltaID `json:"id"`
	Version  int64           `json:"version"`
	Policies []string        `json:"policies"`
}

func (r *Rows) reads(table access.Table) {
	policies := table.Policies()
	t := readTable{ID: table.Located().DeltaID, Version: table.Snapshot().Version(), Policies: make([]string, len(policies))}
	for i, p := range policies {
		t.Policies[i] = fmt.Sprintf("%s@%d", p.ID, p.Version)
	}
	if !slices.ContainsFunc(r.tables, func(known readTable) bool { return known.ID == t.ID && known.Version == t.Version }) {
		r.tables = append(r.tables, t)
	}
}

// failed records a statement that never started.
func (r *Rows) failed(err error) { r.record(err) }

// record writes an audit entry, without the statement's text and values.
func (r *Rows) record(err error) {
	outcome := catalog.OutcomeAllow
	if err != nil {
		outcome = catalog.OutcomeError
	}
	sum := sha256.Sum256([]byte(r.sql))
	details, _ := json.Marshal(map[string]any{
		"sql_sha256": hex.EncodeToString(sum[:]), "rows": r.rows, "elapsed_ms": r.Elapsed().Milliseconds(), "tables": r.tables,
	})
	entry := caller.NewEntry(r.actor, "query.run", "query/"+r.ID, outcome)
	entry.Details = details
	r.audit.Record(entry)
}
