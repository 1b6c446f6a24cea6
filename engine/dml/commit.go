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

// plan holds what a commit does to the table.
type plan struct {
	operation string
	adds      []delta.AddFile
	removes   []delta.File
	// deletes are rows that deletion vectors mark in files that stay.
	deletes []delta.RowDeletion
	// changes are the files of the change data feed. before is the change type of
	// the affected rows.
	changes []delta.ChangeFile
	before  string
	// reads reports that the outcome depends on the other rows of the table, so
	// that any concurrent change of them is a conflict.
	reads   bool
	metrics map[string]int64
}

// uploaded returns the names of the objects to delete if the plan is not committed.
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

// maxAttempts is the number of conflicts after which an insert gives up.
const maxAttempts = 100

// commit commits a plan. After a conflict it calls recheck, if not nil, to check
// the plan against the newer version, and tries again; with a nil recheck it
// returns the conflict. After an error the uploaded files are deleted, unless they
// may be part of the table.
func (w *write) commit(ctx context.Context, p plan,
	recheck func(ctx context.Context, from, to *delta.Snapshot) error) (*delta.Snapshot, error) {
	base := w.Snapshot
	for n := 1; ; n++ {
		snap, vectors, err := w.attempt(ctx, base, p)
		if err == nil {
			return snap, nil
		}
		unknown := errors.Is(err, delta.ErrCommitUnknown)
		if vectors != "" && !unknown {
			// Each attempt writes its own.
			err = errors.Join(err, datafile.WithdrawObjects(ctx, w.Snapshot.Bucket(), []string{vectors}))
		}
		if errors.Is(err, delta.ErrConflict) && recheck != nil && n < maxAttempts {
			var next *delta.Snapshot
			if next, err = w.refreshAfterConflict(ctx, base, n, err); err == nil {
				if err = recheck(ctx, base, next); err == nil {
					base = next
					continue
				}
			}
		}
		if unknown {
			return nil, err // the files may be part of the table
		}
		return nil, errors.Join(err, datafile.WithdrawObjects(ctx, w.Snapshot.Bucket(), p.uploaded()))
	}
}

// attempt commits the plan on top of base. vectors is the name of the deletion
// vector file that was written for this attempt, or "".
func (w *write) attempt(ctx context.Context, base *delta.Snapshot, p plan) (snap *delta.Snapshot, vectors string, err error) {
	if w.Application != nil {
		// A concurrent copy of this request may have committed already. The log reports
		// no conflict for a transaction that is part of the base.
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
	if w.Publish == nil {
		snap, err = txn.Commit(ctx)
	} else {
		snap, err = w.Publish(ctx, txn)
	}
	return snap, vectors, err
}

// refreshAfterConflict waits a random time, growing with n, and returns the newest
// version. It returns conflict if metadata or protocol differ from those of base,
// because the write has to be planned again then.
func (w *write) refreshAfterConflict(ctx context.Context, base *delta.Snapshot, n int, conflict error) (*delta.Snapshot, error) {
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

// sameRules reports whether two versions have the same metadata and protocol.
func sameRules(a, b *delta.Snapshot) bool {
	text := func(s *delta.Snapshot) string {
		m, p := s.Metadata(), s.Protocol()
		first, err1 := action.Encode(&m)
		second, err2 := action.Encode(&p)
		if err1 != nil || err2 != nil {
			return s.Identity()
		}
		return string(first) + string(second)
	}
	return text(a) == text(b)
}

func totalBytes(adds []delta.AddFile) (n int64) {
	for _, a := range adds {
		n += a.Size
	}
	return n
}
