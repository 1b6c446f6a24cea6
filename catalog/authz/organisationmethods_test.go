package authz_test

import (
	"context"
	"crypto/sha256"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
)

// organisationMethods holds the cases of invitations, and of methods that concern
// organisations as a whole.
var organisationMethods = map[string]method{
	"ListUserOrganisations": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.ListUserOrganisations(ctx, f.users["viewer"], catalog.Page{}))
		},
		allowed: []string{"viewer"}, denied: catalog.ErrDenied, elsewhere: true,
	},
	"FirstOrganisation": {
		call:   func(f *fixture, ctx context.Context) error { return drop(f.store.FirstOrganisation(ctx)) },
		denied: catalog.ErrDenied,
	},
	"UndeleteOrganisation": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.UndeleteOrganisation(ctx, f.gone, f.users["owner"], time.Time{}))
		},
		allowed: []string{"owner"}, denied: catalog.ErrDenied, elsewhere: true,
	},
	"PurgeOrganisation": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.PurgeOrganisation(ctx, time.Now().Add(time.Hour)))
		},
		denied: catalog.ErrDenied,
	},
	"Holdings": {
		call:    func(f *fixture, ctx context.Context) error { return drop(f.store.Holdings(ctx, f.users["viewer"])) },
		allowed: []string{"viewer"}, denied: catalog.ErrDenied, elsewhere: true,
	},
	"DeletePerson": {
		call:    func(f *fixture, ctx context.Context) error { return drop(f.store.DeletePerson(ctx, f.users["viewer"])) },
		allowed: []string{"viewer"}, denied: catalog.ErrDenied, elsewhere: true,
	},
	"AddPerson": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.AddPerson(ctx, f.org, catalog.NewUser{Email: "new@" + ssoDomain}, catalog.RoleAdmin))
		},
		allowed: admins, denied: catalog.ErrDenied,
	},
	"CreateInvitation": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.CreateInvitation(ctx, newInvitation(f, f.actor(ctx), "new@example.com")))
		},
		allowed: admins, denied: catalog.ErrDenied,
	},
	"Invitation": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.Invitation(ctx, f.org, f.invitation.ID))
		},
		allowed: admins, denied: catalog.ErrDenied,
	},
	"ListInvitations": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.ListInvitations(ctx, f.org, catalog.Page{}))
		},
		allowed: admins, denied: catalog.ErrDenied,
	},
	"RevokeInvitation": {
		call: func(f *fixture, ctx context.Context) error {
			return f.store.RevokeInvitation(ctx, f.org, f.invitation.ID)
		},
		allowed: admins, denied: catalog.ErrDenied,
	},
	"InvitationByToken": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.InvitationByToken(ctx, tokenHash("outsider@example.com")))
		},
		denied: catalog.ErrDenied,
	},
	// The invited person may be a member of any organisation, or of none.
	"AcceptInvitation": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.AcceptInvitation(ctx, tokenHash("outsider@example.com"), f.users["outsider"]))
		},
		allowed: []string{"outsider"}, denied: catalog.ErrDenied, elsewhere: true,
	},
	"AcceptInvitationWithPassword": {
		call: func(f *fixture, ctx context.Context) error {
			_, _, err := f.store.AcceptInvitationWithPassword(ctx, tokenHash("outsider@example.com"), catalog.NewPerson{PasswordHash: "$argon2id$"})
			return err
		},
		denied: catalog.ErrDenied,
	},
}

func tokenHash(email string) [32]byte { return sha256.Sum256([]byte("token of " + email)) }

// newInvitation returns an invitation with a token that is derived from the address.
func newInvitation(f *fixture, by catalog.UserID, email string) catalog.NewInvitation {
	return catalog.NewInvitation{Org: f.org, Email: email, Role: catalog.RoleAdmin, TokenHash: tokenHash(email), InvitedBy: by,
		ExpiresAt: time.Now().Add(time.Hour)}
}
