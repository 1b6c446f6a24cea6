package tables

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/table"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
)

type alteredTable struct {
	Version int64    `json:"version" doc:"The version that the change made, or the newest one when nothing was to change"`
	Columns []column `json:"columns"`
	Mapped  bool     `json:"columnsMapped" doc:"Columns have other names in files: not every reader opens such a table"`
}

func alteredOf(t table.Altered) alteredTable {
	return alteredTable{Version: t.TableVersion, Columns: v1.Map(t.Columns, columnOf), Mapped: t.Mapped}
}

type addColumnInput struct {
	v1.TablePath
	Body struct {
		Name     string `json:"name" minLength:"1" maxLength:"255"`
		Type     string `json:"type" minLength:"1" maxLength:"65536" doc:"As for a new table"`
		Nullable *bool  `json:"nullable,omitempty" doc:"Default and only value true: rows that are there have no value"`
		Comment  string `json:"comment,omitempty" maxLength:"4096"`
		Default  string `json:"default,omitempty" minLength:"1" maxLength:"4096" doc:"A constant in SQL, such as 'open', 0 or DATE '2024-01-31', for new rows that do not name the column; existing rows have NULL"`
	}
}

type changeColumnInput struct {
	v1.TablePath
	Column string `path:"column" maxLength:"255"`
	Body   struct {
		Name    *string             `json:"name,omitempty" minLength:"1" maxLength:"255" doc:"The new name. Files keep their names, and the table uses column mapping afterwards"`
		Type    *string             `json:"type,omitempty" minLength:"1" maxLength:"65536" doc:"A type that holds every value of the current type, such as long for integer"`
		Comment *string             `json:"comment,omitempty" maxLength:"4096" doc:"Empty removes it"`
		Default v1.Optional[string] `json:"default,omitempty" maxLength:"4096" doc:"A constant in SQL, such as 'open', 0 or DATE '2024-01-31', for new rows that do not name the column; null removes it"`
	}
}

type dropColumnInput struct {
	v1.TablePath
	Column string `path:"column" maxLength:"255"`
}

type changePropertiesInput struct {
	v1.TablePath
	Body struct {
		Set   map[string]string `json:"set,omitempty" doc:"Properties of Delta, such as delta.appendOnly"`
		Unset []string          `json:"unset,omitempty" maxItems:"100"`
	}
}

type restoreInput struct {
	v1.TablePath
	Body struct {
		Version   *int64      `json:"version,omitempty" minimum:"0"`
		Timestamp *v1.Instant `json:"timestamp,omitempty" doc:"The last version that was committed by then"`
	}
}

// AlterRoutes registers the routes that change columns and properties of a table, and
// restore a historical version.
func AlterRoutes(api huma.API, tables table.Rules) {
	modify := v1.Route{Tag: "Tables", Scope: auth.ScopeTablesModify, Camel: true, Local: true}
	const one = v1.TableBase + "/columns/{column}"

	v1.Add(api, modify.With("POST", v1.TableBase+"/columns", "addColumn", "Add a column").Describe("It is NULL in the rows that are there."),
		func(ctx context.Context, in *addColumnInput) (alteredTable, error) {
			b := in.Body
			t, err := tables.AddColumn(ctx, in.Path(), table.ColumnDefinition{
				Name: b.Name, Type: b.Type, Nullable: b.Nullable == nil || *b.Nullable, Comment: b.Comment, Default: b.Default,
			})
			return alteredOf(t), err
		})
	v1.Add(api, modify.With("PATCH", one, "changeColumn", "Rename, widen or comment a column, or change its default").
		Describe("In one commit that rewrites no rows. Policies of the table follow a new name. A column cannot be renamed while a constraint "+
			"or a policy of every table names it, and its type cannot change while any policy names it."),
		func(ctx context.Context, in *changeColumnInput) (alteredTable, error) {
			b := in.Body
			wanted := table.ColumnChange{Name: b.Name, Type: b.Type, Comment: b.Comment, SetDefault: b.Default.Sent}
			if !b.Default.Null {
				wanted.Default = &b.Default.Value
			}
			t, err := tables.ChangeColumn(ctx, in.Path(), in.Column, wanted)
			return alteredOf(t), err
		})
	v1.Add(api, modify.With("DELETE", one, "dropColumn", "Drop a column").
		Describe("Refused while policies, constraints, keys or the partitioning depend on it. Files keep the values, and historical "+
			"versions show them."),
		func(ctx context.Context, in *dropColumnInput) (alteredTable, error) {
			t, err := tables.DropColumn(ctx, in.Path(), in.Column)
			return alteredOf(t), err
		})
	v1.Add(api, modify.With("PATCH", v1.TableBase+"/properties", "changeProperties", "Set and remove table properties").
		Describe("All or none. Keys and constraints have operations of their own."),
		func(ctx context.Context, in *changePropertiesInput) (alteredTable, error) {
			t, err := tables.ChangeProperties(ctx, in.Path(), in.Body.Set, in.Body.Unset)
			return alteredOf(t), err
		})
	v1.Add(api, modify.With("POST", v1.TableBase+"/restore", "restoreTable", "Restore a historical version of a table").
		Describe("Rows, columns and properties become what they were, in a new version; the table's id and policies stay. The version may be "+
			"one of a table that this one replaced. Not for callers whose rows are filtered."),
		func(ctx context.Context, in *restoreInput) (alteredTable, error) {
			t, err := tables.Restore(ctx, in.Path(), table.RestorePoint{Version: in.Body.Version, Timestamp: in.Body.Timestamp.Pointer()})
			return alteredOf(t), err
		})
}
