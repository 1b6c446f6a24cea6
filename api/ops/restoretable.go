package ops

import (
	"context"
	"time"

	"github.com/lakewarden/lakewarden/engine/delta"
)

// RestorePoint names a version of a table by exactly one of its members.
type RestorePoint struct {
	Version *int64
	// Timestamp means the last version that was committed by then.
	Timestamp *time.Time
}

// Restore makes a table what it was: rows, columns, properties, keys and the
// constraints of its log, in one commit. Rows that came since are taken away.
// Policies stay as they are; where one would govern another column afterwards than
// it does now, or one where it governs none, the error is a [ColumnInUseError].
// Others: catalog.DeniedError for a caller who does not see all of the table, and
// for one who is no administrator where former versions were kept for a shorter
// time then; delta.ErrVersionNotFound, those of opening a table and of commits.
func (o TableRules) Restore(ctx context.Context, path TablePath, to RestorePoint) (AlteredTable, error) {
	var at delta.At
	switch {
	case (to.Version == nil) == (to.Timestamp == nil):
		return AlteredTable{}, invalid("version", "exactly one of version and timestamp is required")
	case to.Version != nil:
		at = delta.AtVersion(*to.Version)
	default:
		at = delta.AtTimestamp(*to.Timestamp)
	}
	return o.change(ctx, path, func(ctx context.Context, r ruled) (*alteration, error) {
		if !r.view.whole() {
			return nil, errRowsFiltered
		}
		target, err := o.Lake.At(ctx, r.table, at)
		if err != nil || target.Version() == r.snap.Version() {
			return nil, err
		}
		v, err := o.viewAt(ctx, r.actor, usedTable{located: r.table, snap: target, head: r.snap})
		if err != nil {
			return nil, err
		}
		if !v.whole() {
			return nil, errRowsFiltered
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
		txn, _, err := r.snap.Restore(ctx, target, delta.Operation{UserID: string(r.actor.User), UserName: r.actor.Email})
		return &alteration{txn: txn}, err
	})
}
