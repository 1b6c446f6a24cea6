package v1

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/table"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

type columnSettingsInput struct {
	TablePath
	Column string `path:"column" maxLength:"255"`
	Prefer Prefer `header:"Prefer" maxLength:"1024" doc:"respond-async: answer 202 with an operation"`
	Body   struct {
		IsUnique     *bool `json:"isUnique,omitempty" doc:"No value stands twice; NULL does not count. Of a primary key column it follows from the key, and can be sent only together with another value of isPrimaryKey"`
		IsPrimaryKey *bool `json:"isPrimaryKey,omitempty" doc:"Part of the primary key, whose columns together stand once; NULL compares equal"`
		IsNullable   *bool `json:"isNullable,omitempty"`
	}
}

type primaryKeyInput struct {
	TablePath
	Prefer Prefer `header:"Prefer" maxLength:"1024" doc:"respond-async: answer 202 with an operation"`
	Body   struct {
		Columns []string `json:"columns" maxItems:"32" nullable:"false" doc:"In order; none clears the key"`
	}
}

// TableKeyRoutes registers the routes of nullability and keys.
func TableKeyRoutes(api huma.API, tables table.Rules) {
	modify := route{tag: "Tables", scope: auth.ScopeTablesModify, camel: true, local: true}

	addPatient(api, modify.with("PUT", tableBase+"/columns/{column}/settings", "updateColumnSettings", "Update column settings").
		because("Refused when rows of the table stand against it. Taking a setting away is always accepted. A long look at the rows is an operation, with Prefer: respond-async at once."),
		func(ctx context.Context, in *columnSettingsInput) (empty, *catalog.Operation, error) {
			goesOn, err := tables.SetColumn(ctx, in.path(), in.Column, table.ColumnSettings{
				IsUnique: in.Body.IsUnique, IsPrimaryKey: in.Body.IsPrimaryKey, IsNullable: in.Body.IsNullable,
			}, in.Prefer.async())
			return empty{}, goesOn, err
		})
	addPatient(api, modify.with("PUT", tableBase+"/primary-key", "replacePrimaryKey", "Replace the primary key").
		because("The columns are judged as a combination. New and former key columns change in one commit. A long look at the rows is an operation, with Prefer: respond-async at once."),
		func(ctx context.Context, in *primaryKeyInput) (empty, *catalog.Operation, error) {
			goesOn, err := tables.ReplacePrimaryKey(ctx, in.path(), in.Body.Columns, in.Prefer.async())
			return empty{}, goesOn, err
		})
}
