package dml

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/lakewarden/lakewarden/engine/datafile"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/pruning"
)

// plan is what a commit does to the table.
type plan struct {
	operation string
	adds      []delta.AddFile
	removes   []delta.File
	// deletes are rows that are hidden in files which stay.
	deletes []delta.RowDeletion
	// changes tell the feed of changes of a table that has one; before is what it
	// calls the rows that go.
	changes []delta.ChangeFile
	before  string
	// reads says that the outcome depends on the rest of the table.
	reads   bool
	metrics map[string]int64
}

// uploaded are the objects that belong to nobody when the plan is not committed.
func (p plan) uploaded() []string {
	var names []string
	for _, a := range p.adds {
		names = append(names, a.Name)
	}
	for _, c := range p.changes {
		names = append(names, c.Name)
	}
	return names
}

// attempts bounds the races that one insert loses.
const attempts = 100

// commit commits a plan. again, where it is given, judges the plan on a newer
// version after a lost race; otherwise the conflict is returned. The uploaded
// files are gone after an error, unless they may be part of the table.
func (w *write) commit(ctx context.Context, p plan, again func(ctx context.Context, from, to *delta.Snapshot) error) (*delta.Snapshot, error) {
	base := w.Snapshot
	for n := 1; ; n++ {
		snap, vectors, err := w.try(ctx, base, p)
		if err == nil {
			return snap, nil
		}
		unknown := errors.Is(err, delta.ErrCommitUnknown)
		if vectors != "" && !unknown {
			// Every try has its own.
			err = errors.Join(err, datafile.WithdrawObjects(ctx, w.Snapshot.Bucket(), []string{vectors}))
		}
		if errors.Is(err, delta.ErrConflict) && again != nil && n < attempts {
			var next *delta.Snapshot
			if next, err = w.next(ctx, base, n, err); err == nil {
				if err = again(ctx, base, next); err == nil {
					base = next
					continue
				}
			}
		}
		if unknown {
			return nil, err // nobody knows whether they are needed
		}
		return nil, errors.Join(err, datafile.WithdrawObjects(ctx, w.Snapshot.Bucket(), p.uploaded()))
	}
}

// try commits the plan on a version. vectors is a file of deletion vectors that was
// written for it, often none.
func (w *write) try(ctx context.Context, base *delta.Snapshot, p plan) (snap *delta.Snapshot, vectors string, err error) {
	if w.Application != nil {
		// A twin of this request can have won the race before: what is on the base
		// already is no conflict for the log.
		if _, done := base.SetTransaction(w.Application.ID); done {
			return nil, "", delta.ErrConcurrentTransaction
		}
	}
	op := delta.Operation{
		Name: p.operation, UserID: w.UserID, UserName: w.UserName, Duties: w.Rules.Duties(),
		Parameters: map[string]string{}, Metrics: map[string]string{},
	}
	if p.operation == "WRITE" {
		op.Parameters["mode"] = action.JSONText("Append")
	}
	if w.ids != nil {
		op.Duties = append(op.Duties, delta.KeepsRowIDs)
	}
	if w.Application != nil {
		op.Parameters[ParameterKey] = action.JSONText(w.Application.ID)
	}
	for name, n := range p.metrics {
		op.Metrics[name] = strconv.FormatInt(n, 10)
	}
	txn := base.Begin(op)
	if err := txn.Remove(false, p.removes...); err != nil {
		return nil, "", err
	}
	if err := txn.Add(p.adds...); err != nil {
		return nil, "", err
	}
	if err := txn.AddChange(p.changes...); err != nil {
		return nil, "", err
	}
	if len(p.deletes) > 0 {
		done, err := txn.DeleteRows(ctx, p.deletes...)
		if err != nil {
			return nil, done.Object, err
		}
		vectors = done.Object
	}
	if p.reads {
		txn.ReadWholeTable()
	}
	if w.Application != nil {
		txn.SetTransaction(w.Application.ID, w.Application.Version)
	}
	commit := func() (*delta.Snapshot, error) { return txn.Commit(ctx) }
	if w.Publish == nil {
		snap, err = commit()
	} else {
		snap, err = w.Publish(ctx, commit)
	}
	return snap, vectors, err
}

// next reads what won a race. A version with another schema, other properties or
// another protocol needs another plan: conflict is returned.
func (w *write) next(ctx context.Context, base *delta.Snapshot, n int, conflict error) (*delta.Snapshot, error) {
	window := min(5*time.Millisecond<<min(n, 10), 500*time.Millisecond)
	timer := time.NewTimer(rand.N(window))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	next, err := base.Refresh(ctx)
	if err != nil {
		return nil, err
	}
	if !sameRules(base, next) {
		return nil, conflict
	}
	return next, pruning.Load(ctx, next)
}

// sameRules reports whether two versions ask the same of new rows.
func sameRules(a, b *delta.Snapshot) bool {
	text := func(s *delta.Snapshot) string {
		m, p := s.Metadata(), s.Protocol()
		first, err1 := action.Encode(&m)
		second, err2 := action.Encode(&p)
		if err1 != nil || err2 != nil {
			return s.Incarnation()
		}
		return string(first) + string(second)
	}
	return text(a) == text(b)
}

func bytesOf(adds []delta.AddFile) (n int64) {
	for _, a := range adds {
		n += a.Size
	}
	return n
}
