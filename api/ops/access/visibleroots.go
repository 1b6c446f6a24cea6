package access

import (
	"context"
	"slices"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/api/ops/memo"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/sessions"
)

// VisibleRoots is what the statements of one caller can read, and how they must run.
type VisibleRoots struct {
	// roots are the directories and remote configurations that are visible. Other roots
	// lead to another session.
	roots []string
	// Schema is the only visible schema, or empty.
	Schema string
	// NoPushdown requires that conditions of the statement are not applied while a
	// filtered copy is made, so that the time that this takes does not depend on them.
	NoPushdown bool
}

// SessionKey returns the key of the caller's session. The visible roots are part of it,
// so no session is ever narrowed or widened.
func (r VisibleRoots) SessionKey(a caller.Identity) sessions.Key {
	return sessions.Key{Org: string(a.Org), User: string(a.User), Roots: r.roots}
}

// Cover reports whether the roots include those of all tables of a basis. They do not if the
// caller has lost a table since it was opened.
func (r VisibleRoots) Cover(b Basis) bool {
	return !slices.ContainsFunc(b.tables, func(t Table) bool {
		return !slices.Contains(r.roots, lake.SessionRoot(t.located.StorageConfig))
	})
}

// VisibleRoots returns what the caller's statements can read at v.
func (o Tables) VisibleRoots(ctx context.Context, a caller.Identity, v *memo.EpochView) (VisibleRoots, error) {
	return memo.ReadAt(ctx, v, o.memory.roots, ViewerFields(a.Viewer), func() (VisibleRoots, error) { return o.readRoots(ctx, a) })
}

func (o Tables) readRoots(ctx context.Context, a caller.Identity) (VisibleRoots, error) {
	var r VisibleRoots
	err := catalog.Each(func(page catalog.Page) (catalog.List[catalog.StorageConfig], error) {
		return o.store.ListStorageConfigs(ctx, a.Viewer, page)
	}, func(config catalog.StorageConfig) error {
		r.roots = append(r.roots, lake.SessionRoot(config))
		r.Schema = config.Schema()
		return nil
	})
	if err != nil {
		return VisibleRoots{}, err
	}
	if len(r.roots) != 1 {
		r.Schema = ""
	}
	// The organisation's setting applies whatever the caller may read.
	org, err := o.store.Organisation(authz.System(ctx, "barrier setting"), a.Org)
	r.NoPushdown = org.Config.Enabled(catalog.FeatureRowFilterBarrierAlways)
	return r, err
}

// ViewerFields returns what visibility depends on.
func ViewerFields(v catalog.Viewer) []string {
	limited, everything := "", ""
	if v.Limited {
		limited = "limited"
	}
	if v.Everything {
		everything = "everything"
	}
	return []string{string(v.Org), string(v.User), limited, string(v.Workspace), everything}
}
