package catalog

import (
	"context"
	"time"
)

// Organisations stores tenants.
type Organisations interface {
	// CreateOrganisation creates an organisation, its default workspace and the owner's
	// membership as an administrator. It returns [ErrNotFound] if the owner is not a
	// user, and [ErrTooManyOrganisations].
	CreateOrganisation(ctx context.Context, org NewOrganisation) (Organisation, error)
	// Organisation returns an organisation that is not deleted.
	Organisation(ctx context.Context, org OrgID) (Organisation, error)
	// ListOrganisations lists organisations that are not deleted, oldest first.
	ListOrganisations(ctx context.Context, page Page) (List[Organisation], error)
	// ListUserOrganisations lists the organisations of a member, oldest first: those
	// that are not deleted, and the deleted ones that the user owns.
	ListUserOrganisations(ctx context.Context, user UserID, page Page) (List[UserOrganisation], error)
	// FirstOrganisation returns the organisation that was created first, even if it has
	// been deleted or purged, or [ErrNotFound] if there never was one.
	FirstOrganisation(ctx context.Context) (OrgID, error)
	// UpdateOrganisation changes fields. It returns [FieldErrors] if a new owner is not
	// a person who is an administrator, and [ErrTooManyOrganisations]. The sessions of open
	// clients end if the configuration does not allow them.
	UpdateOrganisation(ctx context.Context, org OrgID, expectedVersion int64, change OrganisationChange) (Organisation, error)
	// DeleteOrganisation marks an organisation as deleted. Its records are no longer
	// found, except by [Audit]. The locations of its configurations remain taken.
	DeleteOrganisation(ctx context.Context, org OrgID, expectedVersion int64) error
	// UndeleteOrganisation undoes a deletion. Its sign-ins by single sign-on end, because a
	// provider may have ended them meanwhile. It returns [ErrNotFound] unless the user
	// owns the organisation, and if it was deleted before the given time. Idempotent.
	UndeleteOrganisation(ctx context.Context, org OrgID, owner UserID, since time.Time) (Organisation, error)
	// PurgeOrganisation removes the records of one organisation that was deleted before
	// the given time, except those of [Audit], and returns its id. Data outside the
	// catalog remain, so an organisation whose operations still have stored results is
	// not purged. It returns [ErrNotFound] if there is none.
	PurgeOrganisation(ctx context.Context, deletedBefore time.Time) (OrgID, error)
}

// Users stores people and service accounts, across organisations.
type Users interface {
	// CreateUser creates a user. It returns [ErrExists] with field email.
	CreateUser(ctx context.Context, user NewUser) (User, error)
	// User returns a user of either kind.
	User(ctx context.Context, user UserID) (User, error)
	// UserByEmail finds a person by e-mail address, regardless of case. Service accounts
	// are not found.
	UserByEmail(ctx context.Context, email string) (User, error)
	// UpdateUser changes fields. It returns [ErrExists] with field email.
	UpdateUser(ctx context.Context, user UserID, expectedVersion int64, change UserChange) (User, error)
	// Holdings returns what a person has in all organisations.
	Holdings(ctx context.Context, user UserID) (Holdings, error)
	// DeletePerson ends all memberships of a person as [Memberships.RemoveMember] does, and
	// removes the password, the bound identities, the secrets of personal configurations, the
	// name and the address. The person is no longer found, and the address is free. What the
	// person made in organisations stays. It returns the former holdings, and [ErrOwner] for
	// the owner of organisations that are not deleted.
	DeletePerson(ctx context.Context, user UserID) (Holdings, error)
}

// Memberships stores the members of organisations with their roles and policy
// attributes.
type Memberships interface {
	// AddMember makes a user a member. It returns [ErrExists] with field user_id.
	AddMember(ctx context.Context, org OrgID, user UserID, role Role) (Membership, error)
	// Membership returns a membership. It is called for every request and costs one indexed
	// read.
	Membership(ctx context.Context, org OrgID, user UserID) (Membership, error)
	// ListMembers lists members by e-mail address.
	ListMembers(ctx context.Context, org OrgID, page Page) (List[Membership], error)
	// SetMemberRole changes a role. The open invitations by a former administrator are
	// revoked. It returns [ErrLastAdmin] if the member is the owner or the last
	// administrator and the role is weaker.
	SetMemberRole(ctx context.Context, org OrgID, user UserID, role Role) (Membership, error)
	// AddPerson makes the person with an e-mail address a member without asking the person,
	// and creates the person if necessary. It returns [ErrExists] with field email for a
	// member, and [ErrConsent] unless the organisation has verified the domain of the
	// address or is the only one of the server, deleted ones included. Whether the address
	// is known has no influence on that.
	AddPerson(ctx context.Context, org OrgID, person NewUser, role Role) (Membership, error)
	// RemoveMember ends a membership and the user's memberships of workspaces. It revokes
	// the user's keys, the sessions for this organisation only and the open invitations by
	// the user, and removes the user's links to providers and the client of a service
	// account. Personal configurations remain, invisible. It returns [ErrLastAdmin] for the
	// owner and the last administrator.
	RemoveMember(ctx context.Context, org OrgID, user UserID) error
	// ReplaceAttributes sets all policy attributes of a member. Idempotent.
	ReplaceAttributes(ctx context.Context, org OrgID, user UserID, attributes map[string]string) (Membership, error)
	// ChangeAttributes sets policy attributes of a member, and removes those that are nil.
	// The others stay as they are at that moment, so that it undoes no change of them at the
	// same time. Idempotent.
	ChangeAttributes(ctx context.Context, org OrgID, user UserID, changes map[string]*string) (Membership, error)
}
