package write

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// ErrLeaseLost: a write could not renew its lease for so long that a vacuum may have deleted
// its files. It is the cause of the write's context; the write must not commit. Retry: 503.
var ErrLeaseLost = fault.New("unavailable", "write lease lost")

// Bounds of write leases. A lease that was not renewed for leaseLost is removed; the write
// itself gives up long before.
const (
	leaseBeat  = 10 * time.Second
	leaseGrace = time.Minute
	leaseLost  = 5 * time.Minute
)

// LeaseStore is what leases are stored in.
type LeaseStore interface {
	catalog.WriteLeases
	catalog.Publications
	Growth
	// CheckPlace and WritesBeforeMove are those of [catalog.Moves].
	CheckPlace(ctx context.Context, table catalog.Table) error
	WritesBeforeMove(ctx context.Context, move catalog.MoveID, since time.Time) (bool, error)
}

// Growth stores the sizes of tables in sandboxes: see [catalog.Sandboxes].
type Growth interface {
	ReserveGrowth(ctx context.Context, lease catalog.WriteLeaseID, table catalog.TableID, size catalog.TableSize,
		growth, limit int64, since time.Time) error
	SettleGrowth(ctx context.Context, lease catalog.WriteLeaseID, table catalog.TableID, size catalog.TableSize) error
}

// Leases protects the files of writes from vacuums, on all replicas, while no version of
// the table names them yet, and keeps writes away from tables that are being moved. It is
// safe for concurrent use.
type Leases struct {
	Store  LeaseStore
	Logger *slog.Logger
	// Holder is a name that no two processes have at once: when this process has it, all
	// processes that had it have ended. It is empty if there is no such name.
	Holder string
	// Beat and Grace are for tests; zero means the usual.
	Beat, Grace time.Duration
	// SandboxQuota is the largest size in bytes of the tables that one person, or all
	// service accounts of an organisation, created in a sandbox.
	SandboxQuota int64
}

// alive returns the time since which the leases of running writes have been renewed.
func (l Leases) alive() time.Time { return time.Now().Add(-leaseLost) }

// forgetLost deletes the leases that are ignored from now on, so that their writes cannot renew
// them any more, and returns the time since which all others have been renewed.
func (l Leases) forgetLost(system context.Context) (alive time.Time, err error) {
	alive = l.alive()
	_, err = l.Store.ForgetWrites(system, alive)
	return alive, err
}

// Lease is the lease of one write. It belongs to one goroutine.
type Lease struct {
	leases Leases
	id     catalog.WriteLeaseID
	table  catalog.LocatedTable
	rights access.Writable
	// stop ends the renewal and the context of the write.
	stop func()
	// system is for requests to the catalog, also after a cancellation.
	system context.Context
	left   bool
}

// Begin takes a lease for one write to a table, before its first file is uploaded or
// deleted. The write runs, its commit included, under the context that is returned, which
// ends with the cause [ErrLeaseLost] when the lease cannot be kept. [Lease.End] must be
// called. It returns [catalog.ErrTableMoving] for a table that is being moved, or was moved
// after the catalog resolved it; a move that begins later waits for the lease.
func (l Leases) Begin(ctx context.Context, writable access.Writable, kind catalog.WriteKind) (context.Context, *Lease, error) {
	return l.begin(ctx, writable.Located(), writable, kind)
}

func (l Leases) begin(
	ctx context.Context, table catalog.LocatedTable, rights access.Writable, kind catalog.WriteKind,
) (context.Context, *Lease, error) {
	l.Beat, l.Grace = cmp.Or(l.Beat, leaseBeat), cmp.Or(l.Grace, leaseGrace)
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
	// The order matters: a move begins before it looks for leases.
	if err := l.Store.CheckPlace(system, table.Table); err != nil {
		return nil, nil, errors.Join(err, l.Store.EndWrite(system, id))
	}
	writing, cancel := context.WithCancelCause(ctx)
	beating, stop := context.WithCancel(system)
	var renewing sync.WaitGroup
	renewing.Go(func() { l.renew(beating, id, begun, cancel) })
	return writing, &Lease{leases: l, id: id, table: table, rights: rights, system: system, stop: sync.OnceFunc(func() {
		stop()
		renewing.Wait()
		cancel(nil)
	})}, nil
}

// Deleting announces a deletion of files under the lease. It replaces an earlier announcement. If
// the process ends before it calls [Lease.End], the catalog records the deletion when the lease is
// lost. Deleting returns [ErrLeaseLost] if the lease was lost: then nothing may be deleted.
func (l *Lease) Deleting(ctx context.Context, files catalog.FileDeletion) error {
	err := l.leases.Store.DeleteUnder(authz.System(ctx, "deleted files"), l.id, files)
	if errors.Is(err, catalog.ErrNotFound) {
		return ErrLeaseLost
	}
	return err
}

// Deleted returns the error of recording the deletion that [Lease.Deleting] announced. If it is not
// nil, the lease is left to expire, after which the catalog records the deletion.
func (l *Lease) Deleted(recording error) error {
	l.left = l.left || recording != nil
	return recording
}

// End ends the lease, after the commit or after the files of a write that failed are gone.
// It may be called again.
func (l *Lease) End() {
	l.stop()
	if l.left {
		return
	}
	l.left = true
	ending, release := context.WithTimeout(l.system, l.leases.Beat)
	defer release()
	if err := l.leases.Store.EndWrite(ending, l.id); err != nil {
		l.leases.Logger.Warn("write lease not ended", "error", err) // it expires
	}
}

// Commit makes one attempt to commit rows that were checked under a version of the table's
// domains. It returns [catalog.ErrDomainsChanged] if that is not the current version, and
// [catalog.ErrQuota] if the table is in a sandbox and would become too large. If the
// outcome of the attempt is unknown, the lease is left to expire, because the commit may
// still become part of the table.
func (l *Lease) Commit(ctx context.Context, domains int64, attempt Attempt) (*delta.Snapshot, error) {
	publishing := authz.System(ctx, "commit of a write")
	err := l.reserve(publishing, attempt)
	if err == nil {
		err = l.leases.Store.PublishWrite(publishing, l.id, domains)
	}
	switch {
	case errors.Is(err, catalog.ErrNotFound):
		return nil, ErrLeaseLost
	case err != nil:
		return nil, err
	}
	snap, err := l.Attempt(ctx, attempt)
	switch {
	case err == nil:
		l.Settle(snap)
	case !l.left:
		withdrawing, release := context.WithTimeout(l.system, l.leases.Beat)
		defer release()
		if failed := l.leases.Store.WithdrawWrite(withdrawing, l.id); failed != nil {
			l.leases.Logger.Warn("attempt to commit not withdrawn", "error", failed) // changes of domains wait for the lease
		}
	}
	return snap, err
}

// Attempt makes one attempt to commit a change that depends on no domain. If its outcome is
// unknown, the lease is left to expire, because the commit may still become part of the table.
//
// The rights of the caller to the change are judged again first: see [access.Writable].
func (l *Lease) Attempt(ctx context.Context, attempt Attempt) (*delta.Snapshot, error) {
	if err := l.rights.Judge(ctx); err != nil {
		return nil, err
	}
	snap, err := attempt.Commit(ctx)
	l.left = l.left || errors.Is(err, delta.ErrCommitUnknown)
	return snap, err
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
		renewing, cancel := context.WithTimeout(ctx, l.Beat)
		err := l.Store.RenewWrite(renewing, id)
		cancel()
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

// VacuumUnderWay reports whether files of the table are being deleted under another lease. Of two
// that begin at once, at least one sees the other.
func (l *Lease) VacuumUnderWay(ctx context.Context) (bool, error) {
	system := authz.System(ctx, "write lease")
	alive, err := l.leases.forgetLost(system)
	if err != nil {
		return false, err
	}
	return l.leases.Store.VacuumUnderWay(system, l.table.Org, l.table.DeltaID, l.id, alive)
}

// Oldest returns the time from which on files of a table are protected by running writes, or
// the zero time.
func (l Leases) Oldest(ctx context.Context, org catalog.OrgID, table catalog.DeltaID) (time.Time, error) {
	system := authz.System(ctx, "write lease")
	alive, err := l.forgetLost(system)
	if err != nil {
		return time.Time{}, err
	}
	return l.Store.OldestWrite(system, org, table, alive)
}

// ErrWritesInProgress is returned if writes that were checked under an earlier version of a
// table's domains have not ended in time. Retry later: 409.
var ErrWritesInProgress = fault.New("writes_in_progress", "writes in progress")

// Bounds of [Leases.AwaitWrites] and [Leases.AwaitMove].
const (
	awaitedWrites = 30 * time.Second
	awaitedPause  = 20 * time.Millisecond
)

// AwaitWrites waits until no write to a table is committing rows that were checked under a
// version of its domains before the given one. The newest version of the table, if it is
// read then, holds all such rows. It returns [ErrWritesInProgress] after half a minute.
func (l Leases) AwaitWrites(ctx context.Context, org catalog.OrgID, table catalog.DeltaID, domains int64) error {
	ctx, cancel := context.WithTimeoutCause(authz.System(ctx, "commits of writes"), awaitedWrites, ErrWritesInProgress)
	defer cancel()
	return l.await(ctx, func(alive time.Time) (bool, error) {
		return l.Store.PublishingBefore(ctx, org, table, domains, alive)
	})
}

// ErrTableBusy is returned if writes to tables of a move have not ended in time. Retry later:
// 409.
var ErrTableBusy = fault.New("table_busy", "writes to a table of a move in progress")

// AwaitMove waits until no write to a table of a move is in progress, and no vacuum: later ones
// are refused. It returns [ErrTableBusy] after half a minute.
func (l Leases) AwaitMove(ctx context.Context, move catalog.MoveID) error {
	ctx, cancel := context.WithTimeoutCause(authz.System(ctx, "writes before a move"), awaitedWrites, ErrTableBusy)
	defer cancel()
	return l.await(ctx, func(alive time.Time) (bool, error) {
		return l.Store.WritesBeforeMove(ctx, move, alive)
	})
}

// await waits until under reports that no write is in progress whose lease was renewed since the
// given time. It returns the cause of the end of ctx.
func (l Leases) await(ctx context.Context, under func(alive time.Time) (bool, error)) error {
	alive, err := l.forgetLost(ctx)
	for err == nil {
		var wait bool
		if wait, err = under(alive); err != nil || !wait {
			break
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(awaitedPause):
		}
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
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
	_, err := l.forgetLost(authz.System(ctx, "write lease"))
	return err
}
