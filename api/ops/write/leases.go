package write

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// ErrLeaseLost: a write could not renew its lease for so long that a vacuum may have deleted
// its files. It is the cause of the write's context; the write must not commit. Retry: 503.
var ErrLeaseLost = fault.New("unavailable", "write lease lost")

// Bounds of write leases. A vacuum ignores a lease that was not renewed for leaseLost; the
// write itself gives up long before.
const (
	leaseBeat  = 10 * time.Second
	leaseGrace = time.Minute
	leaseLost  = 5 * time.Minute
)

// Leases protects the files of writes from vacuums, on all replicas, while
// no version of the table names them yet. It is safe for concurrent use.
type Leases struct {
	Store  catalog.WriteLeases
	Logger *slog.Logger
	// Holder is a name that no two processes have at once: when this process has it, all
	// processes that had it have ended. It is empty if there is no such name.
	Holder string
	// Beat and Grace are for tests; zero means the usual.
	Beat, Grace time.Duration
}

// Begin takes a lease for one write to a table, before its first file is
// uploaded or deleted. The write runs, its commit included, under the context that is
// returned, which ends with the cause [ErrLeaseLost] when the lease cannot
// be kept. done ends the lease, after the commit or after the files of a write
// that failed are gone; it must be called, and may be called again.
func (l Leases) Begin(
	ctx context.Context, table catalog.LocatedTable, kind catalog.WriteKind,
) (writing context.Context, done func(), err error) {
	l.Beat, l.Grace = cmp.Or(l.Beat, leaseBeat), cmp.Or(l.Grace, leaseGrace)
	// The lease needs the catalog also after a cancellation.
	system := authz.System(context.WithoutCancel(ctx), "write lease")
	begun := time.Now()
	write := catalog.NewWrite{Org: table.Org, Table: table.DeltaID, Kind: kind}
	if table.StorageConfig.Kind == catalog.KindLocal {
		// A remote store may still execute requests of an ended process; a file system does
		// not.
		write.Holder = l.Holder
	}
	id, err := l.Store.BeginWrite(authz.System(ctx, "write lease"), write)
	if err != nil {
		return nil, nil, err
	}
	writing, cancel := context.WithCancelCause(ctx)
	beating, stop := context.WithCancel(system)
	var renewing sync.WaitGroup
	renewing.Go(func() { l.renew(beating, id, begun, cancel) })
	return writing, sync.OnceFunc(func() {
		stop()
		renewing.Wait()
		cancel(nil)
		ending, release := context.WithTimeout(system, l.Beat)
		defer release()
		if err := l.Store.EndWrite(ending, id); err != nil {
			l.Logger.Warn("write lease not ended", "error", err) // it expires
		}
	}), nil
}

// renew renews the lease until ctx ends, or withdraws the write.
func (l Leases) renew(ctx context.Context, id catalog.WriteLeaseID, alive time.Time, withdraw context.CancelCauseFunc) {
	ticker := time.NewTicker(l.Beat)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := time.Now()
		err := l.Store.RenewWrite(ctx, id)
		switch {
		case err == nil:
			alive = now
		case ctx.Err() != nil:
			return
		case errors.Is(err, catalog.ErrNotFound), time.Since(alive) > l.Grace:
			withdraw(ErrLeaseLost)
			return
		}
	}
}

// LeaseError returns [ErrLeaseLost] if an error of a write follows from the loss of its
// lease, and err otherwise.
func LeaseError(writing context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(writing), ErrLeaseLost) {
		return ErrLeaseLost
	}
	return err
}

// Vacuums reports whether files of a table are being deleted.
func (l Leases) Vacuums(ctx context.Context, org catalog.OrgID, table catalog.DeltaID) (bool, error) {
	return l.Store.VacuumUnderWay(authz.System(ctx, "write lease"), org, table, time.Now().Add(-leaseLost))
}

// Oldest returns the time from which on files of a table are protected by running writes, or
// the zero time.
func (l Leases) Oldest(ctx context.Context, org catalog.OrgID, table catalog.DeltaID) (time.Time, error) {
	return l.Store.OldestWrite(authz.System(ctx, "write lease"), org, table, time.Now().Add(-leaseLost))
}

// EndFormer ends the leases that an earlier process with the name of this one has
// left. It is called before the first [Leases.Begin].
func (l Leases) EndFormer(ctx context.Context) (int64, error) {
	if l.Holder == "" {
		return 0, nil
	}
	return l.Store.EndWritesOf(authz.System(ctx, "write lease"), l.Holder)
}

// Sweep deletes the leases of writes that ended with their replica.
func (l Leases) Sweep(ctx context.Context) error {
	_, err := l.Store.ForgetWrites(authz.System(ctx, "write lease"), time.Now().Add(-leaseLost))
	return err
}
