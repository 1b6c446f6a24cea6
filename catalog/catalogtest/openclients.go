package catalogtest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

func newOpenClient() catalog.NewOpenClient {
	return catalog.NewOpenClient{Name: "Open", RedirectURIs: []string{"http://127.0.0.1/cb"}, Scopes: []string{"tables:read", "org:read"}}
}

func openClients(t *testing.T, w *world) {
	org, owner := w.org()
	before := w.epochNow()
	c, err := w.CreateOpenClient(w.ctx, newOpenClient())
	require.NoError(t, err)
	require.Equal(t, before, w.epochNow(), "nobody has its tokens")
	w.same(catalog.Client{ID: c.ID, Name: "Open", Kind: catalog.ClientOpen, RedirectURIs: []string{"http://127.0.0.1/cb"},
		Scopes: []string{"org:read", "tables:read"}, Version: 1, CreatedAt: c.CreatedAt, UpdatedAt: c.CreatedAt}, c)
	require.True(t, c.Public())
	found, err := w.ClientByID(w.ctx, c.ID)
	require.NoError(t, err)
	w.same(c, found)
	for name, err := range map[string]error{
		"read":   drop(w.Client(w.ctx, org, c.ID)),
		"update": drop(w.UpdateClient(w.ctx, org, c.ID, catalog.AnyVersion, catalog.ClientChange{})),
		"secret": w.ReplaceClientSecret(w.ctx, org, c.ID, secretHash("t"), 0, catalog.Maker{}),
		"delete": w.DeleteClient(w.ctx, org, c.ID),
	} {
		require.ErrorIs(t, err, catalog.ErrNotFound, "it belongs to no organisation: %s", name)
	}
	own, err := w.CreateClient(w.ctx, newClient(org, owner))
	require.NoError(t, err)
	for field, change := range map[string]func(*catalog.NewOpenClient){
		"name": func(n *catalog.NewOpenClient) { n.Name = "L4kewarden" },
		"redirect_uris": func(n *catalog.NewOpenClient) {
			n.RedirectURIs = strings.Split(strings.Repeat("http://127.0.0.1/ ", 10), " ")
		},
		"redirect_uris[0]": func(n *catalog.NewOpenClient) { n.RedirectURIs = []string{"custom://app"} },
		"scopes":           func(n *catalog.NewOpenClient) { n.Scopes = nil },
	} {
		n := newOpenClient()
		change(&n)
		require.Contains(t, fieldsOf(w, drop(w.CreateOpenClient(w.ctx, n))), field)
	}
	require.NoError(t, w.ExpireOpenClients(w.ctx, c.CreatedAt))
	require.NoError(t, drop(w.ClientByID(w.ctx, c.ID)))
	require.NoError(t, w.ExpireOpenClients(w.ctx, c.CreatedAt.Add(time.Microsecond)))
	require.ErrorIs(t, drop(w.ClientByID(w.ctx, c.ID)), catalog.ErrNotFound)
	require.NoError(t, drop(w.ClientByID(w.ctx, own.ID)))

	o, err := w.Organisation(w.ctx, org)
	require.NoError(t, err)
	require.Equal(t, catalog.ClientsOwn, o.Config.ClientPolicy(), "the default")
	for policy, valid := range map[catalog.ClientPolicy]bool{catalog.ClientsOpen: true, catalog.ClientsOwn: true, "any": false} {
		o.Config.Clients = policy
		changed, err := w.UpdateOrganisation(w.ctx, org, catalog.AnyVersion, catalog.OrganisationChange{Config: &o.Config})
		if !valid {
			require.Equal(t, []string{"clients"}, fieldsOf(w, err), fmt.Sprint(policy))
			continue
		}
		require.NoError(t, err)
		require.Equal(t, policy, changed.Config.ClientPolicy())
	}
}
