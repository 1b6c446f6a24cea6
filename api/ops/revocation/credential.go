package revocation

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/memo"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// credential is the state of a caller's membership and key or session at one epoch.
type credential struct {
	member bool
	role   auth.Role
	// revoked reports that the key or the session was revoked or removed.
	revoked bool
	// expires is the end of the key or the session, or zero.
	expires time.Time
	// keyed reports that granted holds the scopes of a key.
	keyed   bool
	granted auth.ScopeSet
}

// allows reports whether work that began as the caller may continue.
func (c credential) allows(a caller.Identity, now time.Time) bool {
	if !c.member || !c.role.AtLeast(a.Role) || c.revoked {
		return false
	}
	if !c.expires.IsZero() && !now.Before(c.expires) {
		return false
	}
	return !c.keyed || c.granted.Contains(a.Granted)
}

// credential reads the member and the key or session of a caller. An access token itself
// has no record in the catalog: when it expires, new requests are refused, but running
// work continues while the member and the session remain.
func (r *Watcher) credential(ctx context.Context, v *memo.EpochView, a caller.Identity) (credential, error) {
	key := ""
	if a.KeyID != nil {
		key = a.KeyID.String()
	}
	fields := []string{string(a.Org), string(a.User), key, a.SessionID.String()}
	return memo.ReadAt(ctx, v, r.credentials, fields, func() (credential, error) {
		system := authz.System(ctx, "credential of running work")
		member, err := r.store.Membership(system, a.Org, a.User)
		if errors.Is(err, catalog.ErrNotFound) {
			return credential{}, nil
		}
		c := credential{member: true, role: auth.Role(member.Role)}
		if err != nil {
			return c, err
		}
		if a.SessionID != uuid.Nil && r.opts.Sessions != nil {
			live, err := r.opts.Sessions.Live(ctx, a.SessionID)
			c.expires = live.Until
			c.revoked = err == nil && c.expires.IsZero()
			return c, err
		}
		if a.KeyID == nil {
			return c, nil
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
