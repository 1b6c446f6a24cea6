package domains

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/domain"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// SharedDomain is a shared domain.
type SharedDomain struct {
	ID              string                     `json:"id" format:"uuid"`
	Name            string                     `json:"name"`
	Description     *string                    `json:"description"`
	Type            string                     `json:"type" enum:"fixed,hierarchical,reference,range"`
	AllowedValues   []AllowedValue             `json:"allowed_values" doc:"Not in lists"`
	Lookup          v1.Nullable[lookup]        `json:"lookup"`
	ReferenceSource v1.Nullable[referenceFrom] `json:"reference_source"`
	Range           *valueRange                `json:"range,omitempty"`
	Version         int64                      `json:"version" doc:"Sent back as expected_version"`
	CreatedAt       *string                    `json:"created_at"`
	UpdatedAt       *string                    `json:"updated_at"`
	Dependants      *[]dependant               `json:"dependants,omitempty" doc:"The columns that use it and that the caller sees; not in lists"`
	Others          *int                       `json:"other_dependants,omitempty" doc:"Number of columns that use it and that the caller does not see"`
}

type dependant struct {
	TablePath  string   `json:"table_path"`
	TableName  string   `json:"table_name"`
	TableID    string   `json:"table_id"`
	ColumnName string   `json:"column_name"`
	Outside    *outside `json:"outside,omitempty" doc:"Visible rows outside the domain, when its content is replaced and the column has data"`
}

func sharedOf(d domain.Shared) SharedDomain {
	body := domainOf(d.Kind, d.Values, d.Children, d.Source, d.Range)
	return SharedDomain{
		ID: string(d.ID), Name: d.Name, Description: v1.Pointer(d.Description), Type: body.Type, AllowedValues: body.AllowedValues,
		Lookup: body.Lookup, ReferenceSource: body.ReferenceSource, Range: body.Range, Version: d.Version,
		CreatedAt: v1.Timestamp(d.CreatedAt), UpdatedAt: v1.Timestamp(d.UpdatedAt),
	}
}

func withDependants(d domain.Shared) SharedDomain {
	out := sharedOf(d)
	list := v1.Map(d.Dependants, func(d domain.Dependant) dependant {
		return dependant{
			TablePath: d.FQN, TableName: d.Table, TableID: string(d.ID), ColumnName: d.Column, Outside: outsideOf(d.Outside),
		}
	})
	out.Dependants, out.Others = &list, &d.Others
	return out
}

type sharedList struct {
	Domains       []SharedDomain `json:"domains"`
	NextPageToken string         `json:"next_page_token,omitempty"`
}

// SharedBody is the content of a shared domain. Which members are needed depends on type.
type SharedBody struct {
	Name            string                      `json:"name" minLength:"1" maxLength:"100"`
	Description     string                      `json:"description,omitempty" maxLength:"4096"`
	Type            string                      `json:"type" enum:"fixed,hierarchical,reference,range"`
	Values          []newValue                  `json:"values,omitempty" maxItems:"100000" nullable:"false" doc:"For fixed"`
	Parents         []newParent                 `json:"parents,omitempty" maxItems:"100000" nullable:"false" doc:"For hierarchical, unless lookup is sent"`
	Lookup          v1.Nullable[lookupInput]    `json:"lookup,omitempty" doc:"For hierarchical: the table with the values"`
	ReferenceSource v1.Nullable[referenceInput] `json:"reference_source,omitempty" doc:"For reference"`
	Range           v1.Nullable[rangeBody]      `json:"range,omitempty" doc:"For range"`
}

type lookupInput struct {
	TableName string `json:"table_name,omitempty" maxLength:"255"`
	TablePath string `json:"table_path" minLength:"1" maxLength:"2048"`
	ParentKey string `json:"parent_key" minLength:"1" maxLength:"255"`
	ChildKey  string `json:"child_key" minLength:"1" maxLength:"255"`
}

type referenceInput struct {
	TableName string `json:"table_name,omitempty" maxLength:"255"`
	TablePath string `json:"table_path" minLength:"1" maxLength:"2048"`
	Column    string `json:"column" minLength:"1" maxLength:"255"`
}

// input refuses members of another type.
func (b SharedBody) input() (domain.SharedInput, error) {
	kind := catalog.DomainKind(b.Type)
	for _, m := range []struct {
		name string
		sent bool
		kind catalog.DomainKind
	}{
		{"values", b.Values != nil, catalog.DomainFixed}, {"parents", b.Parents != nil, catalog.DomainHierarchical},
		{"lookup", b.Lookup.Value != nil, catalog.DomainHierarchical},
		{"reference_source", b.ReferenceSource.Value != nil, catalog.DomainReference},
		{"range", b.Range.Value != nil, catalog.DomainRange},
	} {
		if m.sent && m.kind != kind {
			return domain.SharedInput{}, v1.FieldError(m.name, "is for another type")
		}
	}
	if b.Lookup.Value != nil && b.Parents != nil {
		return domain.SharedInput{}, v1.FieldError("lookup", "must not be sent together with parents")
	}
	out := domain.SharedInput{
		Name: b.Name, Description: b.Description, Kind: kind, Values: v1.Map(b.Values, inputOf), Parents: v1.Map(b.Parents, parentOf),
	}
	switch {
	case b.Lookup.Value != nil:
		l := b.Lookup.Value
		out.Source = &domain.SourceInput{TableName: l.TableName, TablePath: l.TablePath, Column: l.ChildKey, ParentKey: l.ParentKey}
	case b.ReferenceSource.Value != nil:
		r := b.ReferenceSource.Value
		out.Source = &domain.SourceInput{TableName: r.TableName, TablePath: r.TablePath, Column: r.Column}
	case b.Range.Value != nil:
		bounds := b.Range.Value.bounds()
		out.Range = &bounds
	}
	return out, nil
}

type createSharedInput struct {
	v1.OrgPath
	Body SharedBody
}

type replaceSharedInput struct {
	SharedPath
	Body struct {
		SharedBody
		ExpectedVersion int64 `json:"expected_version" minimum:"1"`
	}
}

type deleteSharedInput struct {
	SharedPath
	ExpectedVersion int64 `query:"expected_version" minimum:"1" doc:"Default: any version"`
}

type listSharedInput struct {
	v1.OrgPath
	v1.Page
}

// SharedRoutes registers the routes of shared domains.
func SharedRoutes(api huma.API, domains domain.Service) {
	const base = "/v1/organisations/{org_id}/domains"
	const one = base + "/{domain_id}"
	read := v1.Route{Tag: "Domains", Scope: auth.ScopeDomainsRead}
	write := v1.Route{Tag: "Domains", Scope: auth.ScopeDomainsWrite}

	v1.Add(api, write.With("POST", base, "createSharedDomain", "Create a shared domain").As201(),
		func(ctx context.Context, in *createSharedInput) (SharedDomain, error) {
			org, err := v1.OrgID(in.OrgID)
			if err != nil {
				return SharedDomain{}, err
			}
			content, err := in.Body.input()
			if err != nil {
				return SharedDomain{}, err
			}
			d, err := domains.CreateShared(ctx, org, content)
			return withDependants(d), err
		})
	v1.Add(api, read.With("GET", base, "listSharedDomains", "List shared domains"),
		func(ctx context.Context, in *listSharedInput) (sharedList, error) {
			org, err := v1.OrgID(in.OrgID)
			if err != nil {
				return sharedList{}, err
			}
			list, err := domains.ListShared(ctx, org, in.Page.Catalog())
			return sharedList{Domains: v1.Map(list.Items, sharedOf), NextPageToken: list.Next}, err
		})
	v1.Add(api, read.With("GET", one, "getSharedDomain", "Get a shared domain with its dependants").
		Describe("Columns that the caller does not see are counted, not named."),
		func(ctx context.Context, in *SharedPath) (SharedDomain, error) {
			org, id, err := in.ids()
			if err != nil {
				return SharedDomain{}, err
			}
			d, err := domains.Shared(ctx, org, id)
			return withDependants(d), err
		})
	v1.Add(api, write.With("PUT", one, "replaceSharedDomain", "Replace the content of a shared domain").
		Describe("Values that stay keep their ids. Existing rows may lie outside: the reply counts them for each dependant. While columns use "+
			"it, its type stays, and the caller needs domains:write and rows:update in the workspace of each."),
		func(ctx context.Context, in *replaceSharedInput) (SharedDomain, error) {
			org, id, err := in.ids()
			if err != nil {
				return SharedDomain{}, err
			}
			content, err := in.Body.input()
			if err != nil {
				return SharedDomain{}, err
			}
			d, err := domains.ReplaceShared(ctx, org, id, in.Body.ExpectedVersion, content)
			return withDependants(d), err
		})
	v1.Add(api, write.With("DELETE", one, "deleteSharedDomain", "Delete a shared domain that no column uses"),
		func(ctx context.Context, in *deleteSharedInput) (v1.Empty, error) {
			org, id, err := in.ids()
			if err != nil {
				return v1.Empty{}, err
			}
			return v1.Empty{}, domains.DeleteShared(ctx, org, id, in.ExpectedVersion)
		})
	sharedValueRoutes(api, domains, one, write)
}

// sharedValueRoutes registers the routes of the values of shared domains.
func sharedValueRoutes(api huma.API, domains domain.Service, one string, write v1.Route) {
	reply := func(c domain.Changed) SharedDomain { return withDependants(*c.Shared) }
	inUse := " If rows have it, the caller needs domains:write and rows:update in the workspace of each table."

	v1.Add(api, write.With("POST", one+"/values", "addSharedValue", "Add a value to a shared fixed domain"),
		add[addSharedValue](reply, domains.AddValue))
	v1.Add(api, write.With("POST", one+"/parents", "addSharedParent", "Add a parent to a shared hierarchical domain"),
		add[addSharedValue](reply, domains.AddParent))
	v1.Add(api, write.With("POST", one+"/parents/{id}/children", "addSharedChild", "Add a child to a parent of a shared domain"),
		addChild[addSharedChild](domains, reply))
	v1.AddDeferrable(api, write.With("PATCH", one+"/values/{id}", "changeSharedValue", "Change a value of a shared domain").
		Describe(changesRows+inUse), change[changeSharedValue](domains, reply))
	v1.AddDeferrable(api, write.With("DELETE", one+"/values/{id}", "deleteSharedValue", "Delete a value of a shared domain").
		Describe(removesValue+inUse), remove[removeSharedValue](domains, reply))
	v1.AddDeferrable(api, write.With("DELETE", one+"/parents/{id}", "deleteSharedParent", "Delete a parent of a shared domain").
		Describe("Refused while rows have one of its children."), remove[removeSharedParent](domains, reply))
	v1.AddDeferrable(api, write.With("DELETE", one+"/parents/{id}/children/{child_id}", "deleteSharedChild",
		"Delete a child of a shared domain").Describe("Refused while rows have it."), remove[removeSharedChild](domains, reply))
}
