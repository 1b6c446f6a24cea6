package table

import (
	"context"
	"errors"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// ErrVacuumRunning: a vacuum or purge is deleting files of the table, so no historical version
// of it can be restored, and it cannot be purged. Retry after it: 409.
var ErrVacuumRunning = fault.New("vacuum_running", "vacuum under way")

// RestorePoint names a version of a table by exactly one of its members.
type RestorePoint struct {
	Version *int64
	// Timestamp means the last version that was committed by then.
	Timestamp *time.Time
}

// Restore restores the rows, columns and properties of a version, in one commit. Later rows
// are removed. The identity, policies, keys, constraints and domains belong to the table,
// not to a version, and stay as they are. The version may belong to a table that this one
// replaced; the rules of that table do not come back with it. The error is a
// [ColumnInUseError] if a policy would govern another column than it does now, or one where
// it governs none, or if a key, constraint or domain would lack its columns; it is a
// [RowsError] if restored rows violate a key or constraint, or a domain that all present
// rows satisfy. Others: access.ErrPartlyVisible; catalog.DeniedError for a caller who is not an
// administrator if the version has a shorter retention of older versions;
// delta.ErrVersionNotFound, [ErrVacuumRunning], those of opening a table and of commits.
func (o Rules) Restore(ctx context.Context, path access.Path, to RestorePoint) (Altered, error) {
	var at delta.At
	switch {
	case (to.Version == nil) == (to.Timestamp == nil):
		return Altered{}, fault.Invalid("version", "exactly one of version and timestamp is required")
	case to.Version != nil:
		at = delta.AtVersion(*to.Version)
	default:
		at = delta.AtTimestamp(*to.Timestamp)
	}
	r, err := o.find(ctx, path)
	if err != nil {
		return Altered{}, err
	}
	restoring, lease, err := o.restoring(ctx, r)
	if err != nil {
		return Altered{}, err
	}
	defer lease.End()
	held := r.table.DeltaID
	out, err := o.change(restoring, path, func(ctx context.Context, r ruled) (*alteration, error) {
		if r.table.DeltaID != held {
			return nil, access.ErrTableIdentity
		}
		table, err := r.door.Whole(ctx)
		if err != nil {
			return nil, err
		}
		then, err := r.view.At(ctx, at)
		if err != nil {
			return nil, err
		}
		target := then.Snapshot()
		if target.Version() == r.snap.Version() {
			return nil, nil
		}
		// The policies may apply to columns that only that version has.
		if whole, err := then.MayChangeWhole(ctx); err != nil || !whole {
			return nil, errors.Join(err, access.ErrPartlyVisible)
		}
		if err := then.CheckRows(ctx); err != nil {
			return nil, err
		}
		if err := r.mayKeep(target); err != nil {
			return nil, err
		}
		moved, err := o.moved(ctx, r, target)
		if err != nil {
			return nil, err
		}
		if err := inUse(moved); err != nil {
			return nil, err
		}
		as, err := o.sameRules(ctx, r, ruledBy(then))
		if err != nil {
			return nil, err
		}
		domains, err := o.sameDomains(ctx, r, ruledBy(then))
		if err != nil {
			return nil, err
		}
		txn, _, err := r.snap.RestoreAs(ctx, target, as, delta.Operation{UserID: string(r.actor.User), UserName: r.actor.Email})
		return &alteration{table: table, txn: txn, publish: func(ctx context.Context) (*delta.Snapshot, error) {
			return lease.Commit(ctx, domains, txn)
		}}, err
	})
	return out, write.LeaseError(restoring, err)
}

// restoring takes a lease that keeps vacuums, on every replica, from deleting files that a
// historical version needs: a vacuum that begins later deletes nothing meanwhile, and during one
// that has begun nothing is restored. Only then does a check for the files prove anything.
func (o Rules) restoring(ctx context.Context, r ruled) (context.Context, *write.Lease, error) {
	table, err := r.door.Whole(ctx)
	if err != nil {
		return nil, nil, err
	}
	writing, lease, err := o.Leases.Begin(ctx, table, catalog.WriteRestore)
	if err != nil {
		return nil, nil, err
	}
	under, err := lease.VacuumUnderWay(ctx)
	if err == nil && under {
		err = ErrVacuumRunning
	}
	if err != nil {
		lease.End()
		return nil, nil, err
	}
	return writing, lease, nil
}
