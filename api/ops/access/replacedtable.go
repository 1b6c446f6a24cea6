package access

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/memo"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// With CREATE OR REPLACE TABLE other writers put a new table, with another metaData.id,
// into the log of the table that it replaces. Versions of the replaced table are governed
// by the rules of both tables, whose columns need not have anything in common. So these
// versions are not filtered: callers who see all of both tables can read them, and all
// others get the same error, whatever the versions hold.

// replaced reports whether the version that is read belongs to a table that was
// replaced since.
func (v tableVersion) replaced() bool { return v.snap.TableID() != v.head.TableID() }

// openReplaced opens a version of a replaced table if the caller sees all of that table
// and all of the current one, and returns other versions unchanged. held has the
// policies of both tables. A version that is not opened has no view. Errors:
// [ErrRowsFiltered], which does not depend on what the version holds; those of reading
// the log and of versions that cannot be read.
func (o Tables) openReplaced(ctx context.Context, a caller.Identity, v *memo.EpochView, held rules, u tableVersion) (tableVersion, error) {
	if !u.replaced() {
		return u, nil
	}
	if err := u.head.PrecededBy(ctx, u.snap); err != nil {
		return u, err
	}
	ids := u.governed()
	current, replaced := tableVersion{located: ids[0], snap: u.head, head: u.head}, tableVersion{located: ids[1], snap: u.snap, head: u.snap}
	if !current.showsAll(held.policies, held.subject) {
		return u, ErrRowsFiltered
	}
	deleted, err := memo.ReadAt(ctx, v, nil, nil, func() ([]catalog.PolicyRevision, error) {
		return o.store.DeletedPolicies(ctx, a.Org, ids[1].DeltaID)
	})
	if err != nil {
		return u, err
	}
	governing := held.policies.of(ids[1].DeltaID)
	if len(governing)+len(deleted) > 0 {
		// Policies name a column as the table's last version does.
		if replaced.head, err = u.head.LastOf(ctx, u.snap); err != nil {
			return u, err
		}
	}
	tombstones, err := u.tombstones(ctx, replaced.head, deleted)
	if err != nil {
		return u, err
	}
	// The last version can have columns that this one lacks.
	last := tableVersion{located: replaced.located, snap: replaced.head, head: replaced.head}
	for _, policies := range []policySet{governing, append(tombstones, governing...)} {
		if !replaced.showsAll(policies, held.subject) || !last.showsAll(policies, held.subject) {
			return u, ErrRowsFiltered
		}
	}
	u.opened = true
	return u, delta.CheckReadable(u.snap)
}

// replacementSkew is the difference between the clocks of the catalog and of a log's
// writers up to which no tombstone is missed.
const replacementSkew = 5 * time.Minute

// tombstones returns the policies of a replaced table that were deleted, or moved to
// another table, after its replacement: they may only have looked unused. Policies for
// which that was done earlier, and disabled ones, do not count, because that was a
// decision about the table. last is the last version of the table.
func (v tableVersion) tombstones(ctx context.Context, last *delta.Snapshot, deleted []catalog.PolicyRevision) (out policySet, err error) {
	if len(deleted) == 0 {
		return nil, nil
	}
	replacement, err := v.head.History(ctx, 1, last.Version()+2)
	if err != nil {
		return nil, err
	}
	for _, r := range deleted {
		// Without the commit of the replacement, its time is unknown.
		if len(replacement) == 0 || r.At.After(replacement[0].Timestamp.Add(-replacementSkew)) {
			out = append(out, catalog.Policy{ID: r.Policy, Org: r.Org, PolicySpec: r.PolicySpec, Version: r.Version})
		}
	}
	return out, nil
}

// openVersions returns a function that reports, for the index of an entry of the history,
// whether the caller may read its version. The caller must see all of the newest version.
func (o Tables) openVersions(ctx context.Context, t Table, entries []HistoryEntry) (func(int) bool, error) {
	head := t.snap
	if err := identify(ctx, head, entries); err != nil {
		return nil, err
	}
	open := map[string]bool{head.TableID(): true}
	for _, e := range entries {
		if _, known := open[e.TableID]; known {
			continue
		}
		past, err := o.lake.At(ctx, t.located, delta.AtVersion(e.Version))
		if err == nil {
			_, err = o.seen(ctx, t.caller, tableVersion{located: t.located, snap: past, head: head})
		}
		if errors.Is(err, objstore.ErrUnavailable) || ctx.Err() != nil {
			return nil, err
		}
		open[e.TableID] = err == nil // a version that cannot be read counts as closed
	}
	return func(i int) bool { return open[entries[i].TableID] }, nil
}

// identify fills in the ids of tables that entries of the history do not state, unless
// the log is too short to tell.
func identify(ctx context.Context, head *delta.Snapshot, entries []HistoryEntry) error {
	first := slices.IndexFunc(entries, func(e HistoryEntry) bool { return e.TableID == "" })
	if first < 0 {
		return nil
	}
	// No newer entry of the list changes the id.
	id := head.TableID()
	if version := entries[first].Version; version < head.Version() {
		var err error
		id, err = head.TableIDAt(ctx, version)
		if err != nil && !errors.Is(err, delta.ErrVersionNotFound) && !errors.Is(err, delta.ErrLogBroken) {
			return err
		}
	}
	for i := range entries[first:] {
		entries[first+i].TableID = id
	}
	return nil
}
