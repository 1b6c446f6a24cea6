package ops

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// rest has the write end when what it rests on changes: the scopes, and the basis
// as it is now.
func (w *writing) rest() {
	if w.watched == nil {
		return
	}
	based, scopes, config := w.basis, slices.Clone(w.scopes), w.located.Config
	based.tables = slices.Clone(based.tables)
	unchanged := based.check(w.Queries.Revocations, w.actor)
	w.watched.on(func(ctx context.Context, m *moment) error {
		if err := w.permitted(ctx, config, scopes); err != nil {
			return err
		}
		return unchanged(ctx, m)
	})
}

// permitted returns errRevoked when the caller does not hold the scopes any more
// where the table is.
func (w *writing) permitted(ctx context.Context, config catalog.ConfigID, scopes []auth.Scope) error {
	ctx = auth.WithPrincipal(ctx, w.actor.Principal)
	for _, s := range scopes {
		err := w.Permissions.Permits(ctx, w.actor.Viewer, config, s)
		if errors.Is(err, auth.ErrForbidden) || errors.Is(err, catalog.ErrDenied) || errors.Is(err, catalog.ErrNotFound) {
			return errRevoked
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unlessEnded is a reader that fails once the work of a context was ended.
type unlessEnded struct {
	ctx context.Context
	io.Reader
}

// Read implements io.Reader.
func (r unlessEnded) Read(p []byte) (int, error) {
	if err := endedBy(r.ctx, nil); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// publish makes one attempt to commit, unless the write was ended before. An
// attempt that has begun is not ended; after one that came to nothing the write
// can be.
func (w *writing) publish(ctx context.Context, commit func() (*delta.Snapshot, error)) (*delta.Snapshot, error) {
	if err := w.watched.hold(ctx); err != nil {
		return nil, err
	}
	snap, err := commit()
	if err != nil && !errors.Is(err, delta.ErrCommitUnknown) {
		w.watched.release()
	}
	return snap, err
}
