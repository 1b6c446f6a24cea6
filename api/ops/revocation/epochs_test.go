package revocation_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/revocation"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/apikey"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/catalog/catalogtest/pgtest"
	"github.com/lakewarden/lakewarden/catalog/principal"
	"github.com/lakewarden/lakewarden/catalog/sqlstore"
)

// unwatched is a catalog whose watch confirms that it is up to date and reports no change.
type unwatched struct{ catalog.Epochs }

func (u unwatched) Watch(ctx context.Context) <-chan uint64 {
	unchanged := make(chan uint64)
	go func() {
		defer close(unchanged)
		for range u.Epochs.Watch(ctx) {
			unchanged <- 0
		}
	}()
	return unchanged
}

// TestNextRequestSeesAChange checks that an authenticator with a cache obeys a change of
// its own replica as soon as the change has returned, without any report of the watch.
func TestNextRequestSeesAChange(t *testing.T) {
	for name, url := range map[string]func() string{
		"SQLite":   func() string { return filepath.Join(t.TempDir(), "catalog.db") },
		"Postgres": func() string { return pgtest.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithCancel(authz.System(t.Context(), "test"))
			epochs := &revocation.Epochs{}
			_, err := epochs.Current()
			require.ErrorIs(t, err, revocation.ErrStale, "no epoch was confirmed yet")
			inner, err := sqlstore.Open(ctx, url(), sqlstore.Options{Raised: epochs.Raised})
			require.NoError(t, err)
			store := authz.New(inner)
			require.NoError(t, epochs.Follow(ctx, unwatched{store}, revocation.New(store, revocation.Options{})))
			t.Cleanup(func() {
				stop()
				epochs.Wait()
				require.NoError(t, inner.Close())
			})
			owner, err := store.CreateUser(ctx, catalog.NewUser{Email: "owner@example.com"})
			require.NoError(t, err)
			org, err := store.CreateOrganisation(ctx, catalog.NewOrganisation{Name: "Acme", Owner: owner.ID})
			require.NoError(t, err)
			user, err := store.CreateUser(ctx, catalog.NewUser{Email: "ada@example.com"})
			require.NoError(t, err)
			_, err = store.AddMember(ctx, org.ID, user.ID, catalog.RoleEditor)
			require.NoError(t, err)
			workspace, err := store.DefaultWorkspace(ctx, org.ID)
			require.NoError(t, err)
			keys := apikey.New(principal.New(store), apikey.Options{Epoch: epochs.Current})
			t.Cleanup(keys.Close)

			for range 20 {
				key := apikey.Generate()
				_, err := keys.Authenticate(t.Context(), key.Reveal())
				require.ErrorIs(t, err, auth.ErrUnauthenticated, "the key does not exist yet")
				created, err := store.CreateAPIKey(ctx, catalog.NewAPIKey{
					Org: org.ID, User: user.ID, Name: "test", Prefix: key.Prefix(), Hash: key.Hash(),
					Scopes: auth.RoleEditor.Scopes().Strings(), Workspace: workspace.ID, ExpiresAt: time.Now().Add(time.Hour),
				})
				require.NoError(t, err)
				for _, role := range []catalog.Role{catalog.RoleViewer, catalog.RoleEditor} {
					_, err = store.SetMemberRole(ctx, org.ID, user.ID, role)
					require.NoError(t, err)
					p, err := keys.Authenticate(t.Context(), key.Reveal())
					require.NoError(t, err)
					require.Equal(t, auth.Role(role), p.Role)
				}
				_, err = store.RevokeAPIKey(ctx, org.ID, created.ID)
				require.NoError(t, err)
				_, err = keys.Authenticate(t.Context(), key.Reveal())
				require.ErrorIs(t, err, auth.ErrRevoked)
			}
			known, err := epochs.Current()
			require.NoError(t, err)
			committed, err := store.Epoch(ctx)
			require.NoError(t, err)
			require.Equal(t, committed, known)
		})
	}
}

// TestAnEpochIsConfirmedAfterItsWork: a replica that has not dropped what was deleted up to an
// epoch goes stale.
func TestAnEpochIsConfirmedAfterItsWork(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	told, allow := make(chan uint64), make(chan error)
	epochs := &revocation.Epochs{Before: func(_ context.Context, epoch uint64) error {
		told <- epoch
		return <-allow
	}}
	watched := make(chan uint64)
	require.NoError(t, epochs.Follow(ctx, givenEpochs(watched), revocation.New(nil, revocation.Options{})))
	current := func() uint64 {
		epoch, err := epochs.Current()
		require.NoError(t, err)
		return epoch
	}
	for i, failed := range []error{errors.New("not dropped"), nil} {
		watched <- 2
		require.EqualValues(t, 2, <-told)
		require.EqualValues(t, 1, current(), "not confirmed yet: %d", i)
		allow <- failed
	}
	require.Eventually(t, func() bool { return current() == 2 }, time.Minute, time.Millisecond)
	stop()
	close(watched)
	epochs.Wait()
}

// givenEpochs is a catalog at epoch 1 that is watched through a channel.
type givenEpochs chan uint64

func (g givenEpochs) Epoch(context.Context) (uint64, error) { return 1, nil }

func (g givenEpochs) Watch(context.Context) <-chan uint64 { return g }
