package dml

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// storedPartitions returns the partition columns by their names in files and in the
// log.
func (w *write) storedPartitions() []string {
	var out []string
	for _, name := range w.Snapshot.PartitionColumns() {
		at := slices.IndexFunc(w.Snapshot.Schema().Fields, func(f delta.Field) bool { return f.Name == name })
		out = append(out, w.Snapshot.StoredFields()[at].Name)
	}
	return out
}

// withStoredNames renames the columns of a query, and their members, to the names
// that they have in files. It keeps the names of the columns extra.
func (w *write) withStoredNames(sql string, extra []string) string {
	stored := w.Snapshot.StoredFields()
	items := make([]string, 0, len(stored)+len(extra))
	for i, f := range w.Snapshot.Schema().Fields {
		if f.Type == delta.Void {
			continue
		}
		items = append(items, storedValue(column("q", f.Name), f.Type, stored[i].Type, 0)+" AS "+engine.QuoteIdent(stored[i].Name))
	}
	for _, name := range extra {
		items = append(items, column("q", name))
	}
	return "SELECT " + strings.Join(items, ", ") + " FROM (" + sql + ") AS q"
}

// withoutVoid returns a query without the void columns, which no file has.
func (w *write) withoutVoid(sql string) string {
	var void []string
	for _, f := range w.Snapshot.Schema().Fields {
		if f.Type == delta.Void {
			void = append(void, engine.QuoteIdent(f.Name))
		}
	}
	if len(void) == 0 {
		return sql
	}
	return "SELECT * EXCLUDE (" + strings.Join(void, ", ") + ") FROM (" + sql + ")"
}

// storedValue returns SQL that converts a value to a type that differs only in the
// names of its members. depth is the number of enclosing lambdas.
func storedValue(value string, t, stored delta.DataType, depth int) string {
	v := "v" + strconv.Itoa(depth)
	switch t := t.(type) {
	case delta.Struct:
		to := stored.(delta.Struct) //nolint:forcetypeassert // both types have the same shape
		items := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			member := "struct_extract(" + value + ", " + engine.QuoteString(f.Name) + ")"
			items[i] = engine.QuoteString(to.Fields[i].Name) + ": " + storedValue(member, f.Type, to.Fields[i].Type, depth)
		}
		return unlessNull(value, "{"+strings.Join(items, ", ")+"}")
	case delta.Array:
		to := stored.(delta.Array) //nolint:forcetypeassert // both types have the same shape
		if element := storedValue(v, t.Element, to.Element, depth+1); element != v {
			return "list_transform(" + value + ", lambda " + v + ": " + element + ")"
		}
	case delta.Map:
		to := stored.(delta.Map) //nolint:forcetypeassert // both types have the same shape
		key, item := storedValue(v+".key", t.Key, to.Key, depth+1), storedValue(v+".value", t.Value, to.Value, depth+1)
		if key != v+".key" || item != v+".value" {
			entries := "list_transform(map_entries(" + value + "), lambda " + v + ": {'key': " + key + ", 'value': " + item + "})"
			return unlessNull(value, "map_from_entries("+entries+")")
		}
	}
	return value
}

// unlessNull returns SQL for made, or NULL if value is NULL: without that test, a
// struct or map made of its members would not be NULL.
func unlessNull(value, made string) string {
	return "CASE WHEN " + value + " IS NULL THEN NULL ELSE " + made + " END"
}
