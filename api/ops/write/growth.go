package write

import (
	"context"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// Attempt is one attempt to commit. [delta.Txn] implements it.
type Attempt interface {
	Commit(ctx context.Context) (*delta.Snapshot, error)
	// Base returns the version that the attempt is based on.
	Base() *delta.Snapshot
	// Growth returns by how many bytes the attempt enlarges the table.
	Growth() int64
}

// reserve checks the quota of the table's creator before an attempt, if the table is in a
// sandbox. Concurrent writes of all replicas are counted before they commit. A write that
// does not enlarge the table is never refused. It returns catalog.ErrQuota.
func (l *Lease) reserve(ctx context.Context, attempt Attempt) error {
	if !l.table.StorageConfig.Sandbox {
		return nil
	}
	return l.leases.Store.ReserveGrowth(ctx, l.id, l.table.ID, sizeOf(attempt.Base()), attempt.Growth(), l.leases.SandboxQuota,
		l.leases.alive())
}

// Settle records the size of a table in a sandbox after a commit. [Lease.Commit] calls it.
func (l *Lease) Settle(snap *delta.Snapshot) {
	if !l.table.StorageConfig.Sandbox {
		return
	}
	ctx, release := context.WithTimeout(l.system, l.leases.Beat)
	defer release()
	if err := l.leases.Store.SettleGrowth(ctx, l.id, l.table.ID, sizeOf(snap)); err != nil {
		l.leases.Logger.Warn("size of a table in a sandbox not recorded", "error", err) // the next write records it
	}
}

func sizeOf(snap *delta.Snapshot) catalog.TableSize {
	return catalog.TableSize{Version: snap.Version(), Bytes: snap.TotalBytes()}
}
