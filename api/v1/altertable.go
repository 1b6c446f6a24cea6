package v1

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/table"
	"github.com/lakewarden/lakewarden/auth"
)

type alteredTable struct {
	Version int64    `json:"version" doc:"The version that the change made, or the newest one when nothing was to change"`
	Columns []column `json:"columns"`
	Mapped  bool     `json:"columnsMapped" doc:"Columns have other names in files: not every reader opens such a table"`
}

func alteredOf(t table.Altered) alteredTable {
	return alteredTable{Version: t.TableVersion, Columns: convert(t.Columns, columnOf), Mapped: t.Mapped}
}

type addColumnInput struct {
	TablePath
	Body struct {
		Name     string `json:"name" minLength:"1" maxLength:"255"`
		Type     string `json:"type" minLength:"1" maxLength:"65536" doc:"As for a new table"`
		Nullable *bool  `json:"nullable,omitempty" doc:"Default and only value true: rows that are there have no value"`
		Comment  string `json:"comment,omitempty" maxLength:"4096"`
		Default  string `json:"default,omitempty" minLength:"1" maxLength:"4096" doc:"A constant in SQL, such as 'open', 0 or DATE '2024-01-31', for new rows that do not name the column; existing rows have NULL"`
	}
}

type changeColumnInput struct {
	TablePath
	Column string `path:"column" maxLength:"255"`
	Body   struct {
		Name    *string          `json:"name,omitempty" minLength:"1" maxLength:"255" doc:"The new name. Files keep their names, and the table uses column mapping afterwards"`
		Type    *string          `json:"type,omitempty" minLength:"1" maxLength:"65536" doc:"A type that holds every value of the current type, such as long for integer"`
		Comment *string          `json:"comment,omitempty" maxLength:"4096" doc:"Empty removes it"`
		Default optional[string] `json:"default,omitempty" maxLength:"4096" doc:"A constant in SQL, such as 'open', 0 or DATE '2024-01-31', for new rows that do not name the column; null removes it"`
	}
}

type dropColumnInput struct {
	TablePath
	Column string `path:"column" maxLength:"255"`
}

type changePropertiesInput struct {
	TablePath
	Body struct {
		Set   map[string]string `json:"set,omitempty" doc:"Properties of Delta, such as delta.appendOnly"`
		Unset []string          `json:"unset,omitempty" maxItems:"100"`
	}
}

type restoreInput struct {
	TablePath
	Body struct {
		Version   *int64   `json:"version,omitempty" minimum:"0"`
		Timestamp *instant `json:"timestamp,omitempty" doc:"The last version that was committed by then"`
	}
}

// AlterTableRoutes registers the routes that change columns and properties of a
// table, and bring a former version back.
func AlterTableRoutes(api huma.API, tables table.Rules) {
	modify := route{tag: "Tables", scope: auth.ScopeTablesModify, camel: true, local: true}
	const one = tableBase + "/columns/{column}"

	add(api, modify.with("POST", tableBase+"/columns", "addColumn", "Add a column").because("It is NULL in the rows that are there."),
		func(ctx context.Context, in *addColumnInput) (alteredTable, error) {
			b := in.Body
			t, err := tables.AddColumn(ctx, in.path(), table.ColumnDefinition{
				Name: b.Name, Type: b.Type, Nullable: b.Nullable == nil || *b.Nullable, Comment: b.Comment, Default: b.Default,
			})
			return alteredOf(t), err
		})
	add(api, modify.with("PATCH", one, "changeColumn", "Rename, widen or comment a column, or change its default").
		because("In one commit that rewrites no rows. Policies of the table follow a new name. A column cannot be renamed while a constraint or a policy of every table names it, and its type cannot change while any policy names it."),
		func(ctx context.Context, in *changeColumnInput) (alteredTable, error) {
			b := in.Body
			wanted := table.ColumnChange{Name: b.Name, Type: b.Type, Comment: b.Comment, SetDefault: b.Default.Sent}
			if !b.Default.Null {
				wanted.Default = &b.Default.Value
			}
			t, err := tables.ChangeColumn(ctx, in.path(), in.Column, wanted)
			return alteredOf(t), err
		})
	add(api, modify.with("DELETE", one, "dropColumn", "Drop a column").
		because("Refused while policies, constraints, keys or the partitioning stand on it. Files keep what they have, and former versions show it."),
		func(ctx context.Context, in *dropColumnInput) (alteredTable, error) {
			t, err := tables.DropColumn(ctx, in.path(), in.Column)
			return alteredOf(t), err
		})
	add(api, modify.with("PATCH", tableBase+"/properties", "changeProperties", "Set and remove table properties").
		because("All or none. Keys and constraints have operations of their own."),
		func(ctx context.Context, in *changePropertiesInput) (alteredTable, error) {
			t, err := tables.ChangeProperties(ctx, in.path(), in.Body.Set, in.Body.Unset)
			return alteredOf(t), err
		})
	add(api, modify.with("POST", tableBase+"/restore", "restoreTable", "Restore a former version of a table").
		because("Rows, columns and properties become what they were, in a new version; the table's id and policies stay. The version may be one of a table that this one replaced. Not for callers whose rows are filtered."),
		func(ctx context.Context, in *restoreInput) (alteredTable, error) {
			t, err := tables.Restore(ctx, in.path(), table.RestorePoint{Version: in.Body.Version, Timestamp: in.Body.Timestamp.time()})
			return alteredOf(t), err
		})
}
