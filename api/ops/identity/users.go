package identity

import (
	"context"
	"errors"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/catalog"
)

// Users adds members to an organisation, and removes them.
type Users struct {
	Store       catalog.Memberships
	Invitations Invitations
}

// Added is the result of [Users.Add]: a member or an invitation.
type Added struct {
	// Member is nil if the person was invited.
	Member *catalog.Membership
	// Invitation is the zero value if the person is a member.
	Invitation catalog.Invitation
}

// Add makes the person with an e-mail address a member of the caller's organisation, and creates
// the person if necessary. A person whose e-mail address is not known to be the organisation's own
// is invited instead, whether or not the server knows the address: see
// [catalog.Memberships.AddPerson]. Callers cannot grant a role above their own. Errors are
// those of the store and of [Invitations.Create].
func (u Users) Add(ctx context.Context, org catalog.OrgID, person catalog.NewUser, role catalog.Role) (Added, error) {
	if _, err := caller.In(ctx, org); err != nil {
		return Added{}, err
	}
	member, err := u.Store.AddPerson(ctx, org, person, role)
	if errors.Is(err, catalog.ErrConsent) {
		invited, err := u.Invitations.Create(ctx, org, person.Email, role)
		return Added{Invitation: invited}, err
	}
	return Added{Member: &member}, err
}

// Remove ends a membership, with everything that the member may do by it, from the
// member's next request on. Members who have signed in may end their own.
func (u Users) Remove(ctx context.Context, org catalog.OrgID, user catalog.UserID) error {
	if _, err := caller.In(ctx, org); err != nil {
		return err
	}
	return u.Store.RemoveMember(ctx, org, user)
}
