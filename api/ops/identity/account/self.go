package account

import (
	"context"
	"errors"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// SelfStore is the part of the catalog that [Self] uses.
type SelfStore interface {
	catalog.Users
	catalog.Memberships
	catalog.Workspaces
	ListUserOrganisations(ctx context.Context, user catalog.UserID, page catalog.Page) (catalog.List[catalog.UserOrganisation], error)
}

// Self shows callers to themselves, and lets them change and delete their accounts.
type Self struct {
	Store SelfStore
	Audit Recorder
}

// Profile is what callers learn about themselves.
type Profile struct {
	User catalog.User
	// Membership is nil for a person in no organisation.
	Membership *catalog.Membership
	// Scopes are those of the credential that the role of the membership allows. They may be
	// newer than those that the request was authorised by.
	Scopes auth.ScopeSet
	// Organisations are those that [Organisations.List] lists and that are not deleted.
	Organisations []catalog.UserOrganisation
	// Workspaces are those of the current organisation that the caller reaches. It is
	// empty for a credential without org:read.
	Workspaces []catalog.Workspace
}

// Get returns the caller's profile.
func (s Self) Get(ctx context.Context) (p Profile, err error) {
	a, err := caller.From(ctx)
	if err != nil {
		return p, err
	}
	if p.User, err = s.Store.User(ctx, a.User); err != nil {
		return p, err
	}
	err = catalog.Each(func(page catalog.Page) (catalog.List[catalog.UserOrganisation], error) {
		return s.Store.ListUserOrganisations(ctx, a.User, page)
	}, func(o catalog.UserOrganisation) error {
		if o.DeletedAt.IsZero() {
			p.Organisations = append(p.Organisations, o)
		}
		return nil
	})
	if err != nil || a.Org == "" {
		return p, err
	}
	m, err := s.Store.Membership(ctx, a.Org, a.User)
	if err != nil {
		return p, err
	}
	p.Membership, p.Scopes = &m, a.Granted.Intersect(auth.Role(m.Role).Scopes())
	for i, o := range p.Organisations {
		if o.ID == m.Org {
			p.Organisations[i].Role = m.Role
		}
	}
	err = catalog.Each(func(page catalog.Page) (catalog.List[catalog.Workspace], error) {
		return s.Store.ListWorkspaces(ctx, a.Org, catalog.WorkspaceFilter{Member: a.User}, page)
	}, func(w catalog.Workspace) error {
		p.Workspaces = append(p.Workspaces, w)
		return nil
	})
	if errors.Is(err, catalog.ErrDenied) {
		err = nil
	}
	return p, err
}

// Rename changes the caller's display name. It is for people who have signed in.
func (s Self) Rename(ctx context.Context, displayName string) error {
	a, err := caller.From(ctx)
	if err != nil {
		return err
	}
	_, err = s.Store.UpdateUser(ctx, a.User, catalog.AnyVersion, catalog.UserChange{DisplayName: &displayName})
	return err
}

// Delete deletes the account of the caller, a person who has signed in, and returns what the person
// had. With dryRun it only returns that. It returns [catalog.ErrOwner] for an owner of
// organisations.
func (s Self) Delete(ctx context.Context, dryRun bool) (catalog.Holdings, error) {
	a, err := caller.From(ctx)
	if err != nil {
		return catalog.Holdings{}, err
	}
	if dryRun {
		return s.Store.Holdings(ctx, a.User)
	}
	former, err := s.Store.DeletePerson(ctx, a.User)
	if err != nil {
		return catalog.Holdings{}, err
	}
	for _, o := range former.Memberships {
		entry := caller.NewEntry(a, "account.deleted", "user/"+string(a.User), catalog.OutcomeAllow)
		entry.Org = o.ID
		s.Audit.Record(entry)
	}
	return former, nil
}
