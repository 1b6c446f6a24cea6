package access

import (
	"maps"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/datafile"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/policy"
	"github.com/lakewarden/lakewarden/engine/policy/sqlfilter"
	"github.com/lakewarden/lakewarden/engine/pruning"
)

// view is what one subject sees of a table at one version: the rows of the filter, and
// the columns that are not hidden, masked or as they are.
type view struct {
	sqlfilter.Filter
	// columns are the visible columns, with their types after masking.
	columns []engine.Column
	// exprs are the masks in SQL, by the columns' names in lower case.
	exprs map[string]string
	// sorted reports that the order of rows in files depends on values that the subject
	// does not see.
	sorted bool
	// formerlyLess reports that the subject did not see all columns of an earlier version: one
	// that was dropped since would be hidden or masked.
	formerlyLess bool
}

func newView(filter sqlfilter.Filter, snap *delta.Snapshot) view {
	v := view{Filter: filter, exprs: map[string]string{}}
	for _, c := range lake.Columns(snap) {
		if slices.Contains(filter.HiddenColumns, c.Name) {
			continue
		}
		if mask, ok := filter.Masks[c.Name]; ok {
			c, v.exprs[strings.ToLower(c.Name)] = sqlfilter.Masked(c, mask, tableAlias)
		}
		v.columns = append(v.columns, c)
	}
	for _, name := range snap.PartitionColumns() {
		_, masked := filter.Masks[name]
		v.sorted = v.sorted || masked || slices.Contains(filter.HiddenColumns, name)
	}
	v.sorted = v.sorted || laidOut(filter, snap)
	return v
}

// laidOut reports whether the order of files follows from what the subject does not see:
// a column, or hidden rows, since their values shape a curve through any column.
func laidOut(filter sqlfilter.Filter, snap *delta.Snapshot) bool {
	if !filter.Restricted && len(filter.HiddenColumns) == 0 && len(filter.Masks) == 0 {
		return false
	}
	by := datafile.LaidOutBy(snap)
	if filter.Restricted {
		return len(by) > 0
	}
	return slices.ContainsFunc(snap.Schema().Fields, func(f delta.Field) bool {
		_, masked := filter.Masks[f.Name]
		return (masked || slices.Contains(filter.HiddenColumns, f.Name)) && (slices.Contains(by, f.Name) || slices.Contains(by, f.PhysicalName()))
	})
}

// whole reports whether the subject sees every value of the table, unmasked.
func (v view) whole() bool {
	return !v.Restricted && len(v.HiddenColumns) == 0 && len(v.Masks) == 0
}

// filtered reports whether the layout of rows in files is secret from the subject. It is
// not if the policies only hide columns, because the layout does not depend on them.
func (v view) filtered() bool { return v.Restricted || len(v.exprs) > 0 || v.sorted }

// restriction returns what pruning may assume about the visible rows.
func (v view) restriction() pruning.Restriction {
	return pruning.Restriction{Needed: v.Condition, Assured: v.Assured}
}

// hashes reports whether the SQL of the masks needs the table's secret.
func (v view) hashes() bool {
	return slices.Contains(slices.Collect(maps.Values(v.Masks)), policy.MaskHash)
}

// hides reports whether name names a hidden column.
func (v view) hides(name string) bool {
	return slices.ContainsFunc(v.HiddenColumns, func(hidden string) bool { return strings.EqualFold(hidden, name) })
}

// masked reports whether a column is masked.
func (v view) masked(name string) bool {
	_, masked := v.Masks[name]
	return masked
}

// defaultText returns the default of a column as the log holds it, or "" for a masked
// column, because rows that were added without the column hold this value.
func (v view) defaultText(f delta.Field) string {
	if v.masked(f.Name) {
		return ""
	}
	text, _, _ := f.Default()
	return text
}
