package revocation

import (
	"context"
	"errors"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/memo"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// credential is the state of a caller's membership and key at one epoch.
type credential struct {
	member  bool
	role    auth.Role
	keyed   bool
	revoked bool
	granted auth.ScopeSet
	expires time.Time
}

// allows reports whether work that began as the caller may continue.
func (c credential) allows(a caller.Identity, now time.Time) bool {
	if !c.member || !c.role.AtLeast(a.Role) {
		return false
	}
	return !c.keyed || !c.revoked && now.Before(c.expires) && c.granted.Contains(a.Granted)
}

// credential reads the member and the key of a caller. An access token has no record in
// the catalog: when it expires, new requests are refused, but running work continues
// while the member remains.
func (r *Watcher) credential(ctx context.Context, v *memo.EpochView, a caller.Identity) (credential, error) {
	key := ""
	if a.KeyID != nil {
		key = a.KeyID.String()
	}
	return memo.ReadAt(ctx, v, r.credentials, []string{string(a.Org), string(a.User), key}, func() (credential, error) {
		system := authz.System(ctx, "credential of running work")
		member, err := r.store.Membership(system, a.Org, a.User)
		if errors.Is(err, catalog.ErrNotFound) {
			return credential{}, nil
		}
		c := credential{member: true, role: auth.Role(member.Role)}
		if err != nil || a.KeyID == nil {
			return c, err
		}
		record, err := r.store.APIKey(system, a.Org, catalog.KeyID(key))
		c.keyed, c.revoked = true, record.Revoked() || errors.Is(err, catalog.ErrNotFound)
		if c.revoked {
			return c, nil
		}
		c.granted, c.expires = auth.StoredScopes(record.Scopes), record.ExpiresAt
		return c, err
	})
}
