package sqlstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/catalog"
	catalogstore "github.com/lakewarden/lakewarden/catalog/sqlstore"
)

// TestSessionsEndWithTheirClient checks the changes of a client that end its sessions.
func TestSessionsEndWithTheirClient(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		governed, err := catalogstore.Open(t.Context(), w.url, catalogstore.Options{Now: w.now})
		require.NoError(t, err)
		defer func() { require.NoError(t, governed.Close()) }()
		ada := catalog.UserID(w.user.String())
		org, err := governed.CreateOrganisation(t.Context(), catalog.NewOrganisation{Name: "ours", Owner: ada})
		require.NoError(t, err)
		hash := session.Hash("secret")
		app, err := governed.CreateClient(t.Context(), catalog.NewClient{Org: org.ID, Name: "App", SecretHash: hash,
			RedirectURIs: []string{"https://app.example/"}, Scopes: []string{"org:read", "tables:read"}, By: ada})
		require.NoError(t, err)
		robot, err := governed.CreateServiceAccount(t.Context(), catalog.NewServiceAccount{Org: org.ID, Name: "Robot", Role: catalog.RoleViewer,
			SecretHash: hash, Scopes: []string{"org:read"}, By: ada})
		require.NoError(t, err)
		of := func(client catalog.ClientID) uuid.UUID {
			return w.session(t, func(s *session.Session) {
				s.Client = string(client)
				if client == robot.Client {
					s.User, s.Org = uuid.MustParse(string(robot.ID)), uuid.MustParse(string(org.ID))
				}
			}).ID
		}
		ofApp, ofRobot, bystander := of(app.ID), of(robot.Client), of("")

		more, fewer := []string{"org:read", "tables:read", "tables:query"}, []string{"org:read"}
		_, err = governed.UpdateClient(t.Context(), org.ID, app.ID, 0, catalog.ClientChange{Scopes: &more})
		require.NoError(t, err)
		require.NoError(t, governed.ReplaceClientSecret(t.Context(), org.ID, app.ID, hash, time.Hour, catalog.Maker{}))
		require.True(t, w.live(t, ofApp))
		_, err = governed.UpdateClient(t.Context(), org.ID, app.ID, 0, catalog.ClientChange{Scopes: &fewer})
		require.NoError(t, err)
		require.False(t, w.live(t, ofApp), "its tokens name a scope that it has lost")
		ofApp = of(app.ID)
		require.NoError(t, governed.DeleteClient(t.Context(), org.ID, app.ID))
		require.False(t, w.live(t, ofApp))
		require.True(t, w.live(t, ofRobot))
		require.NoError(t, governed.RemoveMember(t.Context(), org.ID, robot.ID))
		require.False(t, w.live(t, ofRobot))
		require.True(t, w.live(t, bystander))
	})
}

// TestSessionsEndWithTheKeyBehindTheirClient checks sessions of clients that a key has made, or
// whose secret it has replaced, and what is made with such sessions.
func TestSessionsEndWithTheKeyBehindTheirClient(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		governed, err := catalogstore.Open(t.Context(), w.url, catalogstore.Options{Now: w.now})
		require.NoError(t, err)
		defer func() { require.NoError(t, governed.Close()) }()
		ada := catalog.UserID(w.user.String())
		org, err := governed.CreateOrganisation(t.Context(), catalog.NewOrganisation{Name: "ours", Owner: ada})
		require.NoError(t, err)
		hash, made := session.Hash("secret"), 0
		key := func(maker catalog.Maker, life time.Duration) catalog.APIKey {
			made++
			k, err := governed.CreateAPIKey(t.Context(), catalog.NewAPIKey{Org: org.ID, User: ada, Name: "key", Prefix: fmt.Sprintf("lw_%08d", made),
				Hash: [32]byte{byte(made)}, Scopes: []string{"org:read"}, ExpiresAt: w.now().Add(life), Shorten: true, Maker: maker})
			require.NoError(t, err)
			return k
		}
		client := func(maker catalog.Maker) catalog.ClientID {
			app, err := governed.CreateClient(t.Context(), catalog.NewClient{Org: org.ID, Name: "App", SecretHash: hash,
				RedirectURIs: []string{"https://app.example/"}, Scopes: []string{"org:read"}, By: ada, Maker: maker})
			require.NoError(t, err)
			return app.ID
		}
		of := func(client catalog.ClientID) session.Session {
			return w.session(t, func(s *session.Session) { s.Client = string(client) })
		}
		usable := func(k catalog.APIKey) bool {
			k, err := governed.APIKey(t.Context(), org.ID, k.ID)
			require.NoError(t, err)
			return k.Usable(w.now())
		}

		brief := key(catalog.Maker{}, 10*time.Minute)
		lasting := client(catalog.Maker{})
		free := of(lasting)
		expiring := of(client(catalog.Maker{Key: brief.ID}))
		require.Equal(t, brief.ExpiresAt, expiring.ExpiresAt)
		byToken := key(catalog.Maker{Session: expiring.ID.String()}, time.Hour)
		require.Equal(t, brief.ExpiresAt, byToken.ExpiresAt, "the token's client ends with the key")
		require.Equal(t, w.now().Add(time.Hour), key(catalog.Maker{Session: free.ID.String()}, time.Hour).ExpiresAt)

		w.advance(10 * time.Minute)
		require.False(t, w.live(t, expiring.ID))
		require.True(t, w.live(t, free.ID))
		_, err = governed.CreateAPIKey(t.Context(), catalog.NewAPIKey{Org: org.ID, User: ada, Name: "late", Prefix: "lw_late_one",
			Hash: [32]byte{255}, Scopes: []string{"org:read"}, ExpiresAt: w.now().Add(time.Hour),
			Maker: catalog.Maker{Session: expiring.ID.String()}})
		require.ErrorIs(t, err, catalog.ErrRevoked)

		brief = key(catalog.Maker{}, 10*time.Minute)
		revoked := of(client(catalog.Maker{Key: brief.ID}))
		byToken = key(catalog.Maker{Session: revoked.ID.String()}, time.Hour)
		// A refresh with the new secret binds a session that is older than the secret.
		code, refresh := session.Hash("code"), session.Hash("refresh")
		grant := func(kind session.GrantKind) session.Grant {
			return session.Grant{Kind: kind, Session: free.ID, Client: string(lasting), Request: []byte("{}"), ExpiresAt: w.now().Add(time.Minute)}
		}
		require.NoError(t, w.CreateGrant(t.Context(), code, grant(session.GrantCode)))
		require.NoError(t, governed.ReplaceClientSecret(t.Context(), org.ID, lasting, hash, time.Hour, catalog.Maker{Key: brief.ID}))
		untouched, err := w.Session(t.Context(), free.ID)
		require.NoError(t, err)
		require.Equal(t, free.ExpiresAt, untouched.ExpiresAt)
		require.NoError(t, w.ExchangeGrant(t.Context(), session.GrantCode, code, refresh, grant(session.GrantRefresh)))
		exchanged, err := w.Session(t.Context(), free.ID)
		require.NoError(t, err)
		require.Equal(t, brief.ExpiresAt, exchanged.ExpiresAt)

		epoch := w.epoch(t)
		_, err = governed.RevokeAPIKey(t.Context(), org.ID, brief.ID)
		require.NoError(t, err)
		require.Greater(t, w.epoch(t), epoch)
		require.False(t, w.live(t, revoked.ID))
		require.False(t, w.live(t, free.ID), "its refresh token is in the hands of whoever has the secret")
		require.False(t, usable(byToken))
		_, _, err = w.Grant(t.Context(), session.GrantRefresh, refresh)
		require.ErrorIs(t, err, session.ErrNotFound)

		w.advance(time.Hour)
		require.NoError(t, w.Expire(t.Context()))
	})
}
