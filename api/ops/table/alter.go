package table

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/deltasql"
	"github.com/lakewarden/lakewarden/engine/policy/sqlfilter"
)

// Altered is a table after a change, as the caller sees it.
type Altered struct {
	// TableVersion is the version that the change made, or the current one if the table
	// was that way already.
	TableVersion int64
	Columns      []access.Column
	// Mapped reports that columns have other names in files than in the table.
	Mapped bool
}

// change is alter that returns the table after the change.
func (o Rules) change(ctx context.Context, path access.Path, plan func(context.Context, ruled) (*alteration, error)) (Altered, error) {
	r, err := o.altered(ctx, path, plan)
	if err != nil {
		return Altered{}, err
	}
	t, err := r.view.After(ctx, r.snap)
	if err != nil && !errors.Is(err, sqlfilter.ErrPolicy) {
		return Altered{}, err
	}
	// A policy that was made meanwhile may close the table: the change is made, and the
	// reply has no columns.
	return Altered{TableVersion: r.snap.Version(), Columns: t.Columns(), Mapped: r.snap.Mapped()}, nil
}

// AddColumn adds a column after the others, which is NULL in existing rows. Errors:
// catalog.FieldErrors, catalog.ErrExists, [ColumnInUseError] if a policy names a column of
// that name, those of opening a table and of commits.
func (o Rules) AddColumn(ctx context.Context, path access.Path, column ColumnDefinition) (Altered, error) {
	f, err := column.field()
	if err != nil {
		return Altered{}, notATableType()
	}
	if !f.Nullable {
		return Altered{}, fault.Invalid("nullable", "must be true: rows that are there have no value")
	}
	return o.change(ctx, path, func(ctx context.Context, r ruled) (*alteration, error) {
		if err := errors.Join(o.decided(ctx, r), o.free(ctx, r, f.Name, "")); err != nil {
			return nil, err
		}
		alter := r.snap.Alter()
		if err := newColumn(alter.AddColumn(nil, f)); err != nil {
			return nil, err
		}
		if column.Default != "" {
			if err := setDefault(ctx, o.Parser, alter, f.Name, &column.Default); err != nil {
				return nil, err
			}
		}
		return r.columnChange(r.door, alter, "ADD COLUMNS", f.Name)
	})
}

// ColumnChange is a change of a column; nil leaves a part unchanged.
type ColumnChange struct {
	Name *string
	// Type is a type that holds every value of the current one.
	Type    *string
	Comment *string
	// Default is a constant in SQL for rows that are added later and do not name the
	// column. SetDefault changes the default to Default; a nil Default removes it.
	SetDefault bool
	Default    *string
}

// ChangeColumn changes a column in one commit, without rewriting rows. Policies of the
// table follow a new name. A column that a constraint or a policy of every table names
// keeps its name, and a column that any policy names keeps its type. A column does not take
// a name that a policy already names. Domains follow a new name, and prevent a type that
// would write their values in another way. A change of a column that a policy reads is one of
// the whole table. Errors: [ColumnInUseError], catalog.ErrNotFound, access.ErrPartlyVisible,
// those of [Rules.AddColumn].
func (o Rules) ChangeColumn(ctx context.Context, path access.Path, column string, wanted ColumnChange) (Altered, error) {
	var to delta.DataType
	if wanted.Type != nil {
		t, err := deltasql.ParseType(*wanted.Type)
		if err != nil {
			return Altered{}, notATableType()
		}
		to = t
	}
	return o.change(ctx, path, func(ctx context.Context, r ruled) (*alteration, error) {
		f, ok := r.view.Column(column)
		if !ok {
			return nil, catalog.ErrNotFound
		}
		table, err := r.forColumn(ctx, f.Name)
		if err != nil {
			return nil, err
		}
		widened, renamed := to != nil && !delta.EqualTypes(to, f.Type), wanted.Name != nil && *wanted.Name != f.Name
		if widened || renamed {
			dependants, err := o.dependants(ctx, r, f.Name, widened, wanted.Name)
			if err == nil && widened {
				var held catalog.FieldErrors
				held, err = o.unwidened(ctx, r, f, to)
				dependants = append(dependants, held...)
			}
			if err = errors.Join(err, inUse(dependants)); err != nil {
				return nil, err
			}
		}
		alter := r.snap.Alter()
		if widened {
			if err := orInvalid(alter.WidenColumn([]string{f.Name}, to), "type",
				"must hold every value of the type that the column has"); err != nil {
				return nil, err
			}
		}
		if wanted.SetDefault {
			if err := setDefault(ctx, o.Parser, alter, f.Name, wanted.Default); err != nil {
				return nil, err
			}
		}
		if wanted.Comment != nil {
			if err := alter.CommentColumn([]string{f.Name}, *wanted.Comment); err != nil {
				return nil, err
			}
		}
		if renamed {
			if err := o.rename(ctx, r, alter, f.Name, *wanted.Name); err != nil {
				return nil, err
			}
			a, err := r.columnChange(table, alter, "RENAME COLUMN", f.Name)
			if a != nil {
				a.after = func(ctx context.Context) error { return o.updatePolicies(ctx, r, r.renameOf(f.Name, *wanted.Name)) }
			}
			return a, err
		}
		return r.columnChange(table, alter, "CHANGE COLUMN", f.Name)
	})
}

// dependants returns the constraints and policies that prevent a change of the
// column's type or name.
func (o Rules) dependants(ctx context.Context, r ruled, column string, widened bool, name *string) (catalog.FieldErrors, error) {
	if widened {
		return o.named(ctx, r, column)
	}
	return o.nameDependants(ctx, r, r.renameOf(column, *name))
}

func (o Rules) rename(ctx context.Context, r ruled, alter *delta.Alteration, column, name string) error {
	if err := errors.Join(o.decided(ctx, r), o.free(ctx, r, name, column)); err != nil {
		return err
	}
	return newColumn(alter.RenameColumn([]string{column}, name))
}

// DropColumn removes a column; files do not change. Errors: [ColumnInUseError],
// catalog.ErrNotFound, access.ErrPartlyVisible, catalog.FieldErrors for the last column, those of opening a table and of commits.
func (o Rules) DropColumn(ctx context.Context, path access.Path, column string) (Altered, error) {
	return o.change(ctx, path, func(ctx context.Context, r ruled) (*alteration, error) {
		f, ok := r.view.Column(column)
		if !ok {
			return nil, catalog.ErrNotFound
		}
		table, err := r.door.Whole(ctx)
		if err != nil {
			return nil, err
		}
		dependants, err := o.holding(ctx, r, f)
		if err = errors.Join(err, inUse(append(dependants, r.built(f.Name)...))); err != nil {
			return nil, err
		}
		alter := r.snap.Alter()
		if err := orInvalid(alter.DropColumn([]string{f.Name}), "column",
			"must not be the last one, one that the table is clustered by, or one that another column's expression names"); err != nil {
			return nil, err
		}
		if err := access.NoteDropped(alter, r.snap, f); err != nil {
			return nil, err
		}
		return r.columnChange(table, alter, "DROP COLUMNS", f.Name)
	})
}

// ChangeProperties sets and removes properties in one commit: those of Delta whose
// meaning is known. Errors: access.ErrPartlyVisible, [fault.MemberError], those of opening a
// table and of commits.
func (o Rules) ChangeProperties(ctx context.Context, path access.Path, set map[string]string, unset []string) (Altered, error) {
	return o.change(ctx, path, func(ctx context.Context, r ruled) (*alteration, error) {
		table, err := r.door.Whole(ctx)
		if err != nil {
			return nil, err
		}
		alter := r.snap.Alter()
		if err := changeProperties(alter, set, unset); err != nil {
			return nil, err
		}
		if err := r.mayKeep(alter); err != nil {
			return nil, err
		}
		a, err := r.outcome(table, alter)
		if a != nil {
			a.operation = "SET TBLPROPERTIES"
			a.parameters = map[string]string{"properties": action.JSONText(strings.Join(slices.Sorted(maps.Keys(set)), ",")),
				"unset": action.JSONText(strings.Join(unset, ","))}
		}
		return a, err
	})
}

// changeProperties changes properties. The error lists all that cannot be set or removed.
func changeProperties(alter *delta.Alteration, set map[string]string, unset []string) error {
	var broken catalog.FieldErrors
	note := func(field, property string, err error) error {
		var refused *delta.PropertyError
		switch {
		case !settable(property):
			broken = append(broken, catalog.FieldError{Field: field, Message: "is not a property that is set here"})
		case errors.As(err, &refused):
			broken = append(broken, catalog.FieldError{Field: field, Message: refused.Reasons[property]})
		default:
			return err
		}
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if slices.Contains(unset, name) {
			broken = append(broken, catalog.FieldError{Field: "set." + name, Message: "is in unset too"})
		}
		if err := note("set."+name, name, alter.SetProperties(map[string]string{name: set[name]})); err != nil {
			return err
		}
	}
	for i, name := range unset {
		if err := note(fmt.Sprintf("unset[%d]", i), name, alter.UnsetProperties(name)); err != nil {
			return err
		}
	}
	if len(broken) > 0 {
		return &fault.MemberError{Code: "invalid_field", Problems: broken}
	}
	return nil
}

// retaining is how long historical versions of a table stay readable.
type retaining interface {
	DeletedFileRetention() time.Duration
	LogRetention() time.Duration
}

// mayKeep lets only administrators shorten the time for which historical versions stay readable,
// as for a vacuum with less than the table's retention.
func (r ruled) mayKeep(then retaining) error {
	if r.actor.Role == auth.RoleAdmin ||
		then.DeletedFileRetention() >= r.snap.DeletedFileRetention() && then.LogRetention() >= r.snap.LogRetention() {
		return nil
	}
	return &catalog.DeniedError{Reason: "short_retention_needs_admin"}
}

// settable excludes properties that other operations set: keys and constraints.
func settable(property string) bool {
	return strings.HasPrefix(property, "delta.") && !strings.HasPrefix(strings.ToLower(property), "delta.constraints.")
}

// taken reports whether a column that the caller sees, other than but, has a name
// in any case.
func (r ruled) taken(name, but string) bool {
	return slices.ContainsFunc(r.snap.Schema().Fields, func(f delta.Field) bool {
		return f.Name != but && strings.EqualFold(f.Name, name) && !r.view.Hides(f.Name)
	})
}

// columnChange returns an alteration of one column, or nil if nothing changes.
func (r ruled) columnChange(table access.Writable, alter *delta.Alteration, operation, column string) (*alteration, error) {
	a, err := r.outcome(table, alter)
	if a != nil {
		a.operation, a.parameters = operation, map[string]string{"column": action.JSONText(column)}
	}
	return a, err
}

func notATableType() error { return fault.Invalid("type", "must be a type that tables can hold") }

// newColumn returns the field that makes a column impossible.
func newColumn(err error) error {
	var unfit *delta.SchemaError
	switch {
	case !errors.As(err, &unfit):
		return orInvalid(err, "name", "cannot be used as the name of this column")
	case unfit.Part == delta.ColumnType:
		return fault.Invalid("type", "%s", unfit.Reason)
	}
	return fault.Invalid("name", "%s", unfit.Reason)
}

// orInvalid returns the error of a field for an impossible schema, and err otherwise.
func orInvalid(err error, field, message string) error {
	if errors.Is(err, delta.ErrInvalidSchema) {
		return catalog.FieldErrors{{Field: field, Message: message}}
	}
	return err
}
