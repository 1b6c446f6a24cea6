package catalogtest

import (
	"crypto/sha256"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

func secretHash(secret string) []byte {
	hash := sha256.Sum256([]byte(secret))
	return hash[:]
}

func newClient(org catalog.OrgID, by catalog.UserID) catalog.NewClient {
	return catalog.NewClient{Org: org, Name: "App", SecretHash: secretHash("s"), RedirectURIs: []string{"https://app.example/cb"},
		Scopes: []string{"tables:read", "org:read", "tables:read"}, By: by}
}

func clients(t *testing.T, w *world) {
	org, owner := w.org()
	other, _ := w.org()
	before := w.epochNow()
	c, err := w.CreateClient(w.ctx, newClient(org, owner))
	require.NoError(t, err)
	require.Equal(t, before, w.epochNow(), "nobody has its tokens")
	w.same(catalog.Client{ID: c.ID, Org: org, Name: "App", Kind: catalog.ClientApplication, SecretHash: secretHash("s"),
		RedirectURIs: []string{"https://app.example/cb"}, Scopes: []string{"org:read", "tables:read"}, CreatedBy: owner, Version: 1,
		CreatedAt: c.CreatedAt, UpdatedAt: c.CreatedAt}, c)
	public := newClient(org, owner)
	public.SecretHash = nil
	p, err := w.CreateClient(w.ctx, public)
	require.NoError(t, err)
	require.True(t, p.Public())
	require.False(t, c.Public())
	account, err := w.CreateServiceAccount(w.ctx, newServiceAccount(org, owner))
	require.NoError(t, err)
	w.same([]catalog.Client{c, p}, all(w, 1, func(page catalog.Page) (catalog.List[catalog.Client], error) {
		return w.ListClients(w.ctx, org, page)
	}))
	for _, id := range []catalog.ClientID{account.Client, catalog.NewID[catalog.ClientID]()} {
		_, err = w.Client(w.ctx, org, id)
		require.ErrorIs(t, err, catalog.ErrNotFound, "not an application")
		_, err = w.UpdateClient(w.ctx, org, id, catalog.AnyVersion, catalog.ClientChange{})
		require.ErrorIs(t, err, catalog.ErrNotFound)
		require.ErrorIs(t, w.DeleteClient(w.ctx, org, id), catalog.ErrNotFound)
	}

	uris, scopes := []string{"http://localhost/cb"}, []string{"tables:read"}
	updated, err := w.UpdateClient(w.ctx, org, c.ID, 1, catalog.ClientChange{Name: ptr("New"), RedirectURIs: &uris, Scopes: &scopes})
	require.NoError(t, err)
	want := c
	want.Name, want.RedirectURIs, want.Scopes, want.Version, want.UpdatedAt = "New", uris, scopes, 2, updated.UpdatedAt
	w.same(want, updated)
	_, err = w.UpdateClient(w.ctx, org, c.ID, 1, catalog.ClientChange{Name: ptr("Late")})
	stale(w, err, 2)
	require.NoError(t, w.ReplaceClientSecret(w.ctx, org, c.ID, secretHash("t"), 0, catalog.Maker{}))
	found, err := w.ClientByID(w.ctx, c.ID)
	require.NoError(t, err)
	require.Equal(t, secretHash("t"), found.SecretHash)
	require.EqualValues(t, 3, found.Version)
	require.Equal(t, []string{"public"}, fieldsOf(w, w.ReplaceClientSecret(w.ctx, org, p.ID, secretHash("t"), 0, catalog.Maker{})))
	require.Equal(t, []string{"secret_hash"}, fieldsOf(w, w.ReplaceClientSecret(w.ctx, org, c.ID, []byte("short"), 0, catalog.Maker{})))

	for name, err := range map[string]error{
		"read":   drop(w.Client(w.ctx, other, c.ID)),
		"update": drop(w.UpdateClient(w.ctx, other, c.ID, catalog.AnyVersion, catalog.ClientChange{})),
		"secret": w.ReplaceClientSecret(w.ctx, other, c.ID, secretHash("t"), 0, catalog.Maker{}),
		"delete": w.DeleteClient(w.ctx, other, c.ID),
		"create": drop(w.CreateClient(w.ctx, newClient(catalog.NewID[catalog.OrgID](), owner))),
	} {
		require.ErrorIs(t, err, catalog.ErrNotFound, name)
	}
	for field, change := range map[string]func(*catalog.NewClient){
		"name":             func(n *catalog.NewClient) { n.Name = "" },
		"secret_hash":      func(n *catalog.NewClient) { n.SecretHash = []byte{} },
		"redirect_uris":    func(n *catalog.NewClient) { n.RedirectURIs = nil },
		"redirect_uris[1]": func(n *catalog.NewClient) { n.RedirectURIs = append(n.RedirectURIs, "http://evil.example/") },
		"scopes":           func(n *catalog.NewClient) { n.Scopes = []string{"two words"} },
	} {
		n := newClient(org, owner)
		change(&n)
		_, err := w.CreateClient(w.ctx, n)
		require.Equal(t, []string{field}, fieldsOf(w, err))
	}

	before = w.epochNow()
	require.NoError(t, w.DeleteClient(w.ctx, org, c.ID))
	require.Greater(t, w.epochNow(), before)
	_, err = w.ClientByID(w.ctx, c.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	require.NoError(t, w.DeleteOrganisation(w.ctx, org, catalog.AnyVersion))
	for _, id := range []catalog.ClientID{p.ID, account.Client} {
		_, err = w.ClientByID(w.ctx, id)
		require.ErrorIs(t, err, catalog.ErrNotFound, "the organisation is deleted")
	}
}

func newServiceAccount(org catalog.OrgID, by catalog.UserID) catalog.NewServiceAccount {
	return catalog.NewServiceAccount{Org: org, Name: "Robot", Role: catalog.RoleEditor, SecretHash: secretHash("s"),
		Scopes: []string{"tables:read"}, By: by}
}

func serviceAccounts(t *testing.T, w *world) {
	org, owner := w.org()
	other, _ := w.org()
	before := w.epochNow()
	a, err := w.CreateServiceAccount(w.ctx, newServiceAccount(org, owner))
	require.NoError(t, err)
	require.Greater(t, w.epochNow(), before)
	w.same(catalog.ServiceAccount{ID: a.ID, Org: org, Name: "Robot", Role: catalog.RoleEditor, Client: a.Client,
		Scopes: []string{"tables:read"}, CreatedBy: owner, Version: 1, CreatedAt: a.CreatedAt, UpdatedAt: a.CreatedAt}, a)

	m, err := w.Membership(w.ctx, org, a.ID)
	require.NoError(t, err)
	require.Equal(t, catalog.UserService, m.Kind)
	require.Equal(t, catalog.RoleEditor, m.Role)
	require.Equal(t, "Robot", m.DisplayName)
	_, err = w.UserByEmail(w.ctx, m.Email)
	require.ErrorIs(t, err, catalog.ErrNotFound, "nobody signs in as a service account")
	c, err := w.ClientByID(w.ctx, a.Client)
	require.NoError(t, err)
	require.Equal(t, catalog.ClientService, c.Kind)
	require.Equal(t, a.ID, c.User)
	second, err := w.CreateServiceAccount(w.ctx, newServiceAccount(org, owner))
	require.NoError(t, err, "names need not differ")
	w.same([]catalog.ServiceAccount{a, second}, all(w, 1, func(page catalog.Page) (catalog.List[catalog.ServiceAccount], error) {
		return w.ListServiceAccounts(w.ctx, org, page)
	}))

	change := catalog.ServiceAccountChange{Name: ptr("R2"), Scopes: ptr([]string{"org:read"})}
	updated, err := w.UpdateServiceAccount(w.ctx, org, a.ID, 1, change)
	require.NoError(t, err)
	require.Equal(t, []any{"R2", []string{"org:read"}, int64(2)}, []any{updated.Name, updated.Scopes, updated.Version})
	m, err = w.Membership(w.ctx, org, a.ID)
	require.NoError(t, err)
	require.Equal(t, "R2", m.DisplayName)
	_, err = w.UpdateServiceAccount(w.ctx, org, a.ID, 1, catalog.ServiceAccountChange{Name: ptr("R3")})
	stale(w, err, 2)
	_, err = w.SetMemberRole(w.ctx, org, a.ID, catalog.RoleViewer)
	require.NoError(t, err, "its role is a member's")
	updated, err = w.ServiceAccount(w.ctx, org, a.ID)
	require.NoError(t, err)
	require.Equal(t, catalog.RoleViewer, updated.Role)
	require.NoError(t, w.ReplaceClientSecret(w.ctx, org, a.Client, secretHash("t"), 0, catalog.Maker{}))

	person := w.member(org, catalog.RoleViewer)
	for name, err := range map[string]error{
		"a person":               drop(w.ServiceAccount(w.ctx, org, person)),
		"update of a person":     drop(w.UpdateServiceAccount(w.ctx, org, person, catalog.AnyVersion, catalog.ServiceAccountChange{})),
		"another organisation":   drop(w.ServiceAccount(w.ctx, other, a.ID)),
		"no such organisation":   drop(w.CreateServiceAccount(w.ctx, newServiceAccount(catalog.NewID[catalog.OrgID](), owner))),
		"secret from over there": w.ReplaceClientSecret(w.ctx, other, a.Client, secretHash("t"), 0, catalog.Maker{}),
	} {
		require.ErrorIs(t, err, catalog.ErrNotFound, name)
	}
	for field, change := range map[string]func(*catalog.NewServiceAccount){
		"name":        func(n *catalog.NewServiceAccount) { n.Name = "" },
		"role":        func(n *catalog.NewServiceAccount) { n.Role = "owner" },
		"secret_hash": func(n *catalog.NewServiceAccount) { n.SecretHash = nil },
		"scopes":      func(n *catalog.NewServiceAccount) { n.Scopes = nil },
	} {
		n := newServiceAccount(org, owner)
		change(&n)
		_, err := w.CreateServiceAccount(w.ctx, n)
		require.Equal(t, []string{field}, fieldsOf(w, err))
	}

	key := w.key(org, a.ID)
	require.NoError(t, w.RemoveMember(w.ctx, org, a.ID))
	key, err = w.APIKey(w.ctx, org, key.ID)
	require.NoError(t, err)
	require.True(t, key.Revoked())
	_, err = w.ServiceAccount(w.ctx, org, a.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	_, err = w.ClientByID(w.ctx, a.Client)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	_, err = w.ClientByID(w.ctx, second.Client)
	require.NoError(t, err)
}
