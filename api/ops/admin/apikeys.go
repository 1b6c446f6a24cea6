package admin

import (
	"context"
	"errors"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/apikey"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// APIKeys manages the keys of the caller and, for administrators, those of the
// organisation.
type APIKeys struct {
	Store catalog.Store
	Now   func() time.Time
}

// NewKey is the input of [APIKeys.Create]. At most one of ExpiresIn and
// ExpiresAt is set.
type NewKey struct {
	Name      string
	Scopes    []string
	ExpiresIn *string
	ExpiresAt *string
	Workspace string
	// AllWorkspaces requests a key that is valid in every workspace of the caller.
	AllWorkspaces bool
}

// Create creates a key for the caller. The key is returned in clear only here. A key
// cannot have more scopes than its creator (auth.ErrScopeEscalation) or be valid in more
// workspaces (auth.ErrWorkspaceEscalation). It ends with the key in use, so a later end is
// refused.
func (o APIKeys) Create(ctx context.Context, in NewKey) (apikey.Key, catalog.APIKey, error) {
	a, err := caller.From(ctx)
	if err != nil {
		return apikey.Key{}, catalog.APIKey{}, err
	}
	if !a.MayManageOwnKeys() {
		return apikey.Key{}, catalog.APIKey{}, &auth.ScopeError{Scope: auth.ScopeAPIKeysCreate}
	}
	return o.create(ctx, a, a.User, in)
}

// CreateFor creates a key for a service account of the caller's organisation, with the
// same bounds as [APIKeys.Create] and those of the account's role.
func (o APIKeys) CreateFor(ctx context.Context, account catalog.UserID, in NewKey) (apikey.Key, catalog.APIKey, error) {
	a, err := caller.From(ctx)
	if err != nil {
		return apikey.Key{}, catalog.APIKey{}, err
	}
	if err := a.Require(auth.ScopeUsersWrite); err != nil {
		return apikey.Key{}, catalog.APIKey{}, err
	}
	return o.create(ctx, a, account, in)
}

// create creates a key of a user on behalf of the caller.
func (o APIKeys) create(ctx context.Context, a caller.Identity, owner catalog.UserID, in NewKey) (apikey.Key, catalog.APIKey, error) {
	scopes, err := auth.ExpandScopes(in.Scopes)
	if err != nil {
		return apikey.Key{}, catalog.APIKey{}, err
	}
	if err := a.CheckGrant(scopes); err != nil {
		return apikey.Key{}, catalog.APIKey{}, err
	}
	expires, err := apikey.Expiry(o.Now(), in.ExpiresIn, in.ExpiresAt)
	if err != nil {
		return apikey.Key{}, catalog.APIKey{}, err
	}
	workspace, err := o.workspace(ctx, a, in)
	if err != nil {
		return apikey.Key{}, catalog.APIKey{}, err
	}
	return generate(func(key apikey.Key) (catalog.APIKey, error) {
		rec, err := o.Store.CreateAPIKey(ctx, catalog.NewAPIKey{
			Org: a.Org, User: owner, Name: in.Name, Prefix: key.Prefix(), Hash: key.Hash(),
			Scopes: scopes.Strings(), Workspace: workspace, AllWorkspaces: in.AllWorkspaces, ExpiresAt: expires,
			Shorten: in.ExpiresIn == nil && in.ExpiresAt == nil,
		})
		var outlives *catalog.OutlivesMakerError
		switch {
		case errors.Is(err, catalog.ErrNotFound):
			return rec, fault.Invalid("workspace_id", "is not a workspace of the caller")
		case errors.As(err, &outlives):
			return rec, tooLong(in, outlives.Ends)
		}
		return rec, err
	})
}

// tooLong refuses the requested end of a key that may end at the given time at the latest.
func tooLong(in NewKey, latest time.Time) error {
	field := "expires_in"
	if in.ExpiresAt != nil {
		field = "expires_at"
	}
	return fault.Invalid(field, "must not be later than the API key in use, or the service account, ends: %s", latest.Format(time.RFC3339Nano))
}

// workspace returns the requested workspace or, if there is none, that to which the
// caller's own key is limited, else the default workspace.
func (o APIKeys) workspace(ctx context.Context, a caller.Identity, in NewKey) (catalog.WorkspaceID, error) {
	text := in.Workspace
	if text == "" && !in.AllWorkspaces && a.Viewer.Workspace != "" {
		return a.Viewer.Workspace, nil
	}
	if text == "" {
		w, err := o.Store.DefaultWorkspace(authz.System(ctx, "default workspace"), a.Org)
		return w.ID, err
	}
	id, err := catalog.ParseID[catalog.WorkspaceID](text)
	if err != nil {
		return "", fault.Invalid("workspace_id", "is not a workspace of the caller")
	}
	return id, nil
}

// generate repeats a store call with a new key while the visible prefix is already in use.
func generate(store func(apikey.Key) (catalog.APIKey, error)) (apikey.Key, catalog.APIKey, error) {
	const attempts = 5
	for attempt := 1; ; attempt++ {
		key := apikey.Generate()
		rec, err := store(key)
		var exists *catalog.ExistsError
		if attempt < attempts && errors.As(err, &exists) && exists.Field == "key_prefix" {
			continue
		}
		return key, rec, err
	}
}

// List lists the caller's keys or, if all is set, those of the organisation, which
// requires users:write.
func (o APIKeys) List(ctx context.Context, all bool, page catalog.Page) (catalog.List[catalog.APIKey], error) {
	a, err := caller.From(ctx)
	if err != nil {
		return catalog.List[catalog.APIKey]{}, err
	}
	filter := catalog.APIKeyFilter{User: a.User}
	if all {
		if err := a.Require(auth.ScopeUsersWrite); err != nil {
			return catalog.List[catalog.APIKey]{}, err
		}
		filter.User = ""
	}
	return o.Store.ListAPIKeys(ctx, a.Org, filter, page)
}

// Get returns a key of the caller or, for holders of users:write, any key of the
// organisation. Other keys are reported as missing.
func (o APIKeys) Get(ctx context.Context, id catalog.KeyID) (catalog.APIKey, error) {
	_, rec, err := o.find(ctx, id)
	return rec, err
}

func (o APIKeys) find(ctx context.Context, id catalog.KeyID) (caller.Identity, catalog.APIKey, error) {
	a, err := caller.From(ctx)
	if err != nil {
		return a, catalog.APIKey{}, err
	}
	rec, err := o.Store.APIKey(ctx, a.Org, id)
	if err != nil {
		return a, catalog.APIKey{}, err
	}
	if rec.User != a.User && !a.Scopes.Has(auth.ScopeUsersWrite) {
		return a, catalog.APIKey{}, catalog.ErrNotFound
	}
	return a, rec, nil
}

// Revocation describes what the revocation of a key ends.
type Revocation struct {
	Key catalog.APIKey
	// Ends holds what ends with the key, at most [catalog.MaxEndings].
	Ends []catalog.Ending
}

// Revoke revokes a key and what was made with it, immediately, and within a second on all
// replicas. A dry run changes nothing. Revoke is idempotent.
func (o APIKeys) Revoke(ctx context.Context, id catalog.KeyID, dryRun bool) (r Revocation, err error) {
	a, rec, err := o.find(ctx, id)
	if err != nil {
		return r, err
	}
	if !a.MayManageOwnKeys() && !a.Scopes.Has(auth.ScopeUsersWrite) {
		return r, &auth.ScopeError{Scope: auth.ScopeAPIKeysCreate}
	}
	r.Key = rec
	if r.Ends, err = o.Store.ListEndings(ctx, a.Org, rec.ID); err != nil || dryRun {
		return r, err
	}
	r.Key, err = o.Store.RevokeAPIKey(ctx, a.Org, rec.ID)
	return r, err
}

// Rotate replaces a key of the caller by a successor with the same name, scopes and
// workspaces, and what was made with the key ends with the successor instead. The old key stays
// valid for grace, unless it expires before. The successor expires when the old key would have,
// or with the key in use, whichever is earlier. A
// caller cannot rotate a key with more scopes or workspaces than its own, because it
// learns the successor.
func (o APIKeys) Rotate(ctx context.Context, id catalog.KeyID, grace time.Duration) (apikey.Key, catalog.APIKey, error) {
	a, rec, err := o.find(ctx, id)
	if err != nil {
		return apikey.Key{}, catalog.APIKey{}, err
	}
	if rec.User != a.User {
		return apikey.Key{}, catalog.APIKey{}, catalog.ErrNotFound
	}
	if !a.MayManageOwnKeys() {
		return apikey.Key{}, catalog.APIKey{}, &auth.ScopeError{Scope: auth.ScopeAPIKeysCreate}
	}
	if err := a.CheckGrant(auth.StoredScopes(rec.Scopes)); err != nil {
		return apikey.Key{}, catalog.APIKey{}, err
	}
	if grace < 0 || grace > catalog.MaxRotationGrace {
		return apikey.Key{}, catalog.APIKey{}, fault.Invalid("grace_seconds", "must be between 0 and %d", int(catalog.MaxRotationGrace.Seconds()))
	}
	return generate(func(key apikey.Key) (catalog.APIKey, error) {
		return o.Store.RotateAPIKey(ctx, a.Org, rec.ID, catalog.NewAPIKey{
			Org: rec.Org, User: rec.User, Name: rec.Name, Prefix: key.Prefix(), Hash: key.Hash(),
			Scopes: rec.Scopes, Workspace: rec.Workspace, ExpiresAt: rec.ExpiresAt,
		}, grace)
	})
}
