package sqlstore_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/catalog"
	catalogstore "github.com/lakewarden/lakewarden/catalog/sqlstore"
)

// governed opens the catalog of the database, with an organisation of the user.
func (w world) governed(t *testing.T) (*catalogstore.Store, catalog.OrgID) {
	t.Helper()
	store, err := catalogstore.Open(t.Context(), w.url, catalogstore.Options{Now: w.now})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	org, err := store.CreateOrganisation(t.Context(), catalog.NewOrganisation{Name: "ours", Owner: catalog.UserID(w.user.String())})
	require.NoError(t, err)
	return store, org.ID
}

func TestOpenClientsEndWhenNobodyUsesThem(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		store, org := w.governed(t)
		ids := []catalog.ClientID{}
		for range 2 {
			c, err := store.CreateOpenClient(t.Context(), catalog.NewOpenClient{Name: "Open", RedirectURIs: []string{"http://127.0.0.1/"},
				Scopes: []string{"org:read"}})
			require.NoError(t, err)
			ids = append(ids, c.ID)
		}
		w.advance(catalog.OpenClientLife + time.Hour)
		w.session(t, func(s *session.Session) {
			s.Client, s.Org = string(ids[0]), uuid.MustParse(string(org))
			s.ExpiresAt = w.now().Add(30 * 24 * time.Hour)
		})
		require.NoError(t, store.ExpireOpenClients(t.Context(), w.now().Add(-catalog.OpenClientLife)))
		_, err := store.ClientByID(t.Context(), ids[0])
		require.NoError(t, err, "it has a session")
		_, err = store.ClientByID(t.Context(), ids[1])
		require.ErrorIs(t, err, catalog.ErrNotFound)
		w.advance(31 * 24 * time.Hour)
		require.NoError(t, w.Expire(t.Context()))
		require.NoError(t, store.ExpireOpenClients(t.Context(), w.now().Add(-catalog.OpenClientLife)))
		_, err = store.ClientByID(t.Context(), ids[0])
		require.ErrorIs(t, err, catalog.ErrNotFound)
	})
}

// TestOrganisationsEndSessionsOfOpenClients checks that the setting ends what it no longer allows.
func TestOrganisationsEndSessionsOfOpenClients(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		store, org := w.governed(t)
		_, other := w.governed(t)
		open, err := store.CreateOpenClient(t.Context(), catalog.NewOpenClient{Name: "Open", RedirectURIs: []string{"http://127.0.0.1/"},
			Scopes: []string{"org:read"}})
		require.NoError(t, err)
		own, err := store.CreateClient(t.Context(), catalog.NewClient{Org: org, Name: "App", SecretHash: session.Hash("x"),
			RedirectURIs: []string{"https://app.example/"}, Scopes: []string{"org:read"}, By: catalog.UserID(w.user.String())})
		require.NoError(t, err)
		configure := func(clients catalog.ClientPolicy) {
			config := catalog.OrganisationConfig{Clients: clients}
			_, err := store.UpdateOrganisation(t.Context(), org, catalog.AnyVersion, catalog.OrganisationChange{Config: &config})
			require.NoError(t, err)
		}
		configure(catalog.ClientsOpen)
		of := func(client string, org catalog.OrgID) uuid.UUID {
			return w.session(t, func(s *session.Session) { s.Client, s.Org = client, uuid.MustParse(string(org)) }).ID
		}
		ended := []uuid.UUID{of(string(open.ID), org), of("https://app.example/client.json", org)}
		stay := []uuid.UUID{of(string(open.ID), other), of(string(own.ID), org), of(session.FirstParty, org), of("", org)}
		configure(catalog.ClientsOpen)
		for _, id := range slices.Concat(ended, stay) {
			require.True(t, w.live(t, id))
		}
		configure(catalog.ClientsOwn)
		for _, id := range ended {
			require.False(t, w.live(t, id))
		}
		for _, id := range stay {
			require.True(t, w.live(t, id))
		}
	})
}

func TestNewSecretsEndTokensAfterGrace(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		store, org := w.governed(t)
		app, err := store.CreateClient(t.Context(), catalog.NewClient{Org: org, Name: "App", SecretHash: session.Hash("x"),
			RedirectURIs: []string{"https://app.example/"}, Scopes: []string{"org:read"}, By: catalog.UserID(w.user.String())})
		require.NoError(t, err)
		of := func(client string, life time.Duration) uuid.UUID {
			return w.session(t, func(s *session.Session) { s.Client, s.ExpiresAt = client, w.now().Add(life) }).ID
		}
		long, short, other := of(string(app.ID), time.Hour), of(string(app.ID), time.Minute), of("", time.Hour)
		require.NoError(t, store.ReplaceClientSecret(t.Context(), org, app.ID, session.Hash("y"), 10*time.Minute, catalog.Maker{}))
		require.True(t, w.live(t, long))
		w.advance(time.Minute)
		require.False(t, w.live(t, short), "grace makes no session longer")
		w.advance(9 * time.Minute)
		require.False(t, w.live(t, long))
		next := of(string(app.ID), time.Hour)
		require.True(t, w.live(t, next))
		require.NoError(t, store.ReplaceClientSecret(t.Context(), org, app.ID, session.Hash("z"), 0, catalog.Maker{}))
		require.False(t, w.live(t, next))
		require.True(t, w.live(t, other))
	})
}

func TestNewSignInsReplaceThoseOfTheBrowser(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		begin := func(change func(*session.Session)) (session.Session, string) {
			s := w.session(t, change)
			cookie, err := w.CreateBrowser(t.Context(), s.ID)
			require.NoError(t, err)
			return s, cookie
		}
		first, cookie := begin(nil)
		program := w.session(t, func(s *session.Session) { s.Client, s.Parent = session.FirstParty, first.ID })
		require.Equal(t, first.ID, program.Parent)
		elsewhere, _ := begin(nil)
		unrelated := w.session(t, func(s *session.Session) { s.Client, s.Parent = session.FirstParty, elsewhere.ID })

		second, next := begin(nil)
		require.NoError(t, w.ReplaceBrowser(t.Context(), cookie, second))
		_, err := w.Browser(t.Context(), cookie)
		require.ErrorIs(t, err, session.ErrNotFound)
		require.False(t, w.live(t, first.ID))
		require.True(t, w.live(t, program.ID), "the person is the same")
		found, err := w.Session(t.Context(), program.ID)
		require.NoError(t, err)
		require.Equal(t, second.ID, found.Parent)
		require.NoError(t, w.ReplaceBrowser(t.Context(), cookie, second), "no live session")
		require.NoError(t, w.ReplaceBrowser(t.Context(), next, second), "its own")
		require.True(t, w.live(t, second.ID))

		other := w.addUser(t, "bob@example.com")
		third, _ := begin(func(s *session.Session) { s.User = other })
		require.NoError(t, w.ReplaceBrowser(t.Context(), next, third))
		require.False(t, w.live(t, second.ID))
		require.False(t, w.live(t, program.ID), "somebody else uses the browser now")
		require.True(t, w.live(t, third.ID))
		require.True(t, w.live(t, elsewhere.ID))
		require.True(t, w.live(t, unrelated.ID))
	})
}

func TestListedSessions(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		store, org := w.governed(t)
		app, err := store.CreateClient(t.Context(), catalog.NewClient{Org: org, Name: "App", SecretHash: session.Hash("x"),
			RedirectURIs: []string{"https://app.example/"}, Scopes: []string{"org:read"}, By: catalog.UserID(w.user.String())})
		require.NoError(t, err)
		open, err := store.CreateOpenClient(t.Context(), catalog.NewOpenClient{Name: "Open", RedirectURIs: []string{"http://127.0.0.1/"},
			Scopes: []string{"org:read"}})
		require.NoError(t, err)
		limited := uuid.MustParse(string(org))
		browser := w.session(t, nil)
		ofApp := w.session(t, func(s *session.Session) { s.Client, s.Org, s.Parent = string(app.ID), limited, browser.ID })
		ofOpen := w.session(t, func(s *session.Session) { s.Client, s.Org = string(open.ID), limited })
		described := w.session(t, func(s *session.Session) { s.Client = "https://app.example/client.json" })
		other := w.addUser(t, "bob@example.com")
		w.session(t, func(s *session.Session) { s.User = other })
		ended := w.session(t, nil)
		require.NoError(t, w.RevokeSession(t.Context(), ended.ID))
		w.session(t, func(s *session.Session) { s.ExpiresAt = w.now() })

		list := func(org uuid.UUID, domain string) (listed []session.Listed) {
			require.NoError(t, catalog.Each(func(page catalog.Page) (catalog.List[session.Listed], error) {
				page.Size = 1
				return w.ListSessions(t.Context(), session.Filter{User: w.user, Org: org, Domain: domain}, page)
			}, func(l session.Listed) error { listed = append(listed, l); return nil }))
			return listed
		}
		require.ElementsMatch(t, []session.Listed{{Session: browser}, {Session: ofApp, ClientName: "App"}, {Session: ofOpen, ClientName: "Open"},
			{Session: described}}, list(uuid.Nil, ""))
		require.ElementsMatch(t, []session.Listed{{Session: ofApp, ClientName: "App"}, {Session: ofOpen, ClientName: "Open"}}, list(limited, ""))
		all := []session.Listed{{Session: browser}, {Session: ofApp, ClientName: "App"}, {Session: ofOpen, ClientName: "Open"},
			{Session: described}}
		require.ElementsMatch(t, all, list(limited, "example.com"), "the only organisation of the server")
		_, _ = w.governed(t)
		require.ElementsMatch(t, all[1:3], list(limited, "example.com"))

		require.NoError(t, w.RevokeFamily(t.Context(), browser.ID))
		require.ElementsMatch(t, []session.Listed{{Session: ofOpen, ClientName: "Open"}, {Session: described}}, list(uuid.Nil, ""))
	})
}
