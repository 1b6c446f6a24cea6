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

// watchBasis ends the write if the caller loses a scope that it needs, or if its
// current basis changes.
func (w *writing) watchBasis() {
	if w.watched == nil {
		return
	}
	based, scopes, config := w.basis, slices.Clone(w.scopes), w.located.Config
	based.tables = slices.Clone(based.tables)
	w.watched.judgeBy(based.check(w.Queries.Revocations, w.actor).and(hasScopes(w.Permissions, w.actor, config, scopes)))
}

// hasScopes returns a [check] that fails if the caller no longer holds scopes where a
// configuration is.
func hasScopes(permissions Permissions, a Actor, config catalog.ConfigID, scopes []auth.Scope) check {
	return func(ctx context.Context, _ *moment) error {
		ctx = auth.WithPrincipal(ctx, a.Principal)
		for _, s := range scopes {
			err := permissions.Permits(ctx, a.Viewer, config, s)
			if errors.Is(err, auth.ErrForbidden) || errors.Is(err, catalog.ErrDenied) || errors.Is(err, catalog.ErrNotFound) {
				return errRevoked
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// unlessEnded is a reader that fails once [Revocations] has ended the work of ctx.
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

// publish makes one attempt to commit, unless the write was ended before. An attempt
// that has begun is not ended. After a failed attempt the write is judged again.
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
