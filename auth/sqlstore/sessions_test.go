package sqlstore_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/auth/sqlstore"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/catalogtest/pgtest"
	catalogstore "github.com/lakewarden/lakewarden/catalog/sqlstore"
)

// TestLive checks the end of a session in each of its states, and that its revocation
// raises the epoch.
func TestLive(t *testing.T) {
	for name, url := range map[string]func() string{
		"SQLite":   func() string { return filepath.Join(t.TempDir(), "catalog.db") },
		"Postgres": func() string { return pgtest.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Date(2027, 3, 4, 5, 6, 7, 0, time.UTC)
			governed, err := catalogstore.Open(t.Context(), url(), catalogstore.Options{Now: func() time.Time { return now }})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, governed.Close()) })
			user, err := governed.CreateUser(t.Context(), catalog.NewUser{Email: "ada@example.com"})
			require.NoError(t, err)
			store := sqlstore.New(governed.DB())
			var org uuid.UUID
			live := func(id uuid.UUID) time.Time {
				live, err := store.Live(t.Context(), id)
				require.NoError(t, err)
				require.Equal(t, org, live.Org, "zero unless the session is for one organisation")
				return live.Until
			}

			require.Zero(t, live(uuid.New()), "unknown")
			s, err := store.CreateSession(t.Context(), session.Session{
				User: uuid.MustParse(string(user.ID)), Method: session.MethodSSO, ExpiresAt: now.Add(time.Hour),
			})
			require.NoError(t, err)
			require.Equal(t, s.ExpiresAt, live(s.ID))
			org = uuid.New()
			bound, err := store.CreateSession(t.Context(), session.Session{
				User: s.User, Org: org, Method: session.MethodSSO, ExpiresAt: now.Add(time.Hour),
			})
			require.NoError(t, err)
			require.Equal(t, bound.ExpiresAt, live(bound.ID))
			org = uuid.Nil
			now = now.Add(time.Hour)
			require.Zero(t, live(s.ID), "expired")
			now = now.Add(-time.Minute)
			require.Equal(t, s.ExpiresAt, live(s.ID))

			before, err := governed.Epoch(t.Context())
			require.NoError(t, err)
			for range 2 {
				require.NoError(t, store.RevokeSession(t.Context(), s.ID))
				require.Zero(t, live(s.ID), "revoked")
			}
			after, err := governed.Epoch(t.Context())
			require.NoError(t, err)
			require.Equal(t, before+1, after, "the second revocation changed nothing")
		})
	}
}
