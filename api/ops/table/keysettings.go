package table

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/constraint/stated"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// ColumnSettings are changes of a column's settings; nil leaves a setting unchanged.
type ColumnSettings struct{ IsUnique, IsPrimaryKey, IsNullable *bool }

// SetColumn changes the settings of a column, in one commit. Removing a setting is always
// possible; making one is a change of the whole table, and is refused if existing rows violate
// it. The rest of a reduced key is a new key, too. Errors: [RowsError], catalog.FieldErrors,
// access.ErrPartlyVisible, those of opening a table and of commits. A long
// check continues as an operation; with async it always is one.
func (o Rules) SetColumn(
	ctx context.Context, path access.Path, column string, wanted ColumnSettings, async bool,
) (*catalog.Operation, error) {
	_, goesOn, err := validated(ctx, o, path, async, func(ctx context.Context, o Rules) (struct{}, error) {
		return struct{}{}, o.setColumn(ctx, path, column, wanted)
	}, nothing)
	return goesOn, err
}

func (o Rules) setColumn(ctx context.Context, path access.Path, column string, wanted ColumnSettings) error {
	return o.alter(ctx, path, func(ctx context.Context, r ruled) (*alteration, error) {
		f, ok := r.view.Column(column)
		if !ok {
			return nil, catalog.ErrNotFound
		}
		keys := constraint.KeysOf(r.snap.Schema(), r.snap.Properties())
		next, err := wanted.keys(r.snap.Schema(), f.Name, keys)
		if err != nil {
			return nil, err
		}
		requires := wanted.IsNullable != nil && !*wanted.IsNullable && f.Nullable
		table, err := r.ruleDoor(ctx, requires || len(r.newKeys(keys, next, "", "", true)) > 0)
		if err != nil {
			return nil, err
		}
		questions := r.newKeys(keys, next, "is_primary_key", "is_unique", false)
		if requires {
			questions = append(questions, question{field: "is_nullable", what: "rows without a value", required: f.Name})
		}
		if err := o.checkAll(ctx, r, questions); err != nil {
			return nil, err
		}
		if err := o.memory().ForgetLost(ctx, r.table, r.snap, wanted.removed(f)); err != nil {
			return nil, err
		}
		edit := func(a *delta.Alteration) error {
			switch {
			case wanted.IsNullable == nil || *wanted.IsNullable == f.Nullable:
				return nil
			case *wanted.IsNullable:
				return a.DropNotNull([]string{f.Name})
			}
			return a.SetNotNull([]string{f.Name})
		}
		a, err := r.rewrite(table, next, edit)
		if a != nil {
			a.operation, a.everyRow = "CHANGE COLUMN", len(questions) > 0
			a.parameters = map[string]string{"column": action.JSONText(f.Name)}
		}
		return a, err
	})
}

// removed returns the rules of a column that the settings remove, also one that another writer
// has lost before.
func (s ColumnSettings) removed(f delta.Field) (out stated.Rules) {
	if s.IsUnique != nil && !*s.IsUnique {
		out.Unique = []string{f.PhysicalName()}
	}
	if s.IsNullable != nil && *s.IsNullable {
		out.Required = []string{f.PhysicalName()}
	}
	return out
}

// keys returns the keys after the change. The flag isUnique of a key column follows
// from the key, so it can be sent for one only together with a change of the key.
func (s ColumnSettings) keys(schema delta.Struct, column string, keys constraint.Keys) (constraint.Keys, error) {
	next := constraint.Keys{Primary: slices.Clone(keys.Primary), Unique: slices.Clone(keys.Unique)}
	was, is := keys.IsPrimary(column), keys.IsPrimary(column)
	if s.IsPrimaryKey != nil {
		is = *s.IsPrimaryKey
	}
	without := func(list []string) []string {
		return slices.DeleteFunc(list, func(name string) bool { return name == column })
	}
	switch {
	case s.IsUnique != nil && was && is:
		return next, fault.Invalid("is_unique", "follows from the primary key; send isPrimaryKey false with it")
	case is && !was:
		next.Primary, next.Unique = append(next.Primary, column), without(next.Unique)
	case was && !is:
		next.Primary = without(next.Primary)
	}
	if s.IsUnique != nil && !is {
		if next.Unique = without(next.Unique); *s.IsUnique {
			next.Unique = append(next.Unique, column)
		}
		next.Unique = inSchemaOrder(schema, next.Unique)
	}
	return next, keyable(schema, next, column, "is_unique", "is_primary_key")
}

func inSchemaOrder(schema delta.Struct, names []string) []string {
	var out []string
	for _, f := range schema.Fields {
		if slices.Contains(names, f.Name) {
			out = append(out, f.Name)
		}
	}
	return out
}

// keyable refuses a key column whose type has no equality.
func keyable(schema delta.Struct, keys constraint.Keys, column, unique, primary string) error {
	f, _ := schema.Field(column)
	if constraint.Keyable(f.Type) {
		return nil
	}
	switch {
	case slices.Contains(keys.Unique, column):
		return fault.Invalid(unique, "is not possible for a column of type %s", f.Type)
	case keys.IsPrimary(column):
		return fault.Invalid(primary, "is not possible for a column of type %s", f.Type)
	}
	return nil
}

// ReplacePrimaryKey makes the columns, in their order, the primary key; without
// any there is none. Columns that leave the key are not unique by themselves any
// more. It is one commit. Errors and operations: as of [Rules.SetColumn].
func (o Rules) ReplacePrimaryKey(ctx context.Context, path access.Path, columns []string, async bool) (*catalog.Operation, error) {
	_, goesOn, err := validated(ctx, o, path, async, func(ctx context.Context, o Rules) (struct{}, error) {
		return struct{}{}, o.replacePrimaryKey(ctx, path, columns)
	}, nothing)
	return goesOn, err
}

func (o Rules) replacePrimaryKey(ctx context.Context, path access.Path, columns []string) error {
	return o.alter(ctx, path, func(ctx context.Context, r ruled) (*alteration, error) {
		keys := constraint.KeysOf(r.snap.Schema(), r.snap.Properties())
		next, err := r.primaryKey(columns)
		if err != nil {
			return nil, err
		}
		next.Unique = slices.DeleteFunc(slices.Clone(keys.Unique), next.IsPrimary)
		table, err := r.ruleDoor(ctx, len(r.newKeys(keys, next, "", "", true)) > 0)
		if err != nil {
			return nil, err
		}
		questions := r.newKeys(keys, next, "columns", "columns", true)
		if err := o.checkAll(ctx, r, questions); err != nil {
			return nil, err
		}
		a, err := r.rewrite(table, next, func(*delta.Alteration) error { return nil })
		if a != nil {
			a.operation, a.everyRow = "SET PRIMARY KEY", len(questions) > 0
			a.parameters = map[string]string{"columns": action.JSONText(strings.Join(next.Primary, ","))}
		}
		return a, err
	})
}

// primaryKey returns a key with the names of columns as in the schema.
func (r ruled) primaryKey(columns []string) (keys constraint.Keys, err error) {
	for i, name := range columns {
		field := fmt.Sprintf("columns[%d]", i)
		f, ok := r.view.Column(name)
		switch {
		case !ok:
			return keys, fault.Invalid(field, "is not a column of the table")
		case keys.IsPrimary(f.Name):
			return keys, fault.Invalid(field, "is listed twice")
		}
		keys.Primary = append(keys.Primary, f.Name)
		if err := keyable(r.snap.Schema(), keys, f.Name, field, field); err != nil {
			return keys, err
		}
	}
	return keys, nil
}

// question is a check of all rows, with the field to name if they violate it.
type question struct {
	field, what string
	// key, or a column that is required, or a condition.
	key      constraint.Key
	required string
	rule     *constraint.Rule
}

// newKeys returns the checks of new keys. A part of the previous primary key is checked only if
// smaller is true; otherwise it binds later rows, because removing a column from the key is
// always possible.
func (r ruled) newKeys(keys, next constraint.Keys, primary, unique string, smaller bool) []question {
	var out []question
	same := slices.Equal(slices.Sorted(slices.Values(keys.Primary)), slices.Sorted(slices.Values(next.Primary)))
	part := !slices.ContainsFunc(next.Primary, func(name string) bool { return !keys.IsPrimary(name) })
	for _, key := range next.In(r.snap.Schema()) {
		switch {
		case key.NullsEqual && (same || part && !smaller):
		case key.NullsEqual:
			out = append(out, question{field: primary, what: "combinations that more than one row has", key: key})
		case !slices.Contains(keys.Unique, key.Columns[0].Name):
			out = append(out, question{field: unique, what: "values that more than one row has", key: key})
		}
	}
	return out
}

// ruleDoor returns the table for a change of rules. A change that adds one is a change of the
// whole table: a key, for example, compares with each later write values of the writer's choice
// with all rows. Removing a rule is possible for every caller, also on a column that a policy
// reads.
func (r ruled) ruleDoor(ctx context.Context, adds bool) (access.Writable, error) {
	if adds {
		return r.door.Whole(ctx)
	}
	return r.door, nil
}

// checkAll runs all checks, and returns a [RowsError] with those that rows violate.
func (o Rules) checkAll(ctx context.Context, r ruled, questions []question) error {
	if len(questions) == 0 {
		return nil
	}
	var problems catalog.FieldErrors
	err := o.ask(ctx, r, func(ctx context.Context, scope constraint.Scope, rows constraint.Relation) error {
		for i, q := range questions {
			o.looked(r, i, len(questions))
			var n int64
			var err error
			switch {
			case q.rule != nil:
				n, err = scope.CountBroken(ctx, *q.rule, rows)
			case q.required != "":
				n, err = scope.CountBroken(ctx, constraint.RequireColumn(q.required), rows)
			default:
				n, err = scope.CountRepeated(ctx, q.key, rows)
			}
			if err != nil {
				return err
			}
			if n > 0 {
				problems = append(problems, r.against(q.field, n, q.what))
			}
		}
		return nil
	})
	if err == nil && len(problems) > 0 {
		err = &RowsError{problems}
	}
	return err
}

// rewrite returns the alteration to other keys and what edit does, or nil if nothing changes.
func (r ruled) rewrite(table access.Writable, keys constraint.Keys, edit func(*delta.Alteration) error) (*alteration, error) {
	alter := r.snap.Alter()
	if err := edit(alter); err != nil {
		return nil, err
	}
	schema, properties, err := keys.Write(alter.Schema(), alter.Properties())
	if errors.Is(err, constraint.ErrInvalidKey) {
		return nil, fmt.Errorf("keys of the table: %w", err)
	}
	if err != nil {
		return nil, err
	}
	if err := alter.Annotate(schema, properties); err != nil {
		return nil, err
	}
	return r.outcome(table, alter)
}

// outcome returns the alteration of a table to commit, or nil if nothing changes.
func (r ruled) outcome(table access.Writable, alter *delta.Alteration) (*alteration, error) {
	change, err := alter.Change()
	if err != nil {
		return nil, err
	}
	before := r.snap.Metadata()
	text, err := r.snap.Schema().JSON()
	if err != nil {
		return nil, err
	}
	if text == change.Metadata.SchemaString && maps.Equal(before.Configuration, change.Metadata.Configuration) {
		return nil, nil
	}
	return &alteration{table: table, change: change}, nil
}
