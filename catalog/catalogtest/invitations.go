package catalogtest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

// token returns a new token's hash.
func (w *world) token() [32]byte { return sha256.Sum256(fmt.Append(nil, "token ", w.next())) }

func (w *world) newInvitation(org catalog.OrgID, by catalog.UserID, email string, role catalog.Role) catalog.NewInvitation {
	return catalog.NewInvitation{Org: org, Email: email, Role: role, TokenHash: w.token(), InvitedBy: by, ExpiresAt: w.now().Add(time.Hour)}
}

// invite creates an invitation and returns its token's hash, too.
func (w *world) invite(org catalog.OrgID, by catalog.UserID, email string, role catalog.Role) (catalog.Invitation, [32]byte) {
	w.Helper()
	n := w.newInvitation(org, by, email, role)
	created, err := w.CreateInvitation(w.ctx, n)
	require.NoError(w, err)
	return created, n.TokenHash
}

func invitations(t *testing.T, w *world) {
	org, owner := w.org()
	other, otherOwner := w.org()
	builder := w.member(org, catalog.RoleBuilder)
	first, _ := w.invite(org, owner, " Ada@Example.com ", catalog.RoleEditor)
	require.Equal(t, "ada@example.com", first.Email)
	require.Equal(t, catalog.RoleEditor, first.Role)
	require.Equal(t, owner, first.InvitedBy)
	second, _ := w.invite(org, owner, "bob@example.com", catalog.RoleAdmin)
	theirs, _ := w.invite(other, otherOwner, "ada@example.com", catalog.RoleViewer)

	found, err := w.Invitation(w.ctx, org, first.ID)
	require.NoError(t, err)
	w.same(first, found)
	_, err = w.Invitation(w.ctx, org, theirs.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	require.ErrorIs(t, w.RevokeInvitation(w.ctx, org, theirs.ID), catalog.ErrNotFound)
	list := func() []catalog.Invitation {
		return all(w, 1, func(p catalog.Page) (catalog.List[catalog.Invitation], error) {
			return w.ListInvitations(w.ctx, org, p)
		})
	}
	w.same([]catalog.Invitation{first, second}, list())

	again, _ := w.invite(org, owner, "ada@example.com", catalog.RoleViewer)
	w.same([]catalog.Invitation{second, again}, list())
	_, err = w.Invitation(w.ctx, org, first.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound, "replaced")
	require.NoError(t, w.RevokeInvitation(w.ctx, org, again.ID))
	require.ErrorIs(t, w.RevokeInvitation(w.ctx, org, again.ID), catalog.ErrNotFound)
	w.same([]catalog.Invitation{second}, list())

	member, err := w.User(w.ctx, builder)
	require.NoError(t, err)
	_, err = w.CreateInvitation(w.ctx, w.newInvitation(org, owner, member.Email, catalog.RoleViewer))
	existing(w, err, "email")
	for _, inviter := range []catalog.UserID{builder, otherOwner, w.user()} {
		_, err = w.CreateInvitation(w.ctx, w.newInvitation(org, inviter, "new@example.com", catalog.RoleViewer))
		require.ErrorIs(t, err, catalog.ErrNotFound, "administrators invite")
	}
	for _, address := range []string{
		"", "ada", "Ada <ada@example.com>", "x@service.invalid", "\u0430da@example.com", "ada@ex\u0430mple.com", "ada@exa\u200bmple.com",
		"\u212Aate@example.com", "ada@example.com,bob@example.com",
	} {
		_, err = w.CreateInvitation(w.ctx, w.newInvitation(org, owner, address, catalog.RoleViewer))
		require.Equal(t, []string{"email"}, fieldsOf(w, err), "%q", address)
	}
	_, err = w.CreateInvitation(w.ctx, w.newInvitation(org, owner, "new@example.com", "root"))
	require.Equal(t, []string{"role"}, fieldsOf(w, err))

	require.NoError(t, w.DeleteOrganisation(w.ctx, org, catalog.AnyVersion))
	_, err = w.CreateInvitation(w.ctx, w.newInvitation(org, owner, "new@example.com", catalog.RoleViewer))
	require.ErrorIs(t, err, catalog.ErrNotFound)
	_, err = w.Invitation(w.ctx, org, second.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	require.Empty(t, list())
}

func acceptedInvitations(t *testing.T, w *world) {
	org, owner := w.org()
	ada, err := w.CreateUser(w.ctx, catalog.NewUser{Email: "ada@example.com"})
	require.NoError(t, err)
	invited, token := w.invite(org, owner, "ADA@example.com", catalog.RoleEditor)

	open, err := w.InvitationByToken(w.ctx, token)
	require.NoError(t, err)
	w.same(invited, open.Invitation)
	require.NotEmpty(t, open.Organisation)
	require.False(t, open.Password)
	for _, user := range []catalog.UserID{owner, w.user(), catalog.NewID[catalog.UserID]()} {
		_, err = w.AcceptInvitation(w.ctx, token, user)
		require.ErrorIs(t, err, catalog.ErrNotFound, "of another address")
	}
	_, err = w.AcceptInvitation(w.ctx, w.token(), ada.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound, "an unknown token")

	before := w.epochNow()
	accepted, err := w.AcceptInvitation(w.ctx, token, ada.ID)
	require.NoError(t, err)
	w.same(invited, accepted)
	require.Greater(t, w.epochNow(), before)
	m, err := w.Membership(w.ctx, org, ada.ID)
	require.NoError(t, err)
	require.Equal(t, catalog.RoleEditor, m.Role)
	_, err = w.AcceptInvitation(w.ctx, token, ada.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound, "replayed")
	_, err = w.InvitationByToken(w.ctx, token)
	require.ErrorIs(t, err, catalog.ErrNotFound)

	refused := func(why string, end func(email string) catalog.UserID) {
		email := fmt.Sprintf("person%d@example.com", w.next())
		_, token := w.invite(org, owner, email, catalog.RoleViewer)
		user := end(email)
		_, err := w.InvitationByToken(w.ctx, token)
		require.ErrorIs(t, err, catalog.ErrNotFound, why)
		_, err = w.AcceptInvitation(w.ctx, token, user)
		require.ErrorIs(t, err, catalog.ErrNotFound, why)
		_, _, err = w.AcceptInvitationWithPassword(w.ctx, token, catalog.NewPerson{PasswordHash: "$argon2id$hash"})
		require.ErrorIs(t, err, catalog.ErrNotFound, why)
	}
	create := func(email string) catalog.UserID {
		u, err := w.CreateUser(w.ctx, catalog.NewUser{Email: email})
		require.NoError(t, err)
		return u.ID
	}
	refused("revoked", func(email string) catalog.UserID {
		list, err := w.ListInvitations(w.ctx, org, catalog.Page{})
		require.NoError(t, err)
		require.NoError(t, w.RevokeInvitation(w.ctx, org, list.Items[len(list.Items)-1].ID))
		return create(email)
	})
	refused("replaced", func(email string) catalog.UserID {
		w.invite(org, owner, email, catalog.RoleAdmin)
		return create(email)
	})
	refused("expired", func(email string) catalog.UserID {
		w.clock.Add(time.Hour.Microseconds())
		return create(email)
	})

	// A member's role does not change by an invitation that was sent before.
	_, token = w.invite(org, owner, "carl@example.com", catalog.RoleAdmin)
	carl, err := w.AddPerson(w.ctx, org, catalog.NewUser{Email: "carl@example.com"}, catalog.RoleViewer)
	require.NoError(t, err)
	_, err = w.AcceptInvitation(w.ctx, token, carl.User)
	require.NoError(t, err)
	m, err = w.Membership(w.ctx, org, carl.User)
	require.NoError(t, err)
	require.Equal(t, catalog.RoleViewer, m.Role)
	refused("deleted organisation", func(email string) catalog.UserID {
		require.NoError(t, w.DeleteOrganisation(w.ctx, org, catalog.AnyVersion))
		return create(email)
	})
}

func passwordInvitations(t *testing.T, w *world) {
	org, owner := w.org()
	other, otherOwner := w.org()
	invited, token := w.invite(org, owner, "ada@example.com", catalog.RoleEditor)
	for _, bad := range []catalog.NewPerson{{}, {PasswordHash: "$argon2id$hash", DisplayName: " x"}} {
		_, _, err := w.AcceptInvitationWithPassword(w.ctx, token, bad)
		require.ErrorIs(t, err, catalog.ErrInvalid)
	}
	accepted, user, err := w.AcceptInvitationWithPassword(w.ctx, token, catalog.NewPerson{DisplayName: "Ada", PasswordHash: "$argon2id$hash"})
	require.NoError(t, err)
	w.same(invited, accepted)
	found, err := w.UserByEmail(w.ctx, "ada@example.com")
	require.NoError(t, err)
	require.Equal(t, user, found.ID)
	require.Equal(t, "Ada", found.DisplayName)
	m, err := w.Membership(w.ctx, org, user)
	require.NoError(t, err)
	require.Equal(t, catalog.RoleEditor, m.Role)
	_, _, err = w.AcceptInvitationWithPassword(w.ctx, token, catalog.NewPerson{PasswordHash: "$argon2id$other"})
	require.ErrorIs(t, err, catalog.ErrNotFound, "replayed")

	_, token = w.invite(other, otherOwner, "ada@example.com", catalog.RoleViewer)
	open, err := w.InvitationByToken(w.ctx, token)
	require.NoError(t, err)
	require.True(t, open.Password)
	_, _, err = w.AcceptInvitationWithPassword(w.ctx, token, catalog.NewPerson{PasswordHash: "$argon2id$other"})
	existing(w, err, "password")
	_, err = w.Membership(w.ctx, other, user)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	_, err = w.AcceptInvitation(w.ctx, token, user)
	require.NoError(t, err, "the person signs in instead")

	// A person without a password gets one, and keeps the name.
	bob, err := w.CreateUser(w.ctx, catalog.NewUser{Email: "bob@example.com", DisplayName: "Bob"})
	require.NoError(t, err)
	_, token = w.invite(org, owner, "bob@example.com", catalog.RoleViewer)
	_, user, err = w.AcceptInvitationWithPassword(w.ctx, token, catalog.NewPerson{DisplayName: "Robert", PasswordHash: "$argon2id$hash"})
	require.NoError(t, err)
	require.Equal(t, bob.ID, user)
	found, err = w.User(w.ctx, user)
	require.NoError(t, err)
	require.Equal(t, "Bob", found.DisplayName)
}

// endedInvitations checks that invitations do not outlive the rights of the inviter.
func endedInvitations(t *testing.T, w *world) {
	org, owner := w.org()
	for name, end := range map[string]func(admin catalog.UserID) error{
		"demoted": func(admin catalog.UserID) error {
			_, err := w.SetMemberRole(w.ctx, org, admin, catalog.RoleBuilder)
			return err
		},
		"removed": func(admin catalog.UserID) error { return w.RemoveMember(w.ctx, org, admin) },
	} {
		admin := w.member(org, catalog.RoleAdmin)
		ended, token := w.invite(org, admin, name+"@example.com", catalog.RoleViewer)
		lasting, _ := w.invite(org, owner, "not."+name+"@example.com", catalog.RoleViewer)
		require.NoError(t, end(admin))
		_, err := w.Invitation(w.ctx, org, ended.ID)
		require.ErrorIs(t, err, catalog.ErrNotFound, name)
		_, err = w.InvitationByToken(w.ctx, token)
		require.ErrorIs(t, err, catalog.ErrNotFound, name)
		_, err = w.Invitation(w.ctx, org, lasting.ID)
		require.NoError(t, err)
	}
}

// raceInvitations checks that one of many acceptances of a token succeeds.
func raceInvitations(t *testing.T, w *world) {
	org, owner := w.org()
	ada, err := w.CreateUser(w.ctx, catalog.NewUser{Email: "ada@example.com"})
	require.NoError(t, err)
	for range 5 {
		_, token := w.invite(org, owner, "ada@example.com", catalog.RoleEditor)
		errs := race(w, 8, func(s catalog.Store, i int) error {
			_, err := s.AcceptInvitation(w.ctx, token, ada.ID)
			return err
		})
		require.Equal(t, 1, winners(w, errs, catalog.ErrNotFound))
		require.NoError(t, w.RemoveMember(w.ctx, org, ada.ID))
	}
	_, token := w.invite(org, owner, "new@example.com", catalog.RoleEditor)
	errs := race(w, 8, func(s catalog.Store, i int) error {
		_, _, err := s.AcceptInvitationWithPassword(w.ctx, token, catalog.NewPerson{PasswordHash: fmt.Sprint("$argon2id$hash", i)})
		return err
	})
	require.Equal(t, 1, winners(w, errs, catalog.ErrNotFound))
}

// raceReplacedInvitations replaces an invitation while it is accepted: either the old role
// is granted and nothing is open, or the old token is void and the new one is open.
func raceReplacedInvitations(t *testing.T, w *world) {
	org, owner := w.org()
	for range 20 {
		email := fmt.Sprintf("person%d@example.com", w.next())
		u, err := w.CreateUser(w.ctx, catalog.NewUser{Email: email})
		require.NoError(t, err)
		_, old := w.invite(org, owner, email, catalog.RoleViewer)
		replacement := w.newInvitation(org, owner, email, catalog.RoleAdmin)
		errs := race(w, 2, func(s catalog.Store, i int) error {
			if i == 0 {
				_, err := s.AcceptInvitation(w.ctx, old, u.ID)
				return err
			}
			_, err := s.CreateInvitation(w.ctx, replacement)
			return err
		})
		m, memberErr := w.Membership(w.ctx, org, u.ID)
		_, openErr := w.InvitationByToken(w.ctx, replacement.TokenHash)
		if errs[0] == nil {
			require.NoError(t, memberErr)
			require.Equal(t, catalog.RoleViewer, m.Role)
			require.ErrorIs(t, errs[1], catalog.ErrExists)
			require.ErrorIs(t, openErr, catalog.ErrNotFound)
			continue
		}
		require.ErrorIs(t, errs[0], catalog.ErrNotFound)
		require.NoError(t, errs[1])
		require.ErrorIs(t, memberErr, catalog.ErrNotFound)
		require.NoError(t, openErr)
	}
}

// raceInviters demotes an administrator who is inviting: no open invitation is left.
func raceInviters(t *testing.T, w *world) {
	org, _ := w.org()
	for range 20 {
		admin := w.member(org, catalog.RoleAdmin)
		invitation := w.newInvitation(org, admin, fmt.Sprintf("person%d@example.com", w.next()), catalog.RoleAdmin)
		race(w, 2, func(s catalog.Store, i int) error {
			if i == 0 {
				_, err := s.CreateInvitation(w.ctx, invitation)
				if errors.Is(err, catalog.ErrNotFound) {
					err = nil
				}
				require.NoError(t, err)
				return nil
			}
			_, err := s.SetMemberRole(w.ctx, org, admin, catalog.RoleViewer)
			require.NoError(t, err)
			return err
		})
		_, err := w.InvitationByToken(w.ctx, invitation.TokenHash)
		require.ErrorIs(t, err, catalog.ErrNotFound)
	}
}

func addedPeople(t *testing.T, w *world) {
	org, _ := w.org()
	added, err := w.AddPerson(w.ctx, org, catalog.NewUser{Email: "Ada@example.com", DisplayName: "Ada"}, catalog.RoleEditor)
	require.NoError(t, err)
	require.Equal(t, "ada@example.com", added.Email)
	require.Equal(t, "Ada", added.DisplayName)
	require.Equal(t, catalog.UserPerson, added.Kind)
	require.Equal(t, catalog.RoleEditor, added.Role)
	_, err = w.AddPerson(w.ctx, org, catalog.NewUser{Email: "ada@EXAMPLE.com"}, catalog.RoleAdmin)
	existing(w, err, "email")
	m, err := w.Membership(w.ctx, org, added.User)
	require.NoError(t, err)
	require.Equal(t, catalog.RoleEditor, m.Role)

	_, err = w.AddPerson(w.ctx, org, catalog.NewUser{Email: "\u0430da@example.com"}, catalog.RoleViewer)
	require.Equal(t, []string{"email"}, fieldsOf(w, err), "looks like another address")
	_, err = w.AddPerson(w.ctx, org, catalog.NewUser{Kind: catalog.UserService}, catalog.RoleViewer)
	require.Equal(t, []string{"email"}, fieldsOf(w, err), "not a person")
	_, err = w.AddPerson(w.ctx, org, catalog.NewUser{Email: "new@example.com"}, "root")
	require.Equal(t, []string{"role"}, fieldsOf(w, err))
	_, err = w.AddPerson(w.ctx, catalog.NewID[catalog.OrgID](), catalog.NewUser{Email: "new@example.com"}, catalog.RoleViewer)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	_, err = w.UserByEmail(w.ctx, "new@example.com")
	require.ErrorIs(t, err, catalog.ErrNotFound, "nothing half-done stays behind")
}

// consentOfPeople checks that an organisation adds only its own people without asking them,
// and learns nothing of others.
func consentOfPeople(t *testing.T, w *world) {
	org, _ := w.org()
	ada, err := w.AddPerson(w.ctx, org, catalog.NewUser{Email: "ada@example.com", DisplayName: "Ada"}, catalog.RoleEditor)
	require.NoError(t, err, "the only organisation")
	other, _ := w.org()
	add := func(org catalog.OrgID, email string) (catalog.Membership, error) {
		return w.AddPerson(w.ctx, org, catalog.NewUser{Email: email, DisplayName: "Eve"}, catalog.RoleViewer)
	}
	refused := func(org catalog.OrgID, emails ...string) {
		t.Helper()
		for _, email := range emails {
			_, err := add(org, email)
			require.ErrorIs(t, err, catalog.ErrConsent, email)
		}
		_, err := w.UserByEmail(w.ctx, "new@example.com")
		require.ErrorIs(t, err, catalog.ErrNotFound)
	}
	refused(other, "ada@example.com", "new@example.com")
	refused(org, "new@example.com")
	_, err = add(org, "ada@example.com")
	existing(w, err, "email")

	_, err = w.PutSSOConfig(w.ctx, org, newSSOConfig("example.com"))
	require.NoError(t, err)
	_, err = w.VerifyEmailDomain(w.ctx, org, "example.com", catalog.DomainByDNS)
	require.NoError(t, err)
	require.NoError(t, w.DeleteSSOConfig(w.ctx, org))
	_, err = w.PutSSOConfig(w.ctx, other, newSSOConfig("example.com"))
	require.NoError(t, err)
	refused(other, "ada@example.com", "new@example.com")
	_, err = w.VerifyEmailDomain(w.ctx, other, "example.com", catalog.DomainByDNS)
	require.NoError(t, err)
	refused(other, "new@sub.example.com", "new@notexample.com")
	refused(org, "new@example.com")
	elsewhere, err := add(other, "ada@example.com")
	require.NoError(t, err, "an address of the organisation's own domain")
	require.Equal(t, ada.User, elsewhere.User)
	require.Equal(t, "Ada", elsewhere.DisplayName, "an organisation does not rename people")
	_, err = add(other, "bob@example.com")
	require.NoError(t, err)
	require.NoError(t, w.DeleteOrganisation(w.ctx, other, catalog.AnyVersion))
	refused(org, "new@example.com", "bob@example.com")
}
