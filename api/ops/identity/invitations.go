package identity

import (
	"context"
	"errors"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/identity/throttle"
	"github.com/lakewarden/lakewarden/auth/mail"
	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// InvitationStore is the part of the catalog that [Invitations] uses.
type InvitationStore interface {
	catalog.Invitations
	Organisation(ctx context.Context, org catalog.OrgID) (catalog.Organisation, error)
}

// Invitations invites people to organisations by e-mail, and makes those who accept
// members. Whoever sends back the token of a link reads the e-mails to the invited person.
type Invitations struct {
	Store InvitationStore
	Mail  Mailer
	Audit Recorder
	// Refusals limits the entries of Audit about refused acceptances.
	Refusals *throttle.Refusals
	// Sent limits the e-mails to one address, and those of one member.
	Sent *throttle.Mailings
	// PublicURL is the base of links.
	PublicURL string
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
}

// invitationValid is [catalog.InvitationLife] in words.
const invitationValid = "7 days"

// Create invites a person to the caller's organisation. The e-mail has the only copy of
// the token. An earlier invitation to the same e-mail address is replaced. It returns a
// [throttle.TooManyError] for a mailbox that the organisation has invited too often, and for a caller
// who has sent too many invitations.
func (i Invitations) Create(ctx context.Context, org catalog.OrgID, email string, role catalog.Role) (none catalog.Invitation, err error) {
	a, err := caller.In(ctx, org)
	if err != nil {
		return none, err
	}
	if email, err = mailbox(email); err != nil {
		return none, err
	}
	if err := i.Sent.Invite(org, a.User, email); err != nil {
		return none, err
	}
	token := session.NewSecret()
	invited, err := i.Store.CreateInvitation(ctx, catalog.NewInvitation{
		Org: org, Email: email, Role: role, TokenHash: invitationHash(token), InvitedBy: a.User,
		ExpiresAt: clock(i.Now).Add(catalog.InvitationLife),
	})
	if err != nil {
		return catalog.Invitation{}, err
	}
	system := authz.System(ctx, "invitation")
	organisation, err := i.Store.Organisation(system, org)
	if err != nil {
		return catalog.Invitation{}, err
	}
	message := mail.Invitation{
		Organisation: organisation.Name, OrganisationID: string(org), Inviter: invited.InviterName, InviterEmail: invited.InviterEmail,
		Role: string(role), Valid: invitationValid,
		Link: tokenLink(i.PublicURL, InvitationPath, token),
	}.Message(invited.Email)
	if !i.Mail.Later(func(context.Context) (*mail.Message, error) { return &message, nil }) {
		// Nobody can accept an invitation whose token is lost.
		return catalog.Invitation{}, errors.Join(ErrMailBusy, i.Store.RevokeInvitation(context.WithoutCancel(system), org, invited.ID))
	}
	entry := caller.NewEntry(a, "invitation.created", "invitation/"+string(invited.ID), catalog.OutcomeAllow)
	entry.Details = details("email", invited.Email, "role", string(invited.Role))
	i.Audit.Record(entry)
	return invited, nil
}

// List lists the open invitations of the caller's organisation.
func (i Invitations) List(ctx context.Context, org catalog.OrgID, page catalog.Page) (catalog.List[catalog.Invitation], error) {
	if _, err := caller.In(ctx, org); err != nil {
		return catalog.List[catalog.Invitation]{}, err
	}
	return i.Store.ListInvitations(ctx, org, page)
}

// Get returns an open invitation of the caller's organisation.
func (i Invitations) Get(ctx context.Context, org catalog.OrgID, id catalog.InvitationID) (catalog.Invitation, error) {
	if _, err := caller.In(ctx, org); err != nil {
		return catalog.Invitation{}, err
	}
	return i.Store.Invitation(ctx, org, id)
}

// Revoke revokes an open invitation of the caller's organisation.
func (i Invitations) Revoke(ctx context.Context, org catalog.OrgID, id catalog.InvitationID) error {
	if _, err := caller.In(ctx, org); err != nil {
		return err
	}
	return i.Store.RevokeInvitation(ctx, org, id)
}

// Open returns the invitation of a token, for a page that shows it before it is accepted.
// It returns [ErrLink] for an invitation that cannot be accepted.
func (i Invitations) Open(ctx context.Context, token string) (catalog.OpenInvitation, error) {
	open, err := i.Store.InvitationByToken(authz.System(ctx, "invitation"), invitationHash(token))
	return open, invitationError(err)
}

// Accept makes the caller, a person who has signed in, a member. It returns [ErrLink] for
// an invitation that cannot be accepted or is for another e-mail address.
func (i Invitations) Accept(ctx context.Context, token string) (catalog.Invitation, error) {
	a, err := caller.From(ctx)
	if err != nil {
		return catalog.Invitation{}, err
	}
	accepted, err := i.Store.AcceptInvitation(ctx, invitationHash(token), a.User)
	i.record(accepted, a.User, originOf(a), err)
	return accepted, invitationError(err)
}

// AcceptWithPassword makes the invited person, who has no password yet, a member with a
// password, given as its hash, and returns the person. The token proves that the person
// reads the e-mails to the address. It returns [ErrLink] as Accept does, and
// [catalog.ErrExists] with field password for a person who has one and must sign in.
func (i Invitations) AcceptWithPassword(ctx context.Context, token, displayName, hash string, from Origin) (catalog.Invitation,
	catalog.UserID, error) {
	accepted, user, err := i.Store.AcceptInvitationWithPassword(authz.System(ctx, "invitation"), invitationHash(token),
		catalog.NewPerson{DisplayName: displayName, PasswordHash: hash})
	i.record(accepted, user, from, err)
	return accepted, user, invitationError(err)
}

// record writes an audit entry about an acceptance, unless it is one of a flood of refused
// ones. The entry of a refused one names no organisation, because the token may be made up.
func (i Invitations) record(accepted catalog.Invitation, user catalog.UserID, from Origin, err error) {
	entry := catalog.AuditEntry{Org: accepted.Org, User: user, Action: "invitation.accepted", Outcome: catalog.OutcomeAllow,
		Remote: from.Remote, RequestID: from.RequestID}
	if err != nil {
		limited, audited := i.Refusals.Add(string(user), from.Remote)
		if !audited {
			return
		}
		entry.Org, entry.Action, entry.Outcome = "", "invitation.refused", catalog.OutcomeDeny
		if limited != "" {
			entry.Details = details("rate_limited", limited)
		}
	} else {
		entry.Resource = "invitation/" + string(accepted.ID)
		entry.Details = details("email", accepted.Email, "role", string(accepted.Role))
	}
	i.Audit.Record(entry)
}

// invitationHash returns the hash under which the catalog stores an invitation.
func invitationHash(token string) [32]byte { return [32]byte(session.Hash(token)) }

// invitationError replaces the catalog's error of a missing record.
func invitationError(err error) error {
	if errors.Is(err, catalog.ErrNotFound) {
		return ErrLink
	}
	return err
}
