package stated

import (
	"cmp"
	"maps"
	"slices"

	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// Rules are those that the metadata of a table states. Columns have their physical names, which no
// rename changes. Of NOT NULL there are top-level columns only.
type Rules struct {
	Primary, Unique, Required []string
	// Checks are the expressions of the constraints in the log, by name.
	Checks map[string]string
}

// In returns the rules that a schema and the properties of a table state.
func In(schema delta.Struct, properties map[string]string) Rules {
	physical := func(names []string) (out []string) {
		for _, name := range names {
			f, _ := schema.Field(name)
			out = append(out, f.PhysicalName())
		}
		return out
	}
	keys := constraint.KeysOf(schema, properties)
	out := Rules{Primary: physical(keys.Primary), Unique: physical(keys.Unique), Checks: delta.ConstraintsIn(properties)}
	for _, f := range schema.Fields {
		if !f.Nullable {
			out.Required = append(out.Required, f.PhysicalName())
		}
	}
	return out
}

// Lost are the rules that a version of a table states no more, though a former one stated them.
type Lost struct {
	// Keys and Required were lost with the metadata of fields, by a writer that does not preserve it.
	// They still hold. Columns have their current names.
	Keys     constraint.Keys
	Required []string
	// Marks reports that columns of the primary key lack their marks.
	Marks bool
	// Dropped are the rules that another writer dropped by name.
	Dropped []Dropped
}

// Kinds of rules that can be dropped by name.
const (
	DroppedPrimaryKey = "primary_key"
	DroppedNotNull    = "not_null"
	DroppedCheck      = "check"
)

// Dropped is a rule that was dropped by name.
type Dropped struct {
	Kind string
	// Name is that of the constraint or column; empty for the primary key.
	Name string
}

// Again reports whether a snapshot states a rule that was dropped, or lacks its column.
func (d Dropped) Again(snap *delta.Snapshot) bool {
	switch d.Kind {
	case DroppedPrimaryKey:
		return len(constraint.KeysOf(snap.Schema(), snap.Properties()).Primary) > 0
	case DroppedNotNull:
		f, ok := snap.Schema().Field(d.Name)
		return !ok || !f.Nullable
	}
	_, ok := snap.Constraints()[d.Name]
	return ok
}

// HasKey reports whether a key was lost with the metadata of fields.
func (l Lost) HasKey(key constraint.Key) bool {
	if key.NullsEqual {
		return len(l.Keys.Primary) > 0
	}
	return slices.Contains(l.Keys.Unique, key.Name)
}

// Held reports whether rules still hold that the version does not state.
func (l Lost) Held() bool { return len(l.Keys.Primary)+len(l.Keys.Unique)+len(l.Required) > 0 }

// LostIn returns what a snapshot lacks of the rules that its table stated at a version. A rule whose
// column is gone is not lost: it went with the column. A column that may have NULLs after an ALTER
// TABLE of another writer may have them because that writer says so.
func (s Rules) LostIn(snap *delta.Snapshot, version int64) (out Lost) {
	columns := map[string]delta.Field{}
	for _, f := range snap.Schema().Fields {
		columns[f.PhysicalName()] = f
	}
	keys := constraint.KeysOf(snap.Schema(), snap.Properties())
	for _, name := range s.Unique {
		if f, ok := columns[name]; ok && constraint.Keyable(f.Type) && !keys.IsPrimary(f.Name) && !keys.IsUnique(f.Name) {
			out.Keys.Unique = append(out.Keys.Unique, f.Name)
		}
	}
	_, named := snap.Properties()[constraint.PropertyPrimaryKey]
	switch {
	case len(keys.Primary) > 0:
		out.Marks = slices.ContainsFunc(keys.Primary, func(name string) bool {
			f, _ := snap.Schema().Field(name)
			return !constraint.Marked(f)
		})
	case len(s.Primary) > 0 && !named:
		out.Dropped = append(out.Dropped, Dropped{Kind: DroppedPrimaryKey})
	default:
		for _, name := range s.Primary {
			f, ok := columns[name]
			if !ok || !constraint.Keyable(f.Type) {
				out.Keys.Primary = nil
				break
			}
			out.Keys.Primary = append(out.Keys.Primary, f.Name)
		}
	}
	for _, name := range s.Required {
		switch f, ok := columns[name]; {
		case !ok || !f.Nullable:
		case snap.AlteredSince(version):
			out.Dropped = append(out.Dropped, Dropped{DroppedNotNull, f.Name})
		default:
			out.Required = append(out.Required, f.Name)
		}
	}
	checks := snap.Constraints()
	for name := range s.Checks {
		if _, ok := checks[name]; !ok {
			out.Dropped = append(out.Dropped, Dropped{DroppedCheck, name})
		}
	}
	slices.SortFunc(out.Dropped, func(a, b Dropped) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	return out
}

// With returns keys together with those that were lost.
func (l Lost) With(keys constraint.Keys, schema delta.Struct) constraint.Keys {
	if len(l.Keys.Primary) > 0 {
		keys.Primary = l.Keys.Primary
	}
	unique := keys.Unique
	keys.Unique = nil
	for _, f := range schema.Fields {
		alone := len(keys.Primary) == 1 && keys.Primary[0] == f.Name
		if !alone && (slices.Contains(unique, f.Name) || slices.Contains(l.Keys.Unique, f.Name)) {
			keys.Unique = append(keys.Unique, f.Name)
		}
	}
	return keys
}

// And returns the rules that a snapshot states, and those that still hold although it does not
// state them.
func (l Lost) And(snap *delta.Snapshot) Rules {
	schema := snap.Schema()
	out := In(schema, snap.Properties())
	add := func(list []string, names []string) []string {
		for _, name := range names {
			f, _ := schema.Field(name)
			list = append(list, f.PhysicalName())
		}
		return list
	}
	if len(l.Keys.Primary) > 0 {
		out.Primary = add(nil, l.Keys.Primary)
	}
	out.Unique, out.Required = add(out.Unique, l.Keys.Unique), add(out.Required, l.Required)
	return out
}

// Same reports whether two sets of rules are equal, regardless of their order.
func (s Rules) Same(o Rules) bool {
	equal := func(a, b []string) bool {
		return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
	}
	return slices.Equal(s.Primary, o.Primary) && equal(s.Unique, o.Unique) && equal(s.Required, o.Required) && maps.Equal(s.Checks, o.Checks)
}

// Without returns the rules without those that an alteration removes: before states them, and after
// does not.
func (s Rules) Without(before, after Rules) Rules {
	gone := func(list, before, after []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(name string) bool {
			return slices.Contains(before, name) && !slices.Contains(after, name)
		})
	}
	out := Rules{Primary: s.Primary, Unique: gone(s.Unique, before.Unique, after.Unique),
		Required: gone(s.Required, before.Required, after.Required), Checks: maps.Clone(s.Checks)}
	if !slices.Equal(before.Primary, after.Primary) {
		out.Primary = after.Primary
	}
	for name := range before.Checks {
		if _, ok := after.Checks[name]; !ok {
			delete(out.Checks, name)
		}
	}
	return out
}
