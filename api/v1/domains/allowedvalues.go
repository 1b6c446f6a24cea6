package domains

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/domain"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

type inUseInput struct {
	ColumnPath
	Value   string `query:"value" maxLength:"1024"`
	ValueID string `query:"value_id" format:"uuid"`
}

type inUse struct {
	ColumnName string `json:"column_name"`
	Value      string `json:"value"`
	InUse      bool   `json:"in_use"`
	RowCount   int64  `json:"row_count"`
	Complete   *bool  `json:"complete,omitempty" doc:"false for callers who do not see all rows: only visible rows count"`
}

type allowedInput struct {
	ColumnPath
	ParentValue string `query:"parent_value" maxLength:"1024" doc:"Only the children of this parent"`
	Prefix      string `query:"q" maxLength:"1024" doc:"A prefix of the values"`
	PageSize    int    `query:"page_size" minimum:"1" maximum:"1000" default:"1000" doc:"For values from a table; listed values are complete"`
	PageToken   string `query:"page_token" maxLength:"4096" doc:"Token of the previous reply; empty for the first page"`
}

type allowedValues struct {
	ColumnName    string         `json:"column_name"`
	ParentValue   *string        `json:"parent_value"`
	AllowedValues []AllowedValue `json:"allowed_values" nullable:"false"`
	NextPageToken string         `json:"next_page_token,omitempty"`
}

// AllowedValueRoutes registers the routes that list allowed values and count the rows with a
// value.
func AllowedValueRoutes(api huma.API, domains domain.Service) {
	v1.Add(api, v1.Route{Tag: "Domains", Scope: auth.ScopeTablesRead}.With("GET", columnBase+"/domain/in-use", "checkValueInUse",
		"Check whether a value is in use").Describe("Counts the rows with a value. Exactly one of value and value_id is required."),
		func(ctx context.Context, in *inUseInput) (inUse, error) {
			var id catalog.ValueID
			if in.ValueID != "" {
				var err error
				if id, err = catalog.ParseID[catalog.ValueID](in.ValueID); err != nil {
					return inUse{}, err
				}
			}
			u, err := domains.InUse(ctx, in.Path(), in.ColumnName, in.Value, id)
			out := inUse{ColumnName: u.Column, Value: u.Value, InUse: u.Rows > 0, RowCount: u.Rows}
			if !u.Complete {
				out.Complete = &u.Complete
			}
			return out, err
		})
	v1.Add(api, v1.Route{Tag: "Domains", Scope: auth.ScopeDomainsRead}.With("GET", columnBase+"/allowed-values", "listAllowedValues",
		"Get allowed values of a column").Describe("Listed values are complete. Values from a table are those in the rows that the caller "+
		"sees, in their order and in pages."),
		func(ctx context.Context, in *allowedInput) (allowedValues, error) {
			asked := domain.AllowedInput{
				Table: in.Path(), Column: in.ColumnName, Prefix: in.Prefix, Page: catalog.Page{Size: in.PageSize, Token: in.PageToken},
			}
			if in.ParentValue != "" {
				asked.Parent = &in.ParentValue
			}
			a, err := domains.AllowedValues(ctx, asked)
			return allowedValues{
				ColumnName: a.Column, ParentValue: v1.Pointer(in.ParentValue), AllowedValues: v1.Map(a.Values, allowedValueOf), NextPageToken: a.Next,
			}, err
		})
}
