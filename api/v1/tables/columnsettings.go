package tables

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/table"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

type columnSettingsInput struct {
	v1.TablePath
	Column string    `path:"column" maxLength:"255"`
	Prefer v1.Prefer `header:"Prefer" maxLength:"1024" doc:"respond-async: answer 202 with an operation"`
	Body   struct {
		IsUnique     *bool `json:"isUnique,omitempty" doc:"No two rows have the same value; NULL does not count. For a primary key column it follows from the key, and can be sent only together with another value of isPrimaryKey"`
		IsPrimaryKey *bool `json:"isPrimaryKey,omitempty" doc:"Part of the primary key, whose columns together stand once; NULL compares equal"`
		IsNullable   *bool `json:"isNullable,omitempty"`
	}
}

type primaryKeyInput struct {
	v1.TablePath
	Prefer v1.Prefer `header:"Prefer" maxLength:"1024" doc:"respond-async: answer 202 with an operation"`
	Body   struct {
		Columns []string `json:"columns" maxItems:"32" nullable:"false" doc:"In order; none clears the key"`
	}
}

// KeyRoutes registers the routes of nullability and keys.
func KeyRoutes(api huma.API, tables table.Rules) {
	modify := v1.Route{Tag: "Tables", Scope: auth.ScopeTablesModify, Camel: true, Local: true}

	v1.AddDeferrable(api, modify.With("PUT", v1.TableBase+"/columns/{column}/settings", "updateColumnSettings", "Update column settings").
		Describe("Refused if existing rows violate the setting. Removing a setting is always accepted. A long check of the rows becomes "+
			"an operation, with Prefer: respond-async at once."),
		func(ctx context.Context, in *columnSettingsInput) (v1.Empty, *catalog.Operation, error) {
			goesOn, err := tables.SetColumn(ctx, in.Path(), in.Column, table.ColumnSettings{
				IsUnique: in.Body.IsUnique, IsPrimaryKey: in.Body.IsPrimaryKey, IsNullable: in.Body.IsNullable,
			}, in.Prefer.Async())
			return v1.Empty{}, goesOn, err
		})
	v1.AddDeferrable(api, modify.With("PUT", v1.TableBase+"/primary-key", "replacePrimaryKey", "Replace the primary key").
		Describe("The columns are checked as a combination. New and former key columns change in one commit. A long check of the rows is an "+
			"operation, with Prefer: respond-async at once."),
		func(ctx context.Context, in *primaryKeyInput) (v1.Empty, *catalog.Operation, error) {
			goesOn, err := tables.ReplacePrimaryKey(ctx, in.Path(), in.Body.Columns, in.Prefer.Async())
			return v1.Empty{}, goesOn, err
		})
}
