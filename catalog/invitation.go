package catalog

import (
	"context"
	"time"
)

// InvitationLife is how long an invitation can be accepted.
const InvitationLife = 7 * 24 * time.Hour

// Invitation offers the membership of an organisation to whoever reads the e-mails to a
// mailbox.
type Invitation struct {
	ID  InvitationID
	Org OrgID
	// Email is normalised; see [NormaliseEmail].
	Email string
	Role  Role
	// InvitedBy is the member who invited.
	InvitedBy UserID
	// InviterName is the display name of that member, and InviterEmail the address, which is
	// empty for a service account.
	InviterName, InviterEmail string
	CreatedAt                 time.Time
	ExpiresAt                 time.Time
}

// NewInvitation is the input of [Invitations.CreateInvitation]. An empty ID lets the
// store choose one.
type NewInvitation struct {
	ID    InvitationID
	Org   OrgID
	Email string
	Role  Role
	// TokenHash is the SHA-256 of the token in the link. The token itself is not stored.
	TokenHash [32]byte
	InvitedBy UserID
	ExpiresAt time.Time
	// Maker is what the invitation is made with. The invitation expires with it.
	Maker Maker
}

// Validate returns nil or [FieldErrors].
func (n NewInvitation) Validate() error {
	var e FieldErrors
	e.mailbox("email", n.Email)
	if !n.Role.Valid() {
		e.add("role", "must be one of viewer, editor, builder, admin")
	}
	if n.TokenHash == [32]byte{} {
		e.add("token_hash", "must not be empty")
	}
	return e.Err()
}

// OpenInvitation is an invitation that can be accepted, with what a page shows about it.
type OpenInvitation struct {
	Invitation
	Organisation string
	// Password reports whether the invited person has a password already.
	Password bool
}

// NewPerson is what a person without a password states when accepting an invitation.
type NewPerson struct {
	// DisplayName is ignored if the person has one.
	DisplayName string
	// PasswordHash is in the PHC string format.
	PasswordHash string
}

// Validate returns nil or [FieldErrors].
func (n NewPerson) Validate() error {
	var e FieldErrors
	e.text("display_name", n.DisplayName, 0, 200)
	if err := e.Err(); err != nil {
		return err
	}
	return ValidatePasswordHash(n.PasswordHash)
}

// Invitations stores invitations. An invitation is open until it is accepted, revoked or
// replaced. It can be accepted while it is open, before it expires.
type Invitations interface {
	// CreateInvitation creates an invitation, which replaces an open one to the same
	// e-mail address. It returns [ErrExists] with field email for that of a member, and
	// [ErrNotFound] if the inviter is not an administrator.
	CreateInvitation(ctx context.Context, invitation NewInvitation) (Invitation, error)
	// Invitation returns an open invitation.
	Invitation(ctx context.Context, org OrgID, invitation InvitationID) (Invitation, error)
	// ListInvitations lists open invitations, oldest first.
	ListInvitations(ctx context.Context, org OrgID, page Page) (List[Invitation], error)
	// RevokeInvitation revokes an open invitation.
	RevokeInvitation(ctx context.Context, org OrgID, invitation InvitationID) error
	// InvitationByToken returns the invitation of a token that can be accepted.
	InvitationByToken(ctx context.Context, tokenHash [32]byte) (OpenInvitation, error)
	// AcceptInvitation makes a person a member. Of several calls with a token, one
	// succeeds. It returns [ErrNotFound] for a token whose invitation cannot be accepted
	// or is for another e-mail address. The role of a member does not change.
	AcceptInvitation(ctx context.Context, tokenHash [32]byte, user UserID) (Invitation, error)
	// AcceptInvitationWithPassword makes the invited person a member and sets the
	// person's first password. It creates the person if necessary. It returns
	// [ErrNotFound] as AcceptInvitation does, and [ErrExists] with field password for a
	// person who has one.
	AcceptInvitationWithPassword(ctx context.Context, tokenHash [32]byte, person NewPerson) (Invitation, UserID, error)
}
