package write_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore"
)

// leases is a catalog of one write lease that fails on demand.
type leases struct {
	write.Growth // no table is in a sandbox
	catalog.WriteLeases
	catalog.Publications
	mu      sync.Mutex
	live    bool
	err     error
	renewed chan struct{}
	// moving is what CheckPlace returns.
	moving error
}

func (l *leases) BeginWrite(context.Context, catalog.NewWrite) (catalog.WriteLeaseID, error) {
	l.live = true
	return "lease", nil
}

func (l *leases) RenewWrite(context.Context, catalog.WriteLeaseID) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.renewed <- struct{}{}:
	default:
	}
	return l.err
}

func (l *leases) EndWrite(ctx context.Context, _ catalog.WriteLeaseID) error {
	l.live = false
	return ctx.Err()
}

func (l *leases) CheckPlace(context.Context, catalog.Table) error { return l.moving }

func (l *leases) WritesBeforeMove(context.Context, catalog.MoveID, time.Time) (bool, error) {
	return l.live, nil
}

func (l *leases) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
}

func TestAWriteKeepsItsLease(t *testing.T) {
	store := &leases{renewed: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	writing, done, err := write.Leases{Store: store, Logger: slog.New(slog.DiscardHandler), Beat: time.Millisecond}.BeginLocated(ctx,
		catalog.LocatedTable{}, catalog.WriteRows)
	require.NoError(t, err)
	<-store.renewed
	store.fail(errors.New("for a moment"))
	<-store.renewed
	require.NoError(t, writing.Err(), "one failure is not silence")
	cancel()
	<-writing.Done()
	<-store.renewed // the files of a cancelled write are there until they are deleted
	require.True(t, store.live)
	done.End()
	done.End()
	require.False(t, store.live)
}

// TestAWriteWaitsForAMove checks that a table that is being moved is not written to, and that the
// refused write does not hold up the move.
func TestAWriteWaitsForAMove(t *testing.T) {
	store := &leases{moving: catalog.ErrTableMoving}
	l := write.Leases{Store: store, Logger: slog.New(slog.DiscardHandler)}
	_, _, err := l.BeginLocated(t.Context(), catalog.LocatedTable{}, catalog.WriteRows)
	require.ErrorIs(t, err, catalog.ErrTableMoving)
	require.False(t, store.live)
}

func TestAWriteWithoutALeaseEnds(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		grace time.Duration
	}{
		"forgotten": {err: catalog.ErrNotFound, grace: time.Hour},
		"silent":    {err: catalog.ErrUnavailable, grace: time.Nanosecond},
	} {
		t.Run(name, func(t *testing.T) {
			store := &leases{}
			store.fail(c.err)
			l := write.Leases{Store: store, Logger: slog.New(slog.DiscardHandler), Beat: time.Millisecond, Grace: c.grace}
			writing, done, err := l.BeginLocated(t.Context(), catalog.LocatedTable{}, catalog.WriteRows)
			require.NoError(t, err)
			defer done.End()
			<-writing.Done()
			require.ErrorIs(t, context.Cause(writing), write.ErrLeaseLost)
		})
	}
}

// TestALostWriteStaysLost checks that a write cannot renew its lease, nor publish, once a vacuum, a
// restore, a move or a change of domains has gone on without it.
func TestALostWriteStaysLost(t *testing.T) {
	const table catalog.DeltaID = "table"
	ctx := t.Context()
	clock := time.Now()
	store, err := sqlstore.Open(ctx, filepath.Join(t.TempDir(), "catalog.db"), sqlstore.Options{Now: func() time.Time { return clock }})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	user, err := store.CreateUser(ctx, catalog.NewUser{Email: "ada@example.com"})
	require.NoError(t, err)
	org, err := store.CreateOrganisation(ctx, catalog.NewOrganisation{Name: "org", Owner: user.ID})
	require.NoError(t, err)
	leases := write.Leases{Store: store, Logger: slog.New(slog.DiscardHandler)}
	for name, reads := range map[string]func() error{
		"a vacuum": func() error {
			begun, err := leases.Oldest(ctx, org.ID, table)
			require.Zero(t, begun)
			return err
		},
		"a restore": func() error {
			located := catalog.LocatedTable{Table: catalog.Table{Org: org.ID, DeltaID: table}}
			_, restore, err := leases.BeginLocated(ctx, located, catalog.WriteRestore)
			require.NoError(t, err)
			defer restore.End()
			_, err = restore.VacuumUnderWay(ctx)
			return err
		},
		"a move":              func() error { return leases.AwaitMove(ctx, catalog.NewID[catalog.MoveID]()) },
		"a change of domains": func() error { return leases.AwaitWrites(ctx, org.ID, table, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			clock = time.Now().Add(-time.Hour)
			lost, err := store.BeginWrite(ctx, catalog.NewWrite{Org: org.ID, Table: table, Kind: catalog.WriteRows})
			require.NoError(t, err)
			clock = time.Now()
			live, err := store.BeginWrite(ctx, catalog.NewWrite{Org: org.ID, Table: "another", Kind: catalog.WriteRows})
			require.NoError(t, err)
			require.NoError(t, reads())
			require.ErrorIs(t, store.RenewWrite(ctx, lost), catalog.ErrNotFound)
			require.ErrorIs(t, store.PublishWrite(ctx, lost, 0), catalog.ErrNotFound)
			require.NoError(t, store.RenewWrite(ctx, live))
		})
	}
}
