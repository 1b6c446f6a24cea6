package write

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/lakewarden/lakewarden/api/ops/revocation"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// watchBasis has the watcher end the write if the caller loses a scope that it needs, or if its current
// basis changes.
func (w *writing) watchBasis() {
	scopes := w.Tables.CheckScopes(w.actor, w.located.Config, slices.Clone(w.scopes))
	w.work.SetCheck(w.Tables.CheckBasis(w.actor, w.basis).And(scopes))
}

// unlessEnded is a reader that fails once [revocation.Watcher] has ended the work of ctx.
type unlessEnded struct {
	ctx context.Context
	io.Reader
}

// Read implements io.Reader.
func (r unlessEnded) Read(p []byte) (int, error) {
	if err := revocation.EndedBy(r.ctx, nil); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// publish makes one attempt to commit, unless the write was ended before. An attempt that has
// begun is not ended. After a failed attempt the write is judged again.
func (w *writing) publish(ctx context.Context, attempt Attempt) (*delta.Snapshot, error) {
	if err := w.work.Hold(ctx); err != nil {
		return nil, err
	}
	snap, err := w.lease.Commit(ctx, w.rules.Version, attempt)
	if err != nil && !errors.Is(err, delta.ErrCommitUnknown) {
		w.work.Release()
	}
	return snap, err
}
