package catalogtest

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

const issuerA = "https://id.example/a" // the one of newSSOConfig

// identities is an organisation with single sign-on up to editors, and people with addresses of its
// domain.
type identities struct {
	*world
	org   catalog.OrgID
	owner catalog.UserID
}

func newIdentities(w *world) identities {
	w.Helper()
	i := identities{world: w}
	i.org, i.owner = w.org()
	n := newSSOConfig("a.example", "b.example", "unverified.example")
	n.MaxRole = catalog.RoleEditor
	_, err := w.PutSSOConfig(w.ctx, i.org, n)
	require.NoError(w, err)
	for _, domain := range n.Domains[:2] {
		_, err = w.VerifyEmailDomain(w.ctx, i.org, domain, catalog.DomainByOperator)
		require.NoError(w, err)
	}
	return i
}

// person creates a person, who is a member unless the role is empty.
func (i identities) person(email string, role catalog.Role) catalog.UserID {
	i.Helper()
	u, err := i.CreateUser(i.ctx, catalog.NewUser{Email: email})
	require.NoError(i, err)
	if role != "" {
		_, err = i.AddMember(i.ctx, i.org, u.ID, role)
		require.NoError(i, err)
	}
	return u.ID
}

func (i identities) identify(method catalog.BindingMethod, subject, email string) (catalog.IdentifiedSubject, error) {
	i.Helper()
	return i.IdentifySubject(i.ctx, i.org, catalog.SubjectClaim{Issuer: issuerA, Subject: subject, Email: email, Method: method})
}

func (i identities) refused(reason string, user catalog.UserID, method catalog.BindingMethod, subject, email string) {
	i.Helper()
	before := i.epochNow()
	_, err := i.identify(method, subject, email)
	require.Equal(i, &catalog.SubjectRefusedError{Reason: reason, User: user}, err)
	require.ErrorIs(i, err, catalog.ErrSubjectRefused)
	_, err = i.IdentityBinding(i.ctx, i.org, issuerA, subject)
	require.ErrorIs(i, err, catalog.ErrNotFound)
	require.Equal(i, before, i.epochNow())
}

func identifiedSubjects(t *testing.T, w *world) {
	i := newIdentities(w)
	const signIn, token = catalog.BoundBySignIn, catalog.BoundByToken
	ana := i.person("ana@a.example", catalog.RoleEditor)
	guest := i.person("guest@a.example", "")
	bea := i.person("bea@a.example", catalog.RoleBuilder)
	away := i.person("away@elsewhere.example", catalog.RoleViewer)

	before := i.epochNow()
	found, err := i.identify(signIn, "s-ana", "Ana@A.example")
	require.NoError(t, err)
	require.Equal(t, []any{ana, true, catalog.AddressChange("")}, []any{found.User.ID, found.Bound.User == ana, found.Address})
	require.Greater(t, i.epochNow(), before)
	before = i.epochNow()
	found, err = i.identify(token, "s-ana", "ana@a.example")
	require.NoError(t, err)
	require.Equal(t, []any{ana, false}, []any{found.User.ID, found.Bound.ID != ""}, "one table for both")
	require.Equal(t, before, i.epochNow())
	i.refused(catalog.SubjectOther, ana, signIn, "s-other", "ana@a.example")
	i.refused(catalog.SubjectOther, ana, token, "s-other", "ana@a.example")
	_, err = i.IdentifySubject(i.ctx, i.org, catalog.SubjectClaim{Issuer: "https://id.example/b", Subject: "s-ana", Email: "ana@a.example",
		Method: token})
	require.ErrorIs(t, err, catalog.ErrSubjectRefused, "the subject of another issuer is another one")

	// Only a sign-in binds people who are not members, and only people of the verified domains.
	_, err = i.identify(token, "s-guest", "guest@a.example")
	require.ErrorIs(t, err, catalog.ErrNotFound)
	found, err = i.identify(signIn, "s-guest", "guest@a.example")
	require.NoError(t, err)
	require.Equal(t, guest, found.User.ID)
	_, err = i.identify(signIn, "s-new", "new@a.example")
	require.ErrorIs(t, err, catalog.ErrNotFound)
	i.refused(catalog.SubjectAddressForeign, "", signIn, "s-away", "away@elsewhere.example")
	i.refused(catalog.SubjectAddressForeign, "", signIn, "s-new", "new@unverified.example")
	i.refused(catalog.SubjectAddressForeign, "", signIn, "s-new", "new@nobody.example")
	found, err = i.identify(token, "s-away", "away@elsewhere.example")
	require.NoError(t, err)
	require.Equal(t, away, found.User.ID)
	i.refusedBound("s-away", "away@elsewhere.example")

	// Members above the highest role, and the owner, confirm first.
	for _, method := range []catalog.BindingMethod{signIn, token} {
		i.refused(catalog.SubjectUnconfirmed, bea, method, "s-bea", "bea@a.example")
	}
	email := "owner@a.example"
	_, err = i.UpdateUser(i.ctx, i.owner, catalog.AnyVersion, catalog.UserChange{Email: &email})
	require.NoError(t, err)
	all := newSSOConfig("a.example", "b.example")
	all.MaxRole = catalog.RoleAdmin
	_, err = i.PutSSOConfig(i.ctx, i.org, all)
	require.NoError(t, err)
	i.refused(catalog.SubjectUnconfirmed, i.owner, signIn, "s-owner", email)
	_, err = i.identify(token, "s-bea", "bea@a.example")
	require.NoError(t, err)

	// Without single sign-on, administrators need confirmation.
	plain := identities{world: w}
	plain.org, plain.owner = w.org()
	cleo, dora := plain.person("cleo@c.example", catalog.RoleBuilder), plain.person("dora@c.example", catalog.RoleAdmin)
	found, err = plain.identify(token, "s-cleo", "cleo@c.example")
	require.NoError(t, err)
	require.Equal(t, cleo, found.User.ID)
	plain.refused(catalog.SubjectUnconfirmed, dora, token, "s-dora", "dora@c.example")
	_, err = plain.identify(token, "s-ana", "ana@a.example")
	require.ErrorIs(t, err, catalog.ErrNotFound, "a member of another organisation")

	for _, broken := range []catalog.SubjectClaim{
		{Subject: "s", Email: "ana@a.example", Method: signIn}, {Issuer: issuerA, Email: "ana@a.example", Method: signIn},
		{Issuer: issuerA, Subject: strings.Repeat("s", 256), Email: "ana@a.example", Method: signIn},
		{Issuer: issuerA, Subject: "s", Email: "\u0430na@a.example", Method: signIn},
		{Issuer: issuerA, Subject: "s", Email: "ana@a.example", Method: catalog.BoundByMember},
		{Issuer: issuerA, Subject: "s\x00", Email: "ana@a.example", Method: token},
	} {
		_, err = w.IdentifySubject(w.ctx, i.org, broken)
		require.ErrorIs(t, err, catalog.ErrInvalid)
	}
	_, err = w.IdentifySubject(w.ctx, catalog.NewID[catalog.OrgID](), catalog.SubjectClaim{Issuer: issuerA, Subject: "s-ana",
		Email: "ana@a.example", Method: signIn})
	require.ErrorIs(t, err, catalog.ErrNotFound)
}

// refusedBound checks that a subject that is bound to somebody with an address of others does not
// sign in: the provider must not decide about the account of a person of others.
func (i identities) refusedBound(subject, email string) {
	i.Helper()
	for _, claimed := range []string{email, "free@a.example"} {
		_, err := i.identify(catalog.BoundBySignIn, subject, claimed)
		require.Equal(i, &catalog.SubjectRefusedError{Reason: catalog.SubjectAddressForeign}, err)
	}
}

func changedAddresses(t *testing.T, w *world) {
	i := newIdentities(w)
	ana := i.person("ana@a.example", catalog.RoleEditor)
	i.person("bob@a.example", "")
	_, err := i.CreateInvitation(i.ctx, catalog.NewInvitation{Org: i.org, Email: "invited@a.example", Role: catalog.RoleViewer,
		TokenHash: [32]byte{1}, InvitedBy: i.owner, ExpiresAt: i.now().Add(catalog.InvitationLife)})
	require.NoError(t, err)
	_, err = i.identify(catalog.BoundBySignIn, "s-ana", "ana@a.example")
	require.NoError(t, err)
	follow := func(method catalog.BindingMethod, email string) catalog.IdentifiedSubject {
		t.Helper()
		found, err := i.identify(method, "s-ana", email)
		require.NoError(t, err)
		require.Equal(t, ana, found.User.ID)
		require.Zero(t, found.Bound)
		return found
	}
	before := i.epochNow()
	for _, email := range []string{"bob@a.example", "invited@a.example", "ana@unverified.example", "ana@elsewhere.example"} {
		found := follow(catalog.BoundBySignIn, email)
		require.Equal(t, []any{catalog.AddressKept, "ana@a.example"}, []any{found.Address, found.User.Email}, email)
	}
	require.Empty(t, follow(catalog.BoundByToken, "ana@b.example").Address, "older tokens may be in use")
	require.Equal(t, before, i.epochNow())

	// Whoever decides about the address of a person gets what the person has elsewhere.
	elsewhere, _ := w.org()
	_, err = w.AddMember(w.ctx, elsewhere, ana, catalog.RoleViewer)
	require.NoError(t, err)
	require.Equal(t, catalog.AddressKept, follow(catalog.BoundBySignIn, "ana@b.example").Address)
	require.NoError(t, w.RemoveMember(w.ctx, elsewhere, ana))

	found := follow(catalog.BoundBySignIn, "Ana.Maria@B.example")
	require.Equal(t, []any{catalog.AddressStored, "ana@a.example", "ana.maria@b.example"},
		[]any{found.Address, found.Former, found.User.Email})
	require.Greater(t, i.epochNow(), before, "tokens of foreign issuers are matched by the address")
	stored, err := i.User(i.ctx, ana)
	require.NoError(t, err)
	require.Equal(t, found.User, stored)
	require.Empty(t, follow(catalog.BoundBySignIn, "ana.maria@b.example").Address)
	_, err = i.identify(catalog.BoundBySignIn, "s-next", "ana@a.example")
	require.ErrorIs(t, err, catalog.ErrNotFound, "no user has the former address")
}

func identityBindings(t *testing.T, w *world) {
	i := newIdentities(w)
	other, _ := w.org()
	ana, bob := i.person("ana@a.example", catalog.RoleAdmin), i.person("bob@a.example", catalog.RoleViewer)
	n := catalog.NewIdentityBinding{Org: i.org, User: ana, Issuer: issuerA, Subject: "s-ana", Method: catalog.BoundByAdministrator,
		By: i.owner}
	bound, err := w.BindIdentity(w.ctx, n)
	require.NoError(t, err)
	require.Equal(t, catalog.IdentityBinding{ID: bound.ID, Org: i.org, User: ana, Issuer: issuerA, Subject: "s-ana",
		Method: catalog.BoundByAdministrator, By: i.owner, CreatedAt: bound.CreatedAt}, bound)
	n.Method = catalog.BoundByMember
	again, err := w.BindIdentity(w.ctx, n)
	require.NoError(t, err)
	require.Equal(t, bound, again)
	found, err := i.identify(catalog.BoundBySignIn, "s-ana", "ana@a.example")
	require.NoError(t, err)
	require.Equal(t, ana, found.User.ID, "above the highest role")

	taken := n
	taken.User = bob
	_, err = w.BindIdentity(w.ctx, taken)
	require.Equal(t, &catalog.ExistsError{Field: "subject"}, err)
	for _, nobody := range []catalog.NewIdentityBinding{
		{Org: other, User: ana, Issuer: issuerA, Subject: "x", Method: catalog.BoundByOperator},
		{Org: i.org, User: i.person("guest@a.example", ""), Issuer: issuerA, Subject: "x", Method: catalog.BoundByOperator},
	} {
		_, err = w.BindIdentity(w.ctx, nobody)
		require.ErrorIs(t, err, catalog.ErrNotFound)
	}
	_, err = w.BindIdentity(w.ctx, catalog.NewIdentityBinding{Org: i.org, User: bob, Issuer: issuerA, Subject: "x",
		Method: catalog.BoundBySignIn})
	require.ErrorIs(t, err, catalog.ErrInvalid)

	// A binding does not end with a key, so a key does not make one, unless the command line printed it.
	key := w.newKey(i.org, ana)
	made, err := w.CreateAPIKey(w.ctx, key)
	require.NoError(t, err)
	n.Subject, n.Maker = "s-key", catalog.Maker{Key: made.ID}
	_, err = w.BindIdentity(w.ctx, n)
	require.ErrorIs(t, err, catalog.ErrDenied)
	key = w.newKey(i.org, ana)
	key.CommandLine = true
	made, err = w.CreateAPIKey(w.ctx, key)
	require.NoError(t, err)
	n.Maker.Key = made.ID
	second, err := w.BindIdentity(w.ctx, n)
	require.NoError(t, err)

	list, err := w.ListIdentityBindings(w.ctx, i.org, ana)
	require.NoError(t, err)
	require.ElementsMatch(t, []catalog.IdentityBinding{bound, second}, list)
	list, err = w.ListIdentityBindings(w.ctx, i.org, bob)
	require.NoError(t, err)
	require.Empty(t, list)
	_, err = w.ListIdentityBindings(w.ctx, other, ana)
	require.ErrorIs(t, err, catalog.ErrNotFound)

	// The binding of a removed member stays: nobody else with the address becomes that user.
	require.NoError(t, w.RemoveMember(w.ctx, i.org, ana))
	i.refused(catalog.SubjectOther, ana, catalog.BoundBySignIn, "s-next", "ana@a.example")
	found, err = i.identify(catalog.BoundBySignIn, "s-ana", "ana@a.example")
	require.NoError(t, err)
	require.Equal(t, ana, found.User.ID)
	list, err = w.ListIdentityBindings(w.ctx, i.org, ana)
	require.NoError(t, err)
	require.Len(t, list, 2)

	_, err = w.ReleaseIdentityBinding(w.ctx, i.org, bob, bound.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	before := w.epochNow()
	released, err := w.ReleaseIdentityBinding(w.ctx, i.org, ana, bound.ID)
	require.NoError(t, err)
	require.Equal(t, bound, released)
	require.Greater(t, w.epochNow(), before)
	_, err = w.ReleaseIdentityBinding(w.ctx, i.org, ana, bound.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound)

	_, err = i.identify(catalog.BoundBySignIn, "s-bob", "bob@a.example")
	require.NoError(t, err)
	before = w.epochNow()
	count, err := w.ReleaseIdentityBindings(w.ctx, i.org, issuerA, true)
	require.NoError(t, err)
	require.Equal(t, int64(2), count)
	require.Equal(t, before, w.epochNow())
	for issuer, want := range map[string]int64{"https://id.example/none": 0, issuerA: 2} {
		count, err = w.ReleaseIdentityBindings(w.ctx, i.org, issuer, false)
		require.NoError(t, err)
		require.Equal(t, want, count)
	}
	_, err = w.IdentityBinding(w.ctx, i.org, issuerA, "s-bob")
	require.ErrorIs(t, err, catalog.ErrNotFound)
	_, err = i.identify(catalog.BoundBySignIn, "s-bob-2", "bob@a.example")
	require.NoError(t, err, "the address binds again")

	for k := range catalog.MaxIdentityBindings {
		_, err = w.BindIdentity(w.ctx, catalog.NewIdentityBinding{Org: i.org, User: bob, Issuer: issuerA, Subject: "many-" + string(rune('a'+k)),
			Method: catalog.BoundByOperator})
		require.Equal(t, k+1 < catalog.MaxIdentityBindings, err == nil)
	}
	require.ErrorIs(t, err, catalog.ErrInvalid)
}

// raceSubjects lets two subjects with one address sign in at the same time: one is bound.
func raceSubjects(t *testing.T, w *world) {
	i := newIdentities(w)
	ana := i.person("ana@a.example", catalog.RoleViewer)
	const n = 8
	errs := make([]error, n)
	var all sync.WaitGroup
	for k := range n {
		all.Go(func() { _, errs[k] = i.identify(catalog.BoundBySignIn, "s-"+string(rune('a'+k/2)), "ana@a.example") })
	}
	all.Wait()
	list, err := w.ListIdentityBindings(w.ctx, i.org, ana)
	require.NoError(t, err)
	require.Len(t, list, 1)
	for k, err := range errs {
		if "s-"+string(rune('a'+k/2)) == list[0].Subject {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, catalog.ErrSubjectRefused)
		}
	}
}
