package access

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/deletion"
	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/sessions"
)

// guardTick is the interval at which idle sessions are checked. Together with the time
// until a change of another replica is known, it is below a second.
const guardTick = 200 * time.Millisecond

// SessionGuard closes the idle sessions of users who no longer see one of their roots,
// because a configuration was deleted or attached elsewhere, or the user has left a
// workspace. Running statements on such a root end by [Tables.CheckBasis], so that their
// sessions become idle.
type SessionGuard struct {
	store rootStore
	pool  idleSessions
	// epoch returns the epoch of the catalog, or an error while it is not confirmed.
	epoch func() (uint64, error)
	log   *slog.Logger

	// known holds the roots that the owners of sessions see at the epoch at.
	known map[owner]map[string]bool
	at    uint64
}

// owner identifies the user of a session. The server's own sessions have no user.
type owner struct{ org, user string }

type rootStore interface {
	StorageConfig(ctx context.Context, viewer catalog.Viewer, config catalog.ConfigID) (catalog.StorageConfig, error)
	ListStorageConfigs(ctx context.Context, viewer catalog.Viewer, page catalog.Page) (catalog.List[catalog.StorageConfig], error)
}

type idleSessions interface {
	Idle() []sessions.Key
	Drop(match func(sessions.Key) bool) int
	Empty(match func(root string) bool)
}

// NewSessionGuard returns a SessionGuard that checks nothing before [SessionGuard.Run].
func NewSessionGuard(store rootStore, pool idleSessions, epoch func() (uint64, error), log *slog.Logger) *SessionGuard {
	return &SessionGuard{store: store, pool: pool, epoch: epoch, log: log}
}

// Run checks sessions until ctx ends. ctx must permit reading the catalog.
func (g *SessionGuard) Run(ctx context.Context) {
	tick := time.NewTicker(guardTick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := g.check(ctx); err != nil && ctx.Err() == nil {
				g.log.Warn("idle sessions not checked", "error", err)
			}
		}
	}
}

// check closes sessions once. It reads the catalog only after a change, and for owners
// whose first session became idle. A statement that was planned before a change can leave a
// session behind at any time, so every idle session is checked each time.
func (g *SessionGuard) check(ctx context.Context) error {
	idle := g.pool.Idle()
	if len(idle) == 0 {
		return nil
	}
	epoch, err := g.epoch()
	if err != nil {
		return nil // no statement is answered either
	}
	if epoch != g.at || g.known == nil {
		g.known, g.at = map[owner]map[string]bool{}, epoch
	}
	for _, key := range idle {
		by := owner{key.Org, key.User}
		if g.known[by] != nil {
			continue
		}
		if g.known[by], err = g.roots(ctx, by); err != nil {
			delete(g.known, by)
			return err
		}
	}
	g.pool.Drop(func(key sessions.Key) bool {
		seen := g.known[owner{key.Org, key.User}]
		for _, root := range key.Roots {
			if seen != nil && !seen[root] {
				return true
			}
		}
		return false
	})
	return nil
}

// DropFiles closes the sessions that may have read files which were deleted: it is a
// [deletion.Place]. Those of running statements are closed with them.
func (g *SessionGuard) DropFiles(ctx context.Context, dropped deletion.Dropped) error {
	roots := map[string]bool{}
	for _, f := range dropped.Files {
		config, err := g.store.StorageConfig(authz.System(ctx, "deleted files"), catalog.SystemViewer(f.Org), f.Config)
		switch {
		case errors.Is(err, catalog.ErrNotFound): // nobody sees its root
		case err != nil:
			return err
		default:
			roots[lake.SessionRoot(config)] = true
		}
	}
	g.pool.Empty(func(root string) bool { return dropped.All || roots[root] })
	return nil
}

// roots returns the roots that an owner sees with its widest credential.
func (g *SessionGuard) roots(ctx context.Context, by owner) (map[string]bool, error) {
	viewer := catalog.MemberViewer(catalog.OrgID(by.org), catalog.UserID(by.user))
	if by.user == "" {
		viewer = catalog.SystemViewer(catalog.OrgID(by.org))
	}
	seen := map[string]bool{}
	return seen, catalog.Each(func(page catalog.Page) (catalog.List[catalog.StorageConfig], error) {
		return g.store.ListStorageConfigs(ctx, viewer, page)
	}, func(config catalog.StorageConfig) error {
		seen[lake.SessionRoot(config)] = true
		return nil
	})
}
