package domains

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/domain"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

func (p ColumnPath) owner() (domain.Owner, error) {
	return domain.Owner{Table: p.Path(), Column: p.ColumnName}, nil
}

// SharedPath holds the path parameters of a shared domain.
type SharedPath struct {
	v1.OrgPath
	DomainID string `path:"domain_id" format:"uuid"`
}

func (p SharedPath) owner() (domain.Owner, error) {
	org, id, err := p.ids()
	return domain.Owner{Org: org, Domain: id}, err
}

func (p SharedPath) ids() (catalog.OrgID, catalog.DomainID, error) {
	org, err := v1.OrgID(p.OrgID)
	if err != nil {
		return "", "", err
	}
	id, err := catalog.ParseID[catalog.DomainID](p.DomainID)
	return org, id, err
}

// ValuePath holds the path parameter of a value or a parent.
type ValuePath struct {
	ID string `path:"id" format:"uuid"`
}

func (p ValuePath) id() (catalog.ValueID, error) { return catalog.ParseID[catalog.ValueID](p.ID) }

// AddBody is the body of a route that adds a value.
type AddBody struct{ Body valueObject }

func (b AddBody) value() domain.Value { return b.Body.input() }

// ChangeBody is the query and body of a route that changes a value.
type ChangeBody struct {
	Prefer    v1.Prefer `header:"Prefer" maxLength:"1024" doc:"respond-async: answer 202 with an operation if rows change"`
	Propagate string    `query:"propagate" enum:"true,false" default:"true" doc:"false: refuse a new text if rows have the value"`
	Body      struct {
		Value       *string `json:"value,omitempty" doc:"The new text, which rows with the value get too, in one commit for each table"`
		Label       *string `json:"label,omitempty" maxLength:"255" doc:"Empty removes it"`
		Description *string `json:"description,omitempty" maxLength:"4096" doc:"Empty removes it"`
	}
}

func (b ChangeBody) patch() (domain.ValuePatch, error) {
	p := domain.ValuePatch{Value: b.Body.Value, Label: b.Body.Label, Description: b.Body.Description,
		Propagate: b.Propagate != "false", Async: b.Prefer.Async()}
	if p.Value == nil && p.Label == nil && p.Description == nil {
		return p, v1.FieldError("value", "must be sent, or label or description")
	}
	return p, nil
}

// RemoveValuePath holds the parameters of routes that remove a value.
type RemoveValuePath struct {
	ValuePath
	Prefer      v1.Prefer `header:"Prefer" maxLength:"1024" doc:"respond-async: answer 202 with an operation if rows change"`
	ReplaceWith string    `query:"replace_with" maxLength:"1024" doc:"Id or text of the value that rows get instead; one commit for each table"`
}

func (p RemoveValuePath) removal() (domain.Removal, error) {
	id, err := p.id()
	return domain.Removal{Value: id, ReplaceWith: p.ReplaceWith, Async: p.Prefer.Async()}, err
}

// RemoveParentPath holds the path parameter of a parent.
type RemoveParentPath struct{ ValuePath }

func (p RemoveParentPath) removal() (domain.Removal, error) {
	id, err := p.id()
	return domain.Removal{Value: id, As: domain.ParentValue}, err
}

// RemoveChildPath holds the path parameters of a child.
type RemoveChildPath struct {
	ValuePath
	ChildID string `path:"child_id" format:"uuid"`
}

func (p RemoveChildPath) removal() (domain.Removal, error) {
	parent, err := p.id()
	if err != nil {
		return domain.Removal{}, err
	}
	child, err := catalog.ParseID[catalog.ValueID](p.ChildID)
	return domain.Removal{Value: child, Parent: parent, As: domain.ChildValue}, err
}

// The inputs of the routes that change values: the path of the domain's owner, and the
// parameters of the route.
type (
	ownedInput interface {
		owner() (domain.Owner, error)
	}
	addInput interface {
		ownedInput
		value() domain.Value
	}
	addChildInput interface {
		addInput
		id() (catalog.ValueID, error)
	}
	changeInput interface {
		ownedInput
		id() (catalog.ValueID, error)
		patch() (domain.ValuePatch, error)
	}
	removeInput interface {
		ownedInput
		removal() (domain.Removal, error)
	}
)

type (
	addColumnValue struct {
		ColumnPath
		AddBody
	}
	addColumnChild struct {
		ColumnPath
		ValuePath
		AddBody
	}
	changeColumnValue struct {
		ColumnPath
		ValuePath
		ChangeBody
	}
	removeColumnValue struct {
		ColumnPath
		RemoveValuePath
	}
	removeColumnParent struct {
		ColumnPath
		RemoveParentPath
	}
	removeColumnChild struct {
		ColumnPath
		RemoveChildPath
	}

	addSharedValue struct {
		SharedPath
		AddBody
	}
	addSharedChild struct {
		SharedPath
		ValuePath
		AddBody
	}
	changeSharedValue struct {
		SharedPath
		ValuePath
		ChangeBody
	}
	removeSharedValue struct {
		SharedPath
		RemoveValuePath
	}
	removeSharedParent struct {
		SharedPath
		RemoveParentPath
	}
	removeSharedChild struct {
		SharedPath
		RemoveChildPath
	}
)

// add returns the handler of a route that adds a value.
func add[I addInput, T any](
	reply func(domain.Changed) T, add func(context.Context, domain.Owner, domain.Value) (domain.Changed, error),
) func(context.Context, *I) (T, error) {
	return func(ctx context.Context, in *I) (none T, err error) {
		owner, err := (*in).owner()
		if err != nil {
			return none, err
		}
		c, err := add(ctx, owner, (*in).value())
		if err != nil {
			return none, err
		}
		return reply(c), nil
	}
}

// addChild returns the handler of a route that adds a child.
func addChild[I addChildInput, T any](domains domain.Service, reply func(domain.Changed) T) func(context.Context, *I) (T, error) {
	return func(ctx context.Context, in *I) (none T, err error) {
		id, err := (*in).id()
		if err != nil {
			return none, err
		}
		return add[I](reply, func(ctx context.Context, o domain.Owner, v domain.Value) (domain.Changed, error) {
			return domains.AddChild(ctx, o, id, v)
		})(ctx, in)
	}
}

// rewriting returns the handler of a route whose change of values may continue as an
// operation.
func rewriting[I ownedInput, T any](
	reply func(domain.Changed) T, run func(context.Context, domain.Owner, I) (domain.Changed, *catalog.Operation, error),
) func(context.Context, *I) (T, *catalog.Operation, error) {
	return func(ctx context.Context, in *I) (none T, _ *catalog.Operation, err error) {
		owner, err := (*in).owner()
		if err != nil {
			return none, nil, err
		}
		c, running, err := run(ctx, owner, *in)
		if err != nil || running != nil {
			return none, running, err
		}
		return reply(c), nil, nil
	}
}

// change returns the handler of a route that changes a value.
func change[I changeInput, T any](
	domains domain.Service, reply func(domain.Changed) T,
) func(context.Context, *I) (T, *catalog.Operation, error) {
	return rewriting(reply, func(ctx context.Context, owner domain.Owner, in I) (none domain.Changed, _ *catalog.Operation, err error) {
		id, err := in.id()
		if err != nil {
			return none, nil, err
		}
		patch, err := in.patch()
		if err != nil {
			return none, nil, err
		}
		return domains.ChangeValue(ctx, owner, id, patch, asResult)
	})
}

// remove returns the handler of a route that removes a value.
func remove[I removeInput, T any](
	domains domain.Service, reply func(domain.Changed) T,
) func(context.Context, *I) (T, *catalog.Operation, error) {
	return rewriting(reply, func(ctx context.Context, owner domain.Owner, in I) (none domain.Changed, _ *catalog.Operation, err error) {
		removal, err := in.removal()
		if err != nil {
			return none, nil, err
		}
		return domains.RemoveValue(ctx, owner, removal, asResult)
	})
}

// rewritten is the result of an operation that changes a value. It names the column or the
// shared domain, and leaves the values out: operations are also read by callers who may not
// see them, and their records are small.
type rewritten struct {
	ColumnName string           `json:"column_name,omitempty"`
	DomainID   catalog.DomainID `json:"domain_id,omitempty"`
}

func asResult(c domain.Changed) any {
	if c.Shared != nil {
		return rewritten{DomainID: c.Shared.ID}
	}
	return rewritten{ColumnName: c.Column.Column}
}

// The texts of the routes of values.
const (
	changesRows = "Rows with the value get its new text, for which the caller needs rows:update. Until then both texts are allowed. " +
		"Long work continues as an operation."
	removesValue = "Refused while rows have it, unless replace_with names the value that they get, for which the caller needs rows:update."
)

// ValueRoutes registers the routes of the values of a column's own domain.
func ValueRoutes(api huma.API, domains domain.Service) {
	const base = columnBase + "/domain"
	write := v1.Route{Tag: "Domains", Scope: auth.ScopeDomainsWrite, Local: true}
	reply := func(c domain.Changed) ColumnDomain { return columnDomainOf(*c.Column) }

	v1.Add(api, write.With("POST", base+"/values", "addValue", "Add a value to a fixed domain"),
		add[addColumnValue](reply, domains.AddValue))
	v1.Add(api, write.With("POST", base+"/parents", "addParent", "Add a parent to a hierarchical inline domain").
		Describe("It has no children yet."), add[addColumnValue](reply, domains.AddParent))
	v1.Add(api, write.With("POST", base+"/parents/{id}/children", "addChild", "Add a child to a parent"),
		addChild[addColumnChild](domains, reply))
	v1.AddDeferrable(api, write.With("PATCH", base+"/values/{id}", "changeValue", "Change a value, a parent or a child").
		Describe(changesRows), change[changeColumnValue](domains, reply))
	v1.AddDeferrable(api, write.With("DELETE", base+"/values/{id}", "deleteValue", "Delete a value").Describe(removesValue),
		remove[removeColumnValue](domains, reply))
	v1.AddDeferrable(api, write.With("DELETE", base+"/parents/{id}", "deleteParent", "Delete a parent and its children").
		Describe("Refused while rows have one of its children."), remove[removeColumnParent](domains, reply))
	v1.AddDeferrable(api, write.With("DELETE", base+"/parents/{id}/children/{child_id}", "deleteChild", "Delete a child").
		Describe("Refused while rows have it."), remove[removeColumnChild](domains, reply))
}
