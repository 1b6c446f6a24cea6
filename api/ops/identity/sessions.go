package identity

import (
	"context"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/catalog"
)

// SessionStore is the part of the store of sign-ins that [SessionLists] uses.
type SessionStore interface {
	ListSessions(ctx context.Context, f session.Filter, page catalog.Page) (catalog.List[session.Listed], error)
	RevokeFamily(ctx context.Context, id uuid.UUID) error
}

// SessionLists shows people where they are signed in and which programs they have allowed, and
// administrators the same of members. It ends these sessions.
type SessionLists struct {
	Sessions SessionStore
	Members  interface {
		Membership(ctx context.Context, org catalog.OrgID, user catalog.UserID) (catalog.Membership, error)
	}
}

// Mine lists the caller's sessions: all of them, or those of the organisation that the caller's own is
// limited to. It is for people who have signed in, not for programs that act for them.
func (l SessionLists) Mine(ctx context.Context, page catalog.Page) (catalog.List[session.Listed], error) {
	f, err := mine(ctx)
	if err != nil {
		return catalog.List[session.Listed]{}, err
	}
	return l.Sessions.ListSessions(ctx, f, page)
}

// EndMine ends one of the sessions of [SessionLists.Mine], and the programs that were allowed in it.
func (l SessionLists) EndMine(ctx context.Context, id uuid.UUID) error {
	f, err := mine(ctx)
	if err != nil {
		return err
	}
	return l.end(ctx, f, id)
}

// mine selects the caller's sessions.
func mine(ctx context.Context) (session.Filter, error) {
	a, err := caller.From(ctx)
	if err != nil {
		return session.Filter{}, err
	}
	if !a.ActsAsPerson() {
		return session.Filter{}, &catalog.DeniedError{Reason: "sign_in_required"}
	}
	f := session.Filter{User: a.UserID}
	if a.Confined {
		f.Org = a.OrgID
	}
	return f, nil
}

// OfMember lists the sessions of a member of the caller's organisation that are limited to it, and, if
// the person is the organisation's own, also those that are not limited. It tells nothing of what
// people of other organisations do there.
func (l SessionLists) OfMember(ctx context.Context, org catalog.OrgID, user catalog.UserID,
	page catalog.Page) (none catalog.List[session.Listed], err error) {
	f, err := l.ofMember(ctx, org, user)
	if err != nil {
		return none, err
	}
	return l.Sessions.ListSessions(ctx, f, page)
}

// EndOfMember ends one of the sessions of [SessionLists.OfMember], and the programs that were allowed
// in it.
func (l SessionLists) EndOfMember(ctx context.Context, org catalog.OrgID, user catalog.UserID, id uuid.UUID) error {
	f, err := l.ofMember(ctx, org, user)
	if err != nil {
		return err
	}
	return l.end(ctx, f, id)
}

// ofMember selects the sessions of a member.
func (l SessionLists) ofMember(ctx context.Context, org catalog.OrgID, user catalog.UserID) (f session.Filter, err error) {
	a, err := caller.In(ctx, org)
	if err != nil {
		return f, err
	}
	m, err := l.Members.Membership(ctx, org, user)
	if err != nil {
		return f, err
	}
	f = session.Filter{Org: a.OrgID}
	if m.Kind == catalog.UserPerson {
		f.Domain = domainOf(m.Email)
	}
	f.User, err = uuid.Parse(string(user))
	return f, err
}

func (l SessionLists) end(ctx context.Context, f session.Filter, id uuid.UUID) error {
	f.ID = id
	found, err := l.Sessions.ListSessions(ctx, f, catalog.Page{Size: 1})
	switch {
	case err != nil:
		return err
	case id == uuid.Nil || len(found.Items) == 0:
		return catalog.ErrNotFound
	}
	return l.Sessions.RevokeFamily(ctx, id)
}
