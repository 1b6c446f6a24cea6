package access

import (
	"slices"

	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/datafile"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/policy/sqlfilter"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// tableVersion is a version of a table that is read, without what any caller sees of it.
type tableVersion struct {
	located catalog.LocatedTable
	// snap is the version that is read, head the newest one. The columns of both decide
	// which policies apply, so reading an older version that lacks a policy's column does
	// not avoid the policy.
	snap, head *delta.Snapshot
	// opened reports that the caller may read snap, which belongs to a replaced table: see
	// [Tables.openReplaced].
	opened bool
	// emptied is an epoch: what is read of the version is in no file that was deleted up to it.
	emptied uint64
}

// view compiles the policies for one subject. An older version shows no more than the
// newest one: see [tableVersion.historicalFilter]. A version of a replaced table shows
// everything if [Tables.openReplaced] has opened it; otherwise the error is
// [ErrRowsFiltered].
func (v tableVersion) view(policies policySet, who Subject) (view, error) {
	if v.replaced() {
		if !v.opened {
			return view{}, ErrRowsFiltered
		}
		all, err := policySet(nil).filter(who, lake.Columns(v.snap))
		return newView(all, v.snap), err
	}
	if err := policies.checkColumns(v.located.DeltaID, lake.Columns(v.head)); err != nil {
		return view{}, err
	}
	compile := v.historicalFilter
	if v.snap == v.head {
		compile = v.headFilter
	}
	filter, err := compile(policies, who)
	if err != nil {
		return view{}, err
	}
	out := newView(filter, v.snap)
	unseen, err := v.unseenDropped(policies, who)
	if len(unseen) > 0 {
		out.formerlyLess = true
		by := datafile.LaidOutBy(v.snap)
		out.sorted = out.sorted || slices.ContainsFunc(unseen, func(file string) bool { return slices.Contains(by, file) })
	}
	return out, err
}

// unseenDropped returns the names in files of the dropped columns that would be hidden or masked if
// the table still had them. The log and the order of rows still tell about their values.
func (v tableVersion) unseenDropped(policies policySet, who Subject) (files []string, err error) {
	list := droppedColumns(v.head)
	if len(list) == 0 {
		return nil, nil
	}
	columns := lake.Columns(v.head)
	for _, d := range list {
		// Whether a column is hidden or masked does not depend on its type.
		columns = append(columns, engine.Column{Name: d.Name, Type: sqltype.Varchar, Nullable: true})
	}
	filter, err := policies.on(v.located.DeltaID, columns).ofRows(false).filter(who, columns)
	for _, d := range list {
		if _, masked := filter.Masks[d.Name]; masked || slices.Contains(filter.HiddenColumns, d.Name) {
			files = append(files, d.File)
		}
	}
	return files, err
}

func (v tableVersion) headFilter(policies policySet, who Subject) (sqlfilter.Filter, error) {
	return v.applicable(policies).filter(who, lake.Columns(v.snap))
}

// applicable returns the policies that govern what is read of the table.
func (v tableVersion) applicable(policies policySet) policySet {
	if v.replaced() { // its columns in the versions between are unknown
		return append(policies.of(v.located.DeltaID), policies.own(v.governed()[1].DeltaID)...)
	}
	return policies.on(v.located.DeltaID, slices.Concat(lake.Columns(v.head), lake.Columns(v.snap), v.dropped()))
}

// governed returns the table once for each table id whose policies govern the version.
func (v tableVersion) governed() []catalog.LocatedTable {
	if !v.replaced() {
		return []catalog.LocatedTable{v.located}
	}
	replaced := v.located
	replaced.DeltaID = catalog.DeltaID(v.snap.TableID())
	return []catalog.LocatedTable{v.located, replaced}
}

// showsAll reports whether the policies show every row and column of the table to the
// subject. It returns false for policies that cannot be compiled.
func (v tableVersion) showsAll(policies policySet, who Subject) bool {
	seen, err := v.view(policies, who)
	return err == nil && seen.whole()
}
