package identity_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/api/ops/identity/binding"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/auth/sso"
	"github.com/lakewarden/lakewarden/catalog"
)

// signInAs signs in a subject with an address.
func (w *ssoWorld) signInAs(subject, email string) (session.Session, error) {
	w.Helper()
	w.provider.Claims["sub"], w.provider.Claims["email"] = subject, email
	return w.signIn()
}

// TestAnotherSubjectIsNotThePersonWithTheAddress checks that a subject of the provider whose address
// becomes that of somebody else does not sign in as that person.
func TestAnotherSubjectIsNotThePersonWithTheAddress(t *testing.T) {
	w := newSSOWorld(t)
	w.setUp(func(n *identity.NewSSO) { n.MaxRole = catalog.RoleBuilder })
	nina, err := w.signInAs("nina", "nina@acme.example")
	require.NoError(t, err)
	alice, err := w.signInAs("alice", "alice@acme.example")
	require.NoError(t, err)
	require.NotEqual(t, nina.User, alice.User)

	again, err := w.signInAs("nina", "alice@acme.example")
	require.NoError(t, err)
	require.Equal(t, nina.User, again.User, "a bound subject stays the person that it was")
	require.Equal(t, "nina@acme.example", w.membership(again).Email, "the address of another user is not stored")

	_, err = w.signInAs("mallory", "alice@acme.example")
	requireRefused(t, "identity_not_confirmed", err)
	_, err = w.signInAs("mallory", "owner@acme.example")
	requireRefused(t, "identity_not_confirmed", err)
}

// browserOf signs a browser in at the server's own pages, and returns its cookie.
func (w *ssoWorld) browserOf(of session.Session) string {
	w.Helper()
	of.ID = uuid.Nil
	of.ExpiresAt = w.clock().Add(time.Hour)
	created, err := w.signIns.CreateSession(w.Context(), of)
	require.NoError(w, err)
	cookie, err := w.signIns.CreateBrowser(w.Context(), created.ID)
	require.NoError(w, err)
	return cookie
}

func (w *ssoWorld) withPassword(user catalog.UserID) string {
	w.Helper()
	return w.browserOf(session.Session{User: uuid.MustParse(string(user)), Method: session.MethodPassword})
}

// proposal signs a subject in that has to be confirmed, and returns the cookie of the browser.
func (w *ssoWorld) proposal(subject, email string) string {
	w.Helper()
	_, err := w.signInAs(subject, email)
	var needed *identity.ConfirmationError
	require.ErrorAs(w, err, &needed)
	require.ErrorIs(w, err, sso.ErrRefused)
	return needed.Proposal
}

// confirm lets a user confirm a subject with a password.
func (w *ssoWorld) confirm(user catalog.UserID, subject, email string) {
	w.Helper()
	_, err := w.confirmations.Confirm(w.Context(), binding.Request{Proposal: w.proposal(subject, email), Browser: w.withPassword(user)})
	require.NoError(w, err)
}

func TestMembersConfirmThemselves(t *testing.T) {
	w := newSSOWorld(t)
	w.setUp()
	proposal := w.proposal("owner", "owner@acme.example")
	refusal := w.audit.last("sign_in.refused")
	require.Equal(t, []string{string(w.org), "user/" + string(w.owner)}, []string{string(refusal.Org), refusal.Resource})
	require.Contains(t, string(refusal.Details), catalog.SubjectUnconfirmed)

	nina, err := w.signInAs("nina", "nina@acme.example")
	require.NoError(t, err)
	theirs, _ := w.organisation("boss@other.example")
	owner := uuid.MustParse(string(w.owner))
	for name, browser := range map[string]string{
		"nobody": "", "an unknown browser": "x",
		"somebody else": w.withPassword(catalog.UserID(nina.User.String())),
		"a single sign-on of another organisation": w.browserOf(session.Session{User: owner, Org: uuid.MustParse(string(theirs)),
			Method: session.MethodSSO, Issuer: "https://other.example", Subject: "owner"}),
		"a single sign-on of an earlier release, by the address alone": w.browserOf(session.Session{User: owner,
			Org: uuid.MustParse(string(w.org)), Method: session.MethodSSO, Issuer: w.provider.Issuer(), Subject: "nina"}),
	} {
		_, own, err := w.confirmations.Pending(t.Context(), binding.Request{Proposal: proposal, Browser: browser})
		require.NoError(t, err)
		require.False(t, own, name)
		_, err = w.confirmations.Confirm(t.Context(), binding.Request{Proposal: proposal, Browser: browser})
		require.ErrorIs(t, err, binding.ErrOther, name)
	}
	_, err = w.confirmations.Confirm(t.Context(), binding.Request{Proposal: "x", Browser: w.withPassword(w.owner)})
	require.ErrorIs(t, err, binding.ErrNothing, "a session alone proves no subject")

	own := binding.Request{Proposal: proposal, Browser: w.withPassword(w.owner), Remote: "192.0.2.1", RequestID: "req"}
	p, mine, err := w.confirmations.Pending(t.Context(), own)
	require.NoError(t, err)
	require.True(t, mine)
	require.Equal(t, []string{w.provider.Issuer(), "owner", "owner@acme.example"}, []string{p.Issuer, p.Subject, p.Email})
	_, err = w.confirmations.Confirm(t.Context(), own)
	require.NoError(t, err)
	entry := w.audit.last(catalog.ActionIdentityBound)
	require.Equal(t, []string{string(w.owner), "192.0.2.1", "req"}, []string{string(entry.User), entry.Remote, entry.RequestID})
	_, err = w.confirmations.Confirm(t.Context(), own)
	require.ErrorIs(t, err, binding.ErrNothing, "used")
	s, err := w.signInAs("owner", "owner@acme.example")
	require.NoError(t, err)
	require.Equal(t, owner, s.User)

	// A single sign-on of the person confirms another account of the person.
	second := binding.Request{Proposal: w.proposal("second", "owner@acme.example"), Browser: w.browserOf(s)}
	_, err = w.confirmations.Confirm(t.Context(), second)
	require.NoError(t, err)

	late := w.proposal("another", "owner@acme.example")
	w.advance(binding.ProposalLife)
	_, err = w.confirmations.Confirm(t.Context(), binding.Request{Proposal: late, Browser: w.withPassword(w.owner)})
	require.ErrorIs(t, err, binding.ErrNothing)
}

// TestRefusalsDoNotTellWhoIsBound checks that a subject that may not sign in learns nothing of the
// member with its address.
func TestRefusalsDoNotTellWhoIsBound(t *testing.T) {
	w := newSSOWorld(t)
	w.setUp()
	_, err := w.signInAs("alice", "alice@acme.example")
	require.NoError(t, err)
	_, bound := w.signInAs("mallory", "alice@acme.example")
	_, unbound := w.signInAs("mallory", "owner@acme.example")
	require.Equal(t, bound.Error(), unbound.Error())
	requireRefused(t, "identity_not_confirmed", bound)
}

func TestSubjectsThatCannotBeStoredAreRefused(t *testing.T) {
	w := newSSOWorld(t)
	w.setUp()
	_, err := w.signInAs("a\x00b", "person@acme.example")
	requireRefused(t, "token_invalid", err)
}

func TestChangedAddressesAreAudited(t *testing.T) {
	w := newSSOWorld(t)
	w.setUp()
	s, err := w.signInAs("alice", "alice@acme.example")
	require.NoError(t, err)
	_, err = w.signInAs("alice", "owner@acme.example")
	require.NoError(t, err)
	kept := w.audit.last("identity.address_kept")
	require.Equal(t, catalog.OutcomeDeny, kept.Outcome)
	require.JSONEq(t, `{"email":"alice@acme.example","claimed":"owner@acme.example"}`, string(kept.Details))
	again, err := w.signInAs("alice", "alice.b@acme.example")
	require.NoError(t, err)
	require.Equal(t, s.User, again.User)
	require.Equal(t, "alice.b@acme.example", w.membership(again).Email)
	stored := w.audit.last("identity.address_stored")
	require.JSONEq(t, `{"former":"alice@acme.example","email":"alice.b@acme.example"}`, string(stored.Details))
}

func TestReleasedSubjectsAreSignedOut(t *testing.T) {
	w := newSSOWorld(t)
	w.setUp()
	alice, err := w.signInAs("alice", "alice@acme.example")
	require.NoError(t, err)
	bob, err := w.signInAs("bob", "bob@acme.example")
	require.NoError(t, err)
	user := catalog.UserID(alice.User.String())
	list, err := w.identities.List(w.admin(), w.org, user)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.NoError(t, w.identities.Release(w.admin(), w.org, user, list[0].ID))
	entry := w.audit.last(catalog.ActionIdentityReleased)
	require.Equal(t, []string{string(w.owner), "user/" + string(user)}, []string{string(entry.User), entry.Resource})
	live := func(s session.Session) bool {
		stored, err := w.signIns.Session(t.Context(), s.ID)
		require.NoError(t, err)
		return stored.Live(w.clock())
	}
	require.False(t, live(alice))
	require.True(t, live(bob))
	count, err := w.identities.ReleaseIssuer(w.admin(), w.org, w.provider.Issuer(), true)
	require.NoError(t, err)
	require.Equal(t, int64(1), count)
	require.True(t, live(bob))
	count, err = w.identities.ReleaseIssuer(w.admin(), w.org, w.provider.Issuer(), false)
	require.NoError(t, err)
	require.Equal(t, int64(1), count)
	require.False(t, live(bob))
}

// releasing releases a subject after a sign-in has found its user.
type releasing struct {
	identity.SSOStore
	release func()
}

func (r releasing) IdentifySubject(ctx context.Context, org catalog.OrgID, claim catalog.SubjectClaim) (catalog.IdentifiedSubject, error) {
	found, err := r.SSOStore.IdentifySubject(ctx, org, claim)
	r.release()
	return found, err
}

func TestSubjectsReleasedDuringASignInAreNotSignedIn(t *testing.T) {
	w := newSSOWorld(t)
	w.setUp()
	w.sso.Store = releasing{w.store, func() {
		_, err := w.identities.ReleaseIssuer(w.admin(), w.org, w.provider.Issuer(), false)
		require.NoError(t, err)
	}}
	s, err := w.signInAs("alice", "alice@acme.example")
	require.ErrorIs(t, err, identity.ErrState)
	require.Zero(t, s)
}

func TestAdministratorsBindMembers(t *testing.T) {
	w := newSSOWorld(t)
	w.setUp()
	_, err := w.identities.Bind(w.admin(), w.org, w.owner, w.provider.Issuer(), "owner")
	require.NoError(t, err)
	s, err := w.signInAs("owner", "owner@acme.example")
	require.NoError(t, err)
	require.Equal(t, string(w.owner), s.User.String())
	_, err = w.identities.Bind(w.admin(), w.org, catalog.NewID[catalog.UserID](), w.provider.Issuer(), "x")
	require.ErrorIs(t, err, catalog.ErrNotFound)
	theirs, boss := w.organisation("boss@other.example")
	_, err = w.identities.Bind(admin(t.Context(), theirs, boss), w.org, w.owner, w.provider.Issuer(), "x")
	require.ErrorIs(t, err, catalog.ErrNotFound)
}

func TestTokensOfOtherIssuersAreConfirmed(t *testing.T) {
	w := newSSOWorld(t)
	org, email, refusal := uuid.MustParse(string(w.org)), "Owner@Acme.example", error(nil)
	w.confirmations.Subject = func(context.Context, string) (uuid.UUID, string, string, string, error) {
		return org, "https://tokens.example", "owner", email, refusal
	}
	own := binding.Request{Browser: w.withPassword(w.owner)}
	email = "alice@acme.example"
	_, err := w.confirmations.ConfirmToken(t.Context(), "token", own)
	require.ErrorIs(t, err, binding.ErrOther)
	email = "owner@acme.example"
	_, err = w.confirmations.ConfirmToken(t.Context(), "token", binding.Request{})
	require.ErrorIs(t, err, binding.ErrOther)
	elsewhere := w.browserOf(session.Session{User: uuid.MustParse(string(w.owner)), Org: uuid.New(), Method: session.MethodSSO})
	_, err = w.confirmations.ConfirmToken(t.Context(), "token", binding.Request{Browser: elsewhere})
	require.ErrorIs(t, err, binding.ErrOther)
	refusal = auth.ErrMalformed
	_, err = w.confirmations.ConfirmToken(t.Context(), "token", own)
	require.ErrorIs(t, err, catalog.ErrInvalid)
	refusal = nil
	_, err = w.confirmations.ConfirmToken(t.Context(), "token", own)
	require.NoError(t, err)
	bound, err := w.store.IdentityBinding(w.system(), w.org, "https://tokens.example", "owner")
	require.NoError(t, err)
	require.Equal(t, []any{w.owner, catalog.BoundByMember}, []any{bound.User, bound.Method})
}
