package main

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/apikey"
	"github.com/lakewarden/lakewarden/auth/jwt"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// principals shows the catalog to the authenticators, which know nothing of it.
type principals struct{ store catalog.Store }

var (
	_ apikey.Store = principals{}
	_ jwt.Members  = principals{}
)

const authenticating = "authentication"

// KeyByPrefix implements apikey.Store.
func (p principals) KeyByPrefix(ctx context.Context, prefix string) (apikey.Record, bool, error) {
	ctx = authz.System(ctx, authenticating)
	key, err := p.store.APIKeyByPrefix(ctx, prefix)
	if err != nil {
		return missing[apikey.Record](err)
	}
	rec := apikey.Record{
		Hash: key.Hash[:], Scopes: key.Scopes, ExpiresAt: key.ExpiresAt, Revoked: key.Revoked(), LastUsedAt: key.LastUsedAt,
		AllWorkspaces: key.AllWorkspaces,
	}
	var ids ids
	rec.ID, rec.OrgID, rec.UserID = ids.parse(string(key.ID)), ids.parse(string(key.Org)), ids.parse(string(key.User))
	if key.Workspace != "" {
		workspace := ids.parse(string(key.Workspace))
		rec.WorkspaceID = &workspace
	}
	if ids.err != nil {
		return apikey.Record{}, false, ids.err
	}
	return rec, true, nil
}

// Owner implements apikey.Store.
func (p principals) Owner(ctx context.Context, org, user uuid.UUID) (apikey.Owner, error) {
	m, found, err := p.MemberByID(ctx, org, user)
	if err != nil || !found {
		return apikey.Owner{}, err
	}
	return apikey.Owner{Email: m.Email, Role: m.Role}, nil
}

// epoch reads the catalog's epoch.
func (p principals) epoch(ctx context.Context) (uint64, error) {
	return p.store.Epoch(authz.System(ctx, authenticating))
}

// TouchKey implements apikey.Store.
func (p principals) TouchKey(ctx context.Context, id uuid.UUID, at time.Time) error {
	return p.store.TouchAPIKey(authz.System(ctx, authenticating), catalog.KeyID(id.String()), at)
}

// MemberByID implements jwt.Members.
func (p principals) MemberByID(ctx context.Context, org, user uuid.UUID) (jwt.Member, bool, error) {
	ctx = authz.System(ctx, authenticating)
	m, err := p.store.Membership(ctx, catalog.OrgID(org.String()), catalog.UserID(user.String()))
	if err != nil {
		return missing[jwt.Member](err)
	}
	return jwt.Member{UserID: user, Email: m.Email, Role: auth.Role(m.Role)}, true, nil
}

// MemberByEmail implements jwt.Members.
func (p principals) MemberByEmail(ctx context.Context, org uuid.UUID, email string) (jwt.Member, bool, error) {
	u, err := p.store.UserByEmail(authz.System(ctx, authenticating), email)
	if err != nil {
		return missing[jwt.Member](err)
	}
	var ids ids
	id := ids.parse(string(u.ID))
	if ids.err != nil {
		return jwt.Member{}, false, ids.err
	}
	return p.MemberByID(ctx, org, id)
}

// missing turns "not found" into a false that is no error.
func missing[T any](err error) (T, bool, error) {
	var none T
	if errors.Is(err, catalog.ErrNotFound) {
		err = nil
	}
	return none, false, err
}

// ids parses the identifiers of one record and keeps the first error.
type ids struct{ err error }

func (i *ids) parse(text string) uuid.UUID {
	id, err := uuid.Parse(text)
	if i.err == nil {
		i.err = err
	}
	return id
}
