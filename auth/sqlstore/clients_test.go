package sqlstore_test

import (
	"testing"

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
		require.NoError(t, governed.ReplaceClientSecret(t.Context(), org.ID, app.ID, hash))
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
