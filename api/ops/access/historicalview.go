package access

import (
	"slices"

	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/policy"
	"github.com/lakewarden/lakewarden/engine/policy/sqlfilter"
)

// historicalFilter compiles the policies for a version that is not the newest one. A
// policy knows its column by the current name. A field that was renamed since is
// therefore identified by its name in files: it decides rows under any name, and is
// hidden or masked as it is now. A column that had the name of a hidden or masked column
// in the historical version is hidden or masked too, but decides no row.
func (v tableVersion) historicalFilter(policies policySet, who Subject) (sqlfilter.Filter, error) {
	columns := v.applicable(policies).ofRows(false)
	then, err := columns.filter(who, lake.Columns(v.snap))
	if err != nil {
		return sqlfilter.Filter{}, err
	}
	now, err := columns.filter(who, append(lake.Columns(v.head), v.dropped()...))
	if err != nil {
		return sqlfilter.Filter{}, err
	}
	request := v.historicalRows(policies).request(who, nil, tableAlias, v.uncertain())
	request.Columns, request.ReadAs = v.currentColumns()
	rows, err := sqlfilter.Compile(request)
	return rows.Stricter(then.HiddenColumns, then.Masks).Stricter(v.historicalNames(now)), err
}

// historicalRows returns the row policies of a historical version. A policy of every
// table that applies because of a column which only that version has can hide rows, but
// not show rows that the current policies hide: its permit is left out if there are
// current row policies.
func (v tableVersion) historicalRows(policies policySet) policySet {
	now := policies.on(v.located.DeltaID, lake.Columns(v.head))
	if !now.hideRows() {
		return v.applicable(policies).ofRows(true)
	}
	return slices.DeleteFunc(v.applicable(policies).ofRows(true), func(p catalog.Policy) bool {
		parsed, err := policy.Parse(p.Text)
		return err == nil && parsed.Effect() == policy.Permit &&
			!slices.ContainsFunc(now, func(other catalog.Policy) bool { return other.ID == p.ID })
	})
}

// currentColumns returns the columns of the newest version whose fields the historical
// version has, with their historical types, and their historical names.
func (v tableVersion) currentColumns() (columns []engine.Column, then map[string]string) {
	names, then := fieldNames(v.snap), map[string]string{}
	historical := lake.Columns(v.snap)
	for _, f := range v.head.Schema().Fields {
		name, ok := names[fileName(v.head, f)]
		i := slices.IndexFunc(historical, func(c engine.Column) bool { return c.Name == name })
		if !ok || i < 0 {
			continue
		}
		column := historical[i]
		column.Name = f.Name
		columns, then[f.Name] = append(columns, column), name
	}
	return columns, then
}

// uncertain returns the uncertainty about columns of a historical version. A column
// that only the newest version has is absent from the rows of the historical one. The
// version may hold protected values under the name of a column that has another
// identity there, or that was dropped later.
func (v tableVersion) uncertain() uncertainty {
	lost := lostFrom(lake.Columns(v.head))
	historical := append(lake.Columns(v.snap), v.dropped()...)
	return func(p catalog.Policy, column string) bool {
		return lost(p, column) || policy.HasColumn(historical, column)
	}
}

// historicalNames returns the columns that the newest version hides and masks, or would
// if they had not been dropped, by their historical names.
func (v tableVersion) historicalNames(newest sqlfilter.Filter) (hidden []string, masks map[string]string) {
	names := fieldNames(v.snap)
	known := droppedColumns(v.head)
	for _, f := range v.head.Schema().Fields {
		known = append(known, droppedColumn{f.Name, fileName(v.head, f)})
	}
	masks = map[string]string{}
	for _, field := range known {
		name, ok := names[field.File]
		if !ok {
			continue
		}
		if slices.Contains(newest.HiddenColumns, field.Name) {
			hidden = append(hidden, name)
		}
		if mask, ok := newest.Masks[field.Name]; ok {
			masks[name] = mask
		}
	}
	return hidden, masks
}

// fieldNames returns the names of a version's fields by their names in files, which never
// change.
func fieldNames(snap *delta.Snapshot) map[string]string {
	names := map[string]string{}
	for _, f := range snap.Schema().Fields {
		names[fileName(snap, f)] = f.Name
	}
	return names
}

// fileName returns the name of a field in files. A table without mapping can still have
// mapped names, which have no effect.
func fileName(snap *delta.Snapshot, f delta.Field) string {
	if snap.Mapped() {
		return f.PhysicalName()
	}
	return f.Name
}
