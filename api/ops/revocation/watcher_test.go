package revocation_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/memo"
	"github.com/lakewarden/lakewarden/api/ops/revocation"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// risingCatalog is a catalog whose epoch the test raises. Everybody is a member.
type risingCatalog struct{ epoch atomic.Uint64 }

func (c *risingCatalog) Epoch(context.Context) (uint64, error) { return c.epoch.Load(), nil }

func (c *risingCatalog) Watch(context.Context) <-chan uint64 { panic("not used") }

func (c *risingCatalog) Membership(_ context.Context, org catalog.OrgID, user catalog.UserID) (catalog.Membership, error) {
	return catalog.Membership{Org: org, User: user, Role: catalog.RoleAdmin}, nil
}

func (c *risingCatalog) APIKey(context.Context, catalog.OrgID, catalog.KeyID) (catalog.APIKey, error) {
	panic("not used")
}

// TestAChangeDuringACheckIsNotMissed checks that work ends if what it needs is lost after its
// check has asked for that, and before the check asks for something else.
func TestAChangeDuringACheckIsNotMissed(t *testing.T) {
	store := &risingCatalog{}
	store.epoch.Store(1)
	watcher := revocation.New(store, revocation.Options{Tick: time.Millisecond})
	background, stop := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { watcher.Run(background) })
	t.Cleanup(func() { stop(); done.Wait() })
	watcher.Confirmed(1)

	var lost atomic.Bool
	ctx, work := watcher.Begin(t.Context(), caller.Identity{Principal: auth.Principal{Role: auth.RoleAdmin}})
	t.Cleanup(work.Done)
	work.SetCheck(func(ctx context.Context, v *memo.EpochView) error {
		holds, err := memo.ReadAt(ctx, v, nil, nil, func() (bool, error) { return !lost.Load(), nil })
		if err != nil {
			return err
		}
		if !holds {
			return revocation.ErrRevoked
		}
		_, err = memo.ReadAt(ctx, v, nil, nil, func() (struct{}, error) {
			if !lost.Swap(true) {
				store.epoch.Store(2)
				watcher.Confirmed(2)
			}
			return struct{}{}, nil
		})
		return err
	})
	select {
	case <-ctx.Done():
		require.ErrorIs(t, context.Cause(ctx), revocation.ErrQueryCancelled)
		require.True(t, lost.Load())
	case <-time.After(time.Minute):
		t.Fatal("the work continues")
	}
}
