package domains

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/domain"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// columnBase is the path of a column.
const columnBase = v1.TableBase + "/columns/{column_name}"

// ColumnPath holds the path parameters of a column.
type ColumnPath struct {
	v1.TablePath
	ColumnName string `path:"column_name" maxLength:"255"`
}

// SetPath holds the parameters of routes that set a domain.
type SetPath struct {
	ColumnPath
	EnforceExisting bool `query:"enforce_existing" doc:"Refuse the domain if existing rows are outside"`
}

func (p SetPath) place() domain.Place {
	return domain.Place{Table: p.Path(), Column: p.ColumnName, EnforceExisting: p.EnforceExisting}
}

type setFixedInput struct {
	SetPath
	Body struct {
		Values []newValue `json:"values" maxItems:"100000" nullable:"false" doc:"Texts, or objects with value, label and description"`
	}
}

type setInlineInput struct {
	SetPath
	Body struct {
		ParentColumn string      `json:"parent_column" minLength:"1" maxLength:"255"`
		Parents      []newParent `json:"parents" maxItems:"100000" nullable:"false"`
	}
}

type setLookupInput struct {
	SetPath
	Body struct {
		ParentColumn string `json:"parent_column" minLength:"1" maxLength:"255"`
		TableName    string `json:"table_name,omitempty" maxLength:"255" doc:"The last part of table_path"`
		TablePath    string `json:"table_path" minLength:"1" maxLength:"2048" doc:"catalog.schema.table, or a path below the root of the table's storage configuration"`
		ParentKey    string `json:"parent_key" minLength:"1" maxLength:"255"`
		ChildKey     string `json:"child_key" minLength:"1" maxLength:"255"`
	}
}

type setReferenceInput struct {
	SetPath
	Body struct {
		TableName string `json:"table_name,omitempty" maxLength:"255" doc:"The last part of table_path"`
		TablePath string `json:"table_path" minLength:"1" maxLength:"2048" doc:"catalog.schema.table, or a path below the root of the table's storage configuration"`
		Column    string `json:"column" minLength:"1" maxLength:"255"`
	}
}

type rangeBody struct {
	Min       string `json:"min,omitempty" maxLength:"1024"`
	Max       string `json:"max,omitempty" maxLength:"1024"`
	Inclusive *bool  `json:"inclusive,omitempty" doc:"Whether the bounds themselves are allowed. Default: true"`
}

func (b rangeBody) bounds() catalog.DomainRangeBounds {
	return catalog.DomainRangeBounds{Min: b.Min, Max: b.Max, Inclusive: b.Inclusive == nil || *b.Inclusive}
}

type setRangeInput struct {
	SetPath
	Body rangeBody
}

type setSharedInput struct {
	SetPath
	Body struct {
		DomainID     string `json:"domain_id" format:"uuid"`
		ParentColumn string `json:"parent_column,omitempty" maxLength:"255" doc:"Required for a hierarchical domain"`
	}
}

// ColumnRoutes registers the routes that set, show and remove the domain of a column.
func ColumnRoutes(api huma.API, domains domain.Service) {
	const base = columnBase + "/domain"
	read := v1.Route{Tag: "Domains", Scope: auth.ScopeDomainsRead}
	write := v1.Route{Tag: "Domains", Scope: auth.ScopeDomainsWrite, Local: true}

	v1.Add(api, read.With("GET", base, "getDomain", "Get the domain of a column"),
		func(ctx context.Context, in *ColumnPath) (ColumnDomain, error) {
			d, err := domains.Get(ctx, in.Path(), in.ColumnName)
			return columnDomainOf(d), err
		})
	v1.Add(api, write.With("DELETE", base, "deleteDomain", "Remove the domain of a column"),
		func(ctx context.Context, in *ColumnPath) (v1.Empty, error) {
			return v1.Empty{}, domains.Remove(ctx, in.Path(), in.ColumnName)
		})
	v1.Add(api, write.With("PUT", base+"/fixed", "setFixedDomain", "Give a column a list of values").
		Describe("Replaces the domain of the column; values that stay keep their ids. Existing rows may be outside: the reply counts "+
			"those that the caller sees."),
		func(ctx context.Context, in *setFixedInput) (ColumnDomain, error) {
			d, err := domains.SetFixed(ctx, in.place(), v1.Map(in.Body.Values, inputOf))
			return columnDomainOf(d), err
		})
	v1.Add(api, write.With("PUT", base+"/hierarchical/inline", "setInlineDomain", "Give a column lists of values by parent"),
		func(ctx context.Context, in *setInlineInput) (ColumnDomain, error) {
			d, err := domains.SetInline(ctx, in.place(), in.Body.ParentColumn, v1.Map(in.Body.Parents, parentOf))
			return columnDomainOf(d), err
		})
	v1.Add(api, write.With("PUT", base+"/hierarchical/table", "setLookupDomain", "Set a hierarchical table-lookup domain").
		Describe("The children of a parent are those that a row of the table has together with it, at the time of each write. The caller must "+
			"see all rows and columns of the table, and everybody who sees the column's table must see it."),
		func(ctx context.Context, in *setLookupInput) (ColumnDomain, error) {
			d, err := domains.SetLookup(ctx, in.place(), in.Body.ParentColumn, domain.SourceInput{
				TableName: in.Body.TableName, TablePath: in.Body.TablePath, Column: in.Body.ChildKey, ParentKey: in.Body.ParentKey,
			})
			return columnDomainOf(d), err
		})
	v1.Add(api, write.With("PUT", base+"/reference", "setReferenceDomain", "Give a column the values of a column of another table").
		Describe("The caller must see all rows and columns of the other table, and everybody who sees the column's table must see it."),
		func(ctx context.Context, in *setReferenceInput) (ColumnDomain, error) {
			d, err := domains.SetReference(ctx, in.place(), domain.SourceInput{
				TableName: in.Body.TableName, TablePath: in.Body.TablePath, Column: in.Body.Column,
			})
			return columnDomainOf(d), err
		})
	v1.Add(api, write.With("PUT", base+"/range", "setRangeDomain", "Bound the values of a column").
		Describe("Numbers and times, as text. One of min and max may be left out."),
		func(ctx context.Context, in *setRangeInput) (ColumnDomain, error) {
			d, err := domains.SetRange(ctx, in.place(), in.Body.bounds())
			return columnDomainOf(d), err
		})
	v1.Add(api, write.With("PUT", base+"/shared", "setSharedDomain", "Give a column a shared domain"),
		func(ctx context.Context, in *setSharedInput) (ColumnDomain, error) {
			id, err := catalog.ParseID[catalog.DomainID](in.Body.DomainID)
			if err != nil {
				return ColumnDomain{}, err
			}
			d, err := domains.SetShared(ctx, in.place(), id, in.Body.ParentColumn)
			return columnDomainOf(d), err
		})
}
