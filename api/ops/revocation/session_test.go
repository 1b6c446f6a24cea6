package revocation_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/revocation"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/session"
	signin "github.com/lakewarden/lakewarden/auth/sqlstore"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/catalog/sqlstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestWorkEndsWithItsSession checks that the revocation or the end of a session ends its
// work, and not that of another session of the same person.
func TestWorkEndsWithItsSession(t *testing.T) {
	system := authz.System(t.Context(), "test")
	inner, err := sqlstore.Open(t.Context(), filepath.Join(t.TempDir(), "catalog.db"), sqlstore.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, inner.Close()) })
	store, signIns := authz.New(inner), signin.New(inner.DB())
	user, err := store.CreateUser(system, catalog.NewUser{Email: "ada@example.com"})
	require.NoError(t, err)
	org, err := store.CreateOrganisation(system, catalog.NewOrganisation{Name: "Acme", Owner: user.ID})
	require.NoError(t, err)

	watcher := revocation.New(store, revocation.Options{Tick: 10 * time.Millisecond, Sessions: signIns})
	background, stop := context.WithCancel(system)
	var done sync.WaitGroup
	done.Go(func() {
		for epoch := range store.Watch(background) {
			watcher.Confirmed(epoch)
		}
	})
	done.Go(func() { watcher.Run(background) })
	t.Cleanup(func() { stop(); done.Wait() })

	begin := func(life time.Duration) (uuid.UUID, context.Context) {
		s, err := signIns.CreateSession(t.Context(), session.Session{
			User: uuid.MustParse(string(user.ID)), Method: session.MethodPassword, ExpiresAt: time.Now().Add(life),
		})
		require.NoError(t, err)
		a, err := caller.From(auth.WithPrincipal(t.Context(), auth.Principal{
			OrgID: uuid.MustParse(string(org.ID)), UserID: s.User, SessionID: s.ID, Role: auth.RoleAdmin, Method: auth.MethodJWT,
		}))
		require.NoError(t, err)
		ctx, work := watcher.Begin(t.Context(), a)
		t.Cleanup(work.Done)
		return s.ID, ctx
	}
	revoked, first := begin(time.Hour)
	_, second := begin(time.Hour)
	_, short := begin(300 * time.Millisecond)
	require.NoError(t, signIns.RevokeSession(t.Context(), revoked))
	for _, ended := range []context.Context{first, short} {
		select {
		case <-ended.Done():
			require.ErrorIs(t, context.Cause(ended), revocation.ErrQueryCancelled)
		case <-time.After(time.Minute):
			t.Fatal("the work continues")
		}
	}
	epoch, err := store.Epoch(system)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return watcher.Settled(epoch) }, time.Minute, time.Millisecond)
	require.NoError(t, second.Err())
}
