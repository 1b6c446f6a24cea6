package ops

import (
	"slices"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/policy"
)

// formerFilter compiles the policies for a version that is not the newest one. A
// policy knows its column by the name that it has now. A field that was renamed
// since is therefore followed by its name in files: it decides rows under any
// name, and is hidden or masked as it is now. What had the name of a hidden or
// masked column then is hidden or masked too, but it decides no row.
func (u usedTable) formerFilter(policies enforced, s subject) (policy.Filter, error) {
	columns := u.applied(policies).about(false)
	then, err := columns.filter(s, columnsOf(u.snap))
	if err != nil {
		return policy.Filter{}, err
	}
	now, err := columns.filter(s, append(columnsOf(u.head), u.dropped()...))
	if err != nil {
		return policy.Filter{}, err
	}
	request := u.formerRows(policies).request(s, nil, tableAlias, u.uncertain())
	request.Columns, request.ReadAs = u.columnsOfNow()
	rows, err := policy.Compile(request)
	return rows.Stricter(then.HiddenColumns, then.Masks).Stricter(u.formerNames(now)), err
}

// about are the policies that decide rows, or those that hide and mask columns.
func (e enforced) about(rows bool) enforced {
	return slices.DeleteFunc(slices.Clone(e), func(p catalog.Policy) bool { return rows != (p.Kind == catalog.PolicyRows) })
}

// formerRows are the row policies of a former version. Those of every table that
// are in force by a column which only that version has can hide rows there. They
// show none that those of now do not: where there are any of now, such a permit
// is left out.
func (u usedTable) formerRows(policies enforced) enforced {
	now := policies.on(u.located.DeltaID, columnsOf(u.head))
	if !now.hideRows() {
		return u.applied(policies).about(true)
	}
	return slices.DeleteFunc(u.applied(policies).about(true), func(p catalog.Policy) bool {
		parsed, err := policy.Parse(p.Text)
		return err == nil && parsed.Effect() == policy.Permit &&
			!slices.ContainsFunc(now, func(other catalog.Policy) bool { return other.ID == p.ID })
	})
}

// columnsOfNow are the columns of the newest version whose fields the version that
// is read has, with the types that they had, and their names there.
func (u usedTable) columnsOfNow() (columns []engine.Column, then map[string]string) {
	names, then := u.fieldsThen(), map[string]string{}
	former := columnsOf(u.snap)
	for _, f := range u.head.Schema().Fields {
		name, ok := names[fileName(u.head, f)]
		i := slices.IndexFunc(former, func(c engine.Column) bool { return c.Name == name })
		if !ok || i < 0 {
			continue
		}
		column := former[i]
		column.Name = f.Name
		columns, then[f.Name] = append(columns, column), name
	}
	return columns, then
}

// uncertain returns the uncertainty about columns of a historical version. A column
// that only the newest version has is absent from the rows of the historical one. The
// version may hold protected values under the name of a column that has another
// identity there, or that was dropped later.
func (u usedTable) uncertain() uncertainty {
	lost := lostFrom(columnsOf(u.head))
	former := append(columnsOf(u.snap), u.dropped()...)
	return func(p catalog.Policy, column string) bool {
		return lost(p, column) || policy.HasColumn(former, column)
	}
}

// formerNames are the columns that the newest version hides and masks, or would if
// they had not been dropped, by the names that their fields have in the version that
// is read.
func (u usedTable) formerNames(newest policy.Filter) (hidden []string, masks map[string]string) {
	names := u.fieldsThen()
	known := droppedColumns(u.head)
	for _, f := range u.head.Schema().Fields {
		known = append(known, droppedColumn{f.Name, fileName(u.head, f)})
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

// fieldsThen are the names that fields have in the version that is read, by their
// names in files: those stay, whatever a field is called.
func (u usedTable) fieldsThen() map[string]string {
	names := map[string]string{}
	for _, f := range u.snap.Schema().Fields {
		names[fileName(u.snap, f)] = f.Name
	}
	return names
}

// fileName is the name of a field in files. Mapped names that a table without
// mapping still carries mean nothing.
func fileName(snap *delta.Snapshot, f delta.Field) string {
	if snap.Mapped() {
		return f.PhysicalName()
	}
	return f.Name
}
