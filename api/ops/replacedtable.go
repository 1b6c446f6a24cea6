package ops

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// CREATE OR REPLACE TABLE of other writers puts another table, with another
// metaData.id, into the log of the table that it replaces. Versions of a replaced
// table are governed by the rules of two tables, whose columns need not have anything
// in common. So they are not filtered: they are open to callers who see all of both
// tables, and closed to all others, with one error that does not follow from what they hold.

// replaced reports whether the version that is read belongs to a table that was
// replaced since.
func (u usedTable) replaced() bool { return u.snap.TableID() != u.head.TableID() }

// governed returns the table once for each id that policies of the version can have.
func (u usedTable) governed() []catalog.LocatedTable {
	if !u.replaced() {
		return []catalog.LocatedTable{u.located}
	}
	past := u.located
	past.DeltaID = catalog.DeltaID(u.snap.TableID())
	return []catalog.LocatedTable{u.located, past}
}

// openReplaced lets a version of a replaced table be read if the caller sees all of
// it, and all of the table that replaced it. held has the policies of both. Without
// this step the version has no view. Errors: [errRowsFiltered], whatever the version
// holds; those of reading the log and of versions that cannot be read.
func (o Tables) openReplaced(ctx context.Context, a Actor, m *moment, held heldRules, u usedTable) (usedTable, error) {
	if !u.replaced() {
		return u, nil
	}
	if err := u.head.PrecededBy(ctx, u.snap); err != nil {
		return u, err
	}
	ids := u.governed()
	now, then := usedTable{located: ids[0], snap: u.head, head: u.head}, usedTable{located: ids[1], snap: u.snap, head: u.snap}
	if !now.showsAll(held.policies, held.subject) {
		return u, errRowsFiltered
	}
	deleted, err := answer(ctx, m, nil, nil, func() ([]catalog.PolicyRevision, error) {
		return o.Store.DeletedPolicies(ctx, a.Org, ids[1].DeltaID)
	})
	if err != nil {
		return u, err
	}
	before := held.policies.of(ids[1].DeltaID)
	if len(before)+len(deleted) > 0 {
		// Policies know a column by its name in the last version.
		if then.head, err = u.head.LastOf(ctx, u.snap); err != nil {
			return u, err
		}
	}
	tombstones, err := u.tombstones(ctx, then.head, deleted)
	if err != nil {
		return u, err
	}
	// The last version can have columns that this one lacks.
	last := usedTable{located: then.located, snap: then.head, head: then.head}
	for _, policies := range []enforced{before, append(tombstones, before...)} {
		if !then.showsAll(policies, held.subject) || !last.showsAll(policies, held.subject) {
			return u, errRowsFiltered
		}
	}
	u.opened = true
	return u, delta.CheckReadable(u.snap)
}

// replacementSkew is how far the clocks of the catalog and of a log's writers can
// differ without a tombstone being missed.
const replacementSkew = 5 * time.Minute

// tombstones returns the policies of a replaced table that were deleted, or given to
// another table, when it had been replaced already: the policies may only have looked
// unused. Policies for which that was done before, and those that are disabled, do not
// count: that was a decision about the table. last is the table's last version.
func (u usedTable) tombstones(ctx context.Context, last *delta.Snapshot, deleted []catalog.PolicyRevision) (out enforced, err error) {
	if len(deleted) == 0 {
		return nil, nil
	}
	replacement, err := u.head.History(ctx, 1, last.Version()+2)
	if err != nil {
		return nil, err
	}
	for _, r := range deleted {
		// Without its commit, nobody knows when the table was replaced.
		if len(replacement) == 0 || r.At.After(replacement[0].Timestamp.Add(-replacementSkew)) {
			out = append(out, catalog.Policy{ID: r.Policy, Org: r.Org, PolicySpec: r.PolicySpec, Version: r.Version})
		}
	}
	return out, nil
}

// showsAll reports whether the policies leave every row and column of the table to
// the subject. Policies that cannot be compiled do not.
func (u usedTable) showsAll(policies enforced, s subject) bool {
	v, err := u.view(policies, s)
	return err == nil && v.whole()
}

// own returns the policies of one table.
func (e enforced) own(table catalog.DeltaID) enforced {
	return slices.DeleteFunc(slices.Clone(e), func(p catalog.Policy) bool { return p.Table != table })
}

// of returns the policies of one table, and all of those of every table.
func (e enforced) of(table catalog.DeltaID) enforced {
	return slices.DeleteFunc(slices.Clone(e), func(p catalog.Policy) bool { return p.Table != "" && p.Table != table })
}

// openVersions reports, by the index of an entry of the history, whether the caller may
// read its version. The caller sees all of the newest version.
func (o Tables) openVersions(ctx context.Context, a Actor, t catalog.LocatedTable, head *delta.Snapshot, entries []TableVersion) (func(int) bool, error) {
	if err := identify(ctx, head, entries); err != nil {
		return nil, err
	}
	open := map[string]bool{head.TableID(): true}
	for _, e := range entries {
		if _, known := open[e.TableID]; known {
			continue
		}
		past, err := o.Lake.At(ctx, t, delta.AtVersion(e.Version))
		if err == nil {
			_, err = o.viewAt(ctx, a, usedTable{located: t, snap: past, head: head})
		}
		if errors.Is(err, objstore.ErrUnavailable) || ctx.Err() != nil {
			return nil, err
		}
		open[e.TableID] = err == nil // of a version that cannot be read, nobody knows the table
	}
	return func(i int) bool { return open[entries[i].TableID] }, nil
}

// identify fills in the ids of tables that entries of the history do not state, unless
// the log is too short to tell.
func identify(ctx context.Context, head *delta.Snapshot, entries []TableVersion) error {
	first := slices.IndexFunc(entries, func(e TableVersion) bool { return e.TableID == "" })
	if first < 0 {
		return nil
	}
	// No commit after that of the entry, among these, changes the id.
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
