package analysis_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/catalog/secret"
	"github.com/lakewarden/lakewarden/catalog/sqlstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is an organisation in a catalog with a clock of its own.
type world struct {
	store *authz.Store
	keys  *secret.Keyring
	org   catalog.OrgID
	now   time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}
	raw, err := sqlstore.Open(t.Context(), filepath.Join(t.TempDir(), "c.db"), sqlstore.Options{Now: w.clock})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, raw.Close()) })
	w.store = authz.New(raw)
	w.keys, err = secret.File{Path: filepath.Join(t.TempDir(), "keys.json")}.Load(t.Context())
	require.NoError(t, err)
	w.org = w.organisation(t, "owner@acme.example")
	return w
}

func (w *world) clock() time.Time { return w.now }

func (w *world) organisation(t *testing.T, owner string) catalog.OrgID {
	t.Helper()
	system := authz.System(t.Context(), "test")
	user, err := w.store.CreateUser(system, catalog.NewUser{Email: owner})
	require.NoError(t, err)
	org, err := w.store.CreateOrganisation(system, catalog.NewOrganisation{Name: owner, Owner: user.ID})
	require.NoError(t, err)
	return org.ID
}

// as returns the context of a member of an organisation with a role.
func as(t *testing.T, org catalog.OrgID, role auth.Role) context.Context {
	t.Helper()
	return auth.WithPrincipal(t.Context(), auth.Principal{
		OrgID: uuid.MustParse(string(org)), UserID: uuid.New(), Role: role, Granted: auth.AllScopes(), Scopes: role.Scopes(),
		Method: auth.MethodJWT,
	})
}
