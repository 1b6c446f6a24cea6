package catalogtest

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

// app registers an application.
func (w *world) app(org catalog.OrgID, provider catalog.Provider, client string) catalog.ProviderApp {
	w.Helper()
	n := catalog.NewProviderApp{Org: org, Provider: provider, ClientID: client, SealedSecret: []byte("\x00sealed " + client)}
	if provider.HasTenant() {
		n.Tenant = "contoso.example.com"
	}
	created, err := w.PutProviderApp(w.ctx, n)
	require.NoError(w, err)
	return created
}

// link links a member to an application.
func (w *world) link(app catalog.ProviderApp, user catalog.UserID) catalog.ProviderLink {
	w.Helper()
	created, err := w.PutProviderLink(w.ctx, catalog.NewProviderLink{
		ProviderLinkKey: catalog.ProviderLinkKey{Org: app.Org, Provider: app.Provider, User: user},
		Subject:         "subject", Scopes: []string{"a", "b"}, AppVersion: app.Version, SealedToken: []byte("sealed token"),
	})
	require.NoError(w, err)
	return created
}

func providerApps(t *testing.T, w *world) {
	org, _ := w.org()
	other, _ := w.org()
	list, err := w.ProviderApps(w.ctx, org)
	require.NoError(t, err)
	require.Empty(t, list)
	require.NotNil(t, list)

	three := w.app(org, catalog.ProviderThree, "three")
	created := w.app(org, catalog.ProviderOne, "one")
	w.app(other, catalog.ProviderOne, "theirs")
	require.Equal(t, int64(1), created.Version)
	require.Equal(t, created.CreatedAt, created.UpdatedAt)
	record, err := json.Marshal(created)
	require.NoError(t, err)
	require.NotContains(t, string(record), "ealed", "no part of the record")
	list, err = w.ProviderApps(w.ctx, org)
	require.NoError(t, err)
	w.same([]catalog.ProviderApp{created, three}, list)
	found, sealed, err := w.ProviderAppSecret(w.ctx, org, catalog.ProviderOne)
	require.NoError(t, err)
	w.same(created, found)
	require.Equal(t, "\x00sealed one", string(sealed))

	replaced, err := w.PutProviderApp(w.ctx, catalog.NewProviderApp{Org: org, Provider: catalog.ProviderOne, ClientID: "new",
		SealedSecret: []byte("new secret")})
	require.NoError(t, err)
	require.Equal(t, int64(2), replaced.Version)
	require.Equal(t, created.CreatedAt, replaced.CreatedAt)
	require.True(t, replaced.UpdatedAt.After(created.UpdatedAt))
	found, err = w.ProviderApp(w.ctx, org, catalog.ProviderOne)
	require.NoError(t, err)
	w.same(replaced, found)
	_, sealed, err = w.ProviderAppSecret(w.ctx, org, catalog.ProviderOne)
	require.NoError(t, err)
	require.Equal(t, "new secret", string(sealed))
	theirs, err := w.ProviderApp(w.ctx, other, catalog.ProviderOne)
	require.NoError(t, err)
	require.Equal(t, "theirs", theirs.ClientID)

	require.NoError(t, w.DeleteProviderApp(w.ctx, org, catalog.ProviderOne))
	require.ErrorIs(t, w.DeleteProviderApp(w.ctx, org, catalog.ProviderOne), catalog.ErrNotFound)
	_, err = w.ProviderApp(w.ctx, org, catalog.ProviderOne)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	_, _, err = w.ProviderAppSecret(w.ctx, org, catalog.ProviderOne)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	_, err = w.ProviderApp(w.ctx, other, catalog.ProviderOne)
	require.NoError(t, err)

	good := catalog.NewProviderApp{Org: org, Provider: catalog.ProviderThree, ClientID: "c", Tenant: "t", SealedSecret: []byte("s")}
	for name, change := range map[string]func(*catalog.NewProviderApp){
		"provider":      func(n *catalog.NewProviderApp) { n.Provider, n.Tenant = "provider_four", "" },
		"client_id":     func(n *catalog.NewProviderApp) { n.ClientID = "" },
		"tenant":        func(n *catalog.NewProviderApp) { n.Tenant = "" },
		"sealed_secret": func(n *catalog.NewProviderApp) { n.SealedSecret = nil },
	} {
		n := good
		change(&n)
		_, err := w.PutProviderApp(w.ctx, n)
		require.Equal(t, []string{name}, fieldsOf(w, err))
	}
	for _, tenant := range []string{"..", "a/b", "a..b", ".a", "a.", "a?b", "a b", "%2e", "a\x00", "é", "-a", "a@b", "{tenant}"} {
		n := good
		n.Tenant = tenant
		_, err := w.PutProviderApp(w.ctx, n)
		require.Equal(t, []string{"tenant"}, fieldsOf(w, err), tenant)
	}
	good.Provider = catalog.ProviderTwo
	_, err = w.PutProviderApp(w.ctx, good)
	require.Equal(t, []string{"tenant"}, fieldsOf(w, err), "the provider has no tenants")

	require.NoError(t, w.DeleteOrganisation(w.ctx, org, catalog.AnyVersion))
	_, err = w.ProviderApp(w.ctx, org, catalog.ProviderThree)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	good.Tenant = ""
	_, err = w.PutProviderApp(w.ctx, good)
	require.ErrorIs(t, err, catalog.ErrNotFound)
}

func providerLinks(t *testing.T, w *world) {
	org, owner := w.org()
	user, leaver := w.member(org, catalog.RoleViewer), w.member(org, catalog.RoleViewer)
	app := w.app(org, catalog.ProviderOne, "client")
	created := w.link(app, user)
	require.Equal(t, []string{"a", "b"}, created.Scopes)
	require.True(t, created.BrokenAt.IsZero())
	list := func(user catalog.UserID) []catalog.ProviderLink {
		links, err := w.ProviderLinks(w.ctx, org, user)
		require.NoError(t, err)
		require.NotNil(t, links)
		return links
	}
	w.same([]catalog.ProviderLink{created}, list(user))
	require.Empty(t, list(owner))
	token, err := w.ProviderLinkToken(w.ctx, created.ProviderLinkKey)
	require.NoError(t, err)
	w.same(catalog.ProviderLinkToken{Sealed: []byte("sealed token"), Version: 1}, token)

	key := created.ProviderLinkKey
	until := w.now().Add(time.Minute)
	version, err := w.ClaimProviderLink(w.ctx, key, 1, until)
	require.NoError(t, err)
	require.Equal(t, int64(2), version)
	_, err = w.ClaimProviderLink(w.ctx, key, 1, until)
	stale(w, err, 2)
	token, err = w.ProviderLinkToken(w.ctx, key)
	require.NoError(t, err)
	require.Equal(t, until, token.ClaimedUntil)
	stale(w, w.RenewProviderLink(w.ctx, key, 1, []byte("late"), false), 2)
	require.NoError(t, w.RenewProviderLink(w.ctx, key, 2, []byte("rotated"), false))
	token, err = w.ProviderLinkToken(w.ctx, key)
	require.NoError(t, err)
	w.same(catalog.ProviderLinkToken{Sealed: []byte("rotated"), Version: 3}, token)
	require.NoError(t, w.RenewProviderLink(w.ctx, key, 3, nil, true))
	token, err = w.ProviderLinkToken(w.ctx, key)
	require.NoError(t, err)
	w.same(catalog.ProviderLinkToken{Sealed: []byte("rotated"), Version: 4, Broken: true}, token)
	require.False(t, list(user)[0].BrokenAt.IsZero())
	again := w.link(app, user)
	require.True(t, again.BrokenAt.IsZero(), "a new link is not broken")
	require.Equal(t, created.CreatedAt, again.CreatedAt)

	// The secret of an application can be replaced under its links, the client cannot.
	rotated := w.app(org, catalog.ProviderOne, "client")
	require.Len(t, list(user), 1)
	_, err = w.PutProviderLink(w.ctx, catalog.NewProviderLink{ProviderLinkKey: key, AppVersion: app.Version, SealedToken: []byte("x")})
	stale(w, err, rotated.Version)
	app = w.app(org, catalog.ProviderOne, "another client")
	require.Empty(t, list(user))
	_, err = w.ProviderLinkToken(w.ctx, key)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	_, err = w.ClaimProviderLink(w.ctx, key, 1, until)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	require.ErrorIs(t, w.DeleteProviderLink(w.ctx, key), catalog.ErrNotFound)

	w.link(app, user)
	require.NoError(t, w.DeleteProviderLink(w.ctx, key))
	require.Empty(t, list(user))
	w.link(app, leaver)
	w.link(app, user)
	require.NoError(t, w.RemoveMember(w.ctx, org, leaver))
	_, err = w.AddMember(w.ctx, org, leaver, catalog.RoleViewer)
	require.NoError(t, err)
	require.Empty(t, list(leaver), "coming back does not bring back the link")
	require.NoError(t, w.DeleteProviderApp(w.ctx, org, catalog.ProviderOne))
	require.Empty(t, list(user), "the links end with the application")

	app = w.app(org, catalog.ProviderOne, "client")
	_, outsider := w.org()
	key.User = outsider
	_, err = w.PutProviderLink(w.ctx, catalog.NewProviderLink{ProviderLinkKey: key, AppVersion: app.Version, SealedToken: []byte("x")})
	require.ErrorIs(t, err, catalog.ErrNotFound, "not a member")
	_, err = w.PutProviderLink(w.ctx, catalog.NewProviderLink{ProviderLinkKey: key, Subject: "a\x00b", AppVersion: app.Version,
		SealedToken: []byte("x")})
	require.Equal(t, []string{"subject"}, fieldsOf(w, err))
}

// raceClaims checks that one of several replicas gets to exchange a token.
func raceClaims(t *testing.T, w *world) {
	org, owner := w.org()
	key := w.link(w.app(org, catalog.ProviderOne, "client"), owner).ProviderLinkKey
	stores := []catalog.Store{w.Store, w.open(w.now)}
	errs := make([]error, 8)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			_, errs[i] = stores[i%2].ClaimProviderLink(w.ctx, key, 1, w.now().Add(time.Minute))
		})
	}
	all.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		require.ErrorIs(t, err, catalog.ErrVersionConflict)
	}
	require.Equal(t, 1, won)
}
