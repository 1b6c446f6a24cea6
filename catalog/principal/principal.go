package principal

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

// Source implements the stores of the authenticators. It is safe for concurrent use.
type Source struct{ store catalog.Store }

// New returns a source that reads store.
func New(store catalog.Store) Source { return Source{store} }

var (
	_ apikey.Store = Source{}
	_ jwt.Members  = Source{}
)

const authenticating = "authentication"

// KeyByPrefix implements apikey.Store.
func (s Source) KeyByPrefix(ctx context.Context, prefix string) (apikey.Record, bool, error) {
	ctx = authz.System(ctx, authenticating)
	key, err := s.store.APIKeyByPrefix(ctx, prefix)
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
func (s Source) Owner(ctx context.Context, org, user uuid.UUID) (apikey.Owner, error) {
	m, found, err := s.MemberByID(ctx, org, user)
	if err != nil || !found {
		return apikey.Owner{}, err
	}
	return apikey.Owner{Email: m.Email, Role: m.Role}, nil
}

// TouchKeys implements apikey.Store.
func (s Source) TouchKeys(ctx context.Context, at time.Time, ids []uuid.UUID) error {
	keys := make([]catalog.KeyID, len(ids))
	for i, id := range ids {
		keys[i] = catalog.KeyID(id.String())
	}
	return s.store.TouchAPIKeys(authz.System(ctx, authenticating), at, keys...)
}

// MemberByID implements jwt.Members.
func (s Source) MemberByID(ctx context.Context, org, user uuid.UUID) (jwt.Member, bool, error) {
	ctx = authz.System(ctx, authenticating)
	m, err := s.store.Membership(ctx, catalog.OrgID(org.String()), catalog.UserID(user.String()))
	if err != nil {
		return missing[jwt.Member](err)
	}
	return jwt.Member{UserID: user, Email: m.Email, Role: auth.Role(m.Role)}, true, nil
}

// PersonByID implements jwt.Members.
func (s Source) PersonByID(ctx context.Context, user uuid.UUID) (jwt.Member, bool, error) {
	u, err := s.store.User(authz.System(ctx, authenticating), catalog.UserID(user.String()))
	if err != nil || u.Kind != catalog.UserPerson {
		return missing[jwt.Member](err)
	}
	return jwt.Member{UserID: user, Email: u.Email}, true, nil
}

// auditTime bounds the entry about a binding.
const auditTime = 10 * time.Second

// MemberBySubject implements jwt.Members. The first token of a subject binds it, which is audited.
func (s Source) MemberBySubject(ctx context.Context, of jwt.Subject) (none jwt.Member, found bool, err error) {
	ctx = authz.System(ctx, authenticating)
	org := catalog.OrgID(of.Org.String())
	who, err := s.store.IdentifySubject(ctx, org, catalog.SubjectClaim{Issuer: of.Issuer, Subject: of.ID, Email: of.Email,
		Method: catalog.BoundByToken})
	var refused *catalog.SubjectRefusedError
	var ids ids
	switch {
	case errors.As(err, &refused):
		user := ids.parse(string(refused.User))
		return none, false, errors.Join(ids.err, &auth.UnboundError{Org: of.Org, User: user, Issuer: of.Issuer, Subject: of.ID,
			Reason: refused.Reason})
	case errors.Is(err, catalog.ErrInvalid): // no member has such an address
		return none, false, nil
	case err != nil:
		return missing[jwt.Member](err)
	}
	if who.Bound.ID != "" {
		entry := who.Bound.Entry(catalog.ActionIdentityBound)
		entry.User = who.User.ID
		// The binding is stored, so a client that disconnects must not prevent its entry.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditTime)
		defer cancel()
		if err := s.store.AppendAudit(ctx, entry); err != nil {
			return none, false, err
		}
	}
	id := ids.parse(string(who.User.ID))
	if ids.err != nil {
		return none, false, ids.err
	}
	return s.MemberByID(ctx, of.Org, id)
}

// missing returns false without an error if err is [catalog.ErrNotFound].
func missing[T any](err error) (T, bool, error) {
	var none T
	if errors.Is(err, catalog.ErrNotFound) {
		err = nil
	}
	return none, false, err
}

// ids parses the identifiers of one record and retains the first error.
type ids struct{ err error }

func (i *ids) parse(text string) uuid.UUID {
	id, err := uuid.Parse(text)
	if i.err == nil {
		i.err = err
	}
	return id
}
