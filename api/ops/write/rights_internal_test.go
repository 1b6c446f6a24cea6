package write

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/revocation"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// oneMember is a catalog whose only member can be removed.
type oneMember struct {
	mu    sync.Mutex
	epoch uint64
	gone  bool
}

func (m *oneMember) remove() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.epoch++
	m.gone = true
	return m.epoch
}

func (m *oneMember) Epoch(context.Context) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.epoch, nil
}

func (m *oneMember) Watch(context.Context) <-chan uint64 { return nil }

func (m *oneMember) Membership(context.Context, catalog.OrgID, catalog.UserID) (catalog.Membership, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone {
		return catalog.Membership{}, catalog.ErrNotFound
	}
	return catalog.Membership{Role: catalog.RoleEditor}, nil
}

func (m *oneMember) APIKey(context.Context, catalog.OrgID, catalog.KeyID) (catalog.APIKey, error) {
	return catalog.APIKey{}, catalog.ErrNotFound
}

// published is a store in which every write may commit.
type published struct{ LeaseStore }

func (published) PublishWrite(context.Context, catalog.WriteLeaseID, int64) error { return nil }
func (published) WithdrawWrite(context.Context, catalog.WriteLeaseID) error       { return nil }

// attempted is an attempt to commit with a given outcome.
type attempted func() (*delta.Snapshot, error)

func (a attempted) Commit(context.Context) (*delta.Snapshot, error) { return a() }
func (attempted) Base() *delta.Snapshot                             { return nil }
func (attempted) Growth() int64                                     { return 0 }

// TestCommitAttemptIsNotEnded checks that an attempt to commit is not ended, and that
// ended work makes no attempt.
func TestCommitAttemptIsNotEnded(t *testing.T) {
	for _, c := range []struct {
		name   string
		result error
		goesOn bool
	}{
		{"committed", nil, true},
		{"unknown", fmt.Errorf("attempt: %w", delta.ErrCommitUnknown), true},
		{"lost", delta.ErrConflict, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			members := &oneMember{epoch: 1}
			revocations := revocation.New(members, revocation.Options{Tick: time.Millisecond})
			running, stop := context.WithCancel(t.Context())
			var done sync.WaitGroup
			done.Go(func() { revocations.Run(running) })
			t.Cleanup(func() { stop(); done.Wait() })
			editor := caller.Identity{}
			editor.Role = auth.Role(catalog.RoleEditor)

			ctx, work := revocations.Begin(t.Context(), editor)
			defer work.Done()
			other, probe := revocations.Begin(t.Context(), editor)
			defer probe.Done()
			w := &writing{work: work, lease: &Lease{rights: access.SystemTable{}, leases: Leases{Store: published{}}, system: t.Context()}}
			_, err := w.publish(ctx, attempted(func() (*delta.Snapshot, error) {
				revocations.Confirmed(members.remove())
				<-other.Done()
				require.NoError(t, ctx.Err())
				return nil, c.result
			}))
			require.Equal(t, c.result, err)
			if c.goesOn {
				again, last := revocations.Begin(t.Context(), editor)
				defer last.Done()
				<-again.Done()
				require.NoError(t, ctx.Err())
				return
			}
			<-ctx.Done()
			_, err = w.publish(ctx, attempted(func() (*delta.Snapshot, error) {
				t.Error("an attempt of a write that was ended")
				return nil, nil
			}))
			require.ErrorIs(t, err, revocation.ErrQueryCancelled)
		})
	}
}
