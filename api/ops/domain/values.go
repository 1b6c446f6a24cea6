package domain

import (
	"context"
	"errors"
	"slices"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// Owner names the domain whose values are changed: that of a column, or a shared one.
type Owner struct {
	Table  access.Path
	Column string
	// Org and Domain name a shared domain; then the others are empty.
	Org    catalog.OrgID
	Domain catalog.DomainID
}

func (o Service) valuesOf(ctx context.Context, owner Owner) (valued, error) {
	if owner.Domain != "" {
		return o.ofShared(ctx, owner.Org, owner.Domain)
	}
	return o.ofColumn(ctx, owner.Table, owner.Column)
}

// Changed is a domain after a change of its values: of a column, or shared.
type Changed struct {
	Column *Described
	Shared *Shared
}

// after returns the domain as it is after a change.
func (o Service) after(ctx context.Context, v valued) (Changed, error) {
	if v.column == nil {
		shared, err := o.Shared(ctx, v.actor.Org, v.domain.ID)
		return Changed{Shared: &shared}, err
	}
	d, err := o.domain(ctx, *v.column)
	if err != nil {
		return Changed{}, err
	}
	out, err := o.described(ctx, *v.column, d)
	return Changed{Column: &out}, err
}

// AddValue adds a value to a fixed domain. Errors: [ErrKind], [ErrShared],
// catalog.ErrExists, catalog.ErrValueChange, catalog.FieldErrors, those of opening a
// table.
func (o Service) AddValue(ctx context.Context, owner Owner, value Value) (Changed, error) {
	return o.add(ctx, owner, catalog.DomainFixed, "", value)
}

// AddParent adds a parent without children to a hierarchical domain. Errors are those of
// [Service.AddValue].
func (o Service) AddParent(ctx context.Context, owner Owner, value Value) (Changed, error) {
	return o.add(ctx, owner, catalog.DomainHierarchical, "", value)
}

// AddChild adds a child to a parent of a hierarchical domain. Errors are those of
// [Service.AddValue], and catalog.ErrNotFound for an unknown parent.
func (o Service) AddChild(ctx context.Context, owner Owner, parent catalog.ValueID, value Value) (Changed, error) {
	return o.add(ctx, owner, catalog.DomainHierarchical, parent, value)
}

func (o Service) add(ctx context.Context, owner Owner, kind catalog.DomainKind, parent catalog.ValueID, value Value) (Changed, error) {
	v, err := o.valuesOf(ctx, owner)
	if err != nil {
		return Changed{}, err
	}
	if v.domain.Kind != kind {
		return Changed{}, ErrKind
	}
	if err := v.judgeDescription(ctx); err != nil {
		return Changed{}, err
	}
	added := catalog.NewDomainValue{Label: value.Label, Description: value.Description}
	if parent != "" {
		above, err := v.find(parent)
		if err == nil && !v.isParent(above) {
			err = catalog.ErrNotFound
		}
		if err != nil {
			return Changed{}, err
		}
		added.Parent = above.Value
	}
	if added.Value, err = v.canonical("value", value.Value, kind == catalog.DomainHierarchical && parent == ""); err != nil {
		return Changed{}, err
	}
	if err := catalog.ValidateDomainLabel(value.Label, value.Description); err != nil {
		return Changed{}, err
	}
	if _, _, err := o.Store.AddDomainValues(ctx, v.target, []catalog.NewDomainValue{added}); err != nil {
		return Changed{}, oneField(changeError(err))
	}
	return o.after(ctx, v)
}

// oneField returns an error about values[0] as one about the only value of a request.
func oneField(err error) error {
	var exists *catalog.ExistsError
	if errors.As(err, &exists) {
		return &catalog.ExistsError{Field: "value"}
	}
	var fields catalog.FieldErrors
	if errors.As(err, &fields) {
		out := catalog.FieldErrors{}
		for _, f := range fields {
			if f.Field == "values" {
				f.Field = "value"
			}
			if len(f.Field) > len("values[0].") && f.Field[:len("values[0].")] == "values[0]." {
				f.Field = f.Field[len("values[0]."):]
			}
			out = append(out, f)
		}
		return out
	}
	return err
}

// ValuePatch holds what to change of a value; nil leaves a member unchanged.
type ValuePatch struct {
	Value, Label, Description *string
	// Propagate gives the rows with the value its new text; otherwise the text changes
	// only if no row has it.
	Propagate bool
	// Async returns the operation that changes the text immediately.
	Async bool
}

// ChangeValue changes a value, a parent or a child. Its rows get a new text, too.
// Errors are those of [Service.AddValue], [InUseError], access.ErrPartlyVisible for a caller
// who may not change all rows of each column, catalog.ErrNotFound, and those of writes.
func (o Service) ChangeValue(
	ctx context.Context, owner Owner, id catalog.ValueID, patch ValuePatch, result func(Changed) any,
) (Changed, *catalog.Operation, error) {
	v, err := o.valuesOf(ctx, owner)
	if err != nil {
		return Changed{}, nil, err
	}
	value, err := v.find(id)
	if err != nil {
		return Changed{}, nil, err
	}
	label, description := value.Label, value.Description
	setText(&label, patch.Label)
	setText(&description, patch.Description)
	if err := catalog.ValidateDomainLabel(label, description); err != nil {
		return Changed{}, nil, err
	}
	var text string
	if patch.Value != nil {
		if text, err = v.canonical("value", *patch.Value, v.isParent(value)); err != nil {
			return Changed{}, nil, err
		}
	}
	describe := func(ctx context.Context) error {
		if label == value.Label && description == value.Description {
			return nil
		}
		_, err := o.Store.DescribeDomainValue(ctx, v.target, id, label, description)
		return changeError(err)
	}
	if patch.Value == nil || text == value.Value {
		if err := v.judgeDescription(ctx); err != nil {
			return Changed{}, nil, err
		}
		if err := describe(ctx); err != nil {
			return Changed{}, nil, err
		}
		out, err := o.after(ctx, v)
		return out, nil, err
	}
	check := func(ctx context.Context) error {
		if err := o.mayRewrite(ctx, v, value, !patch.Propagate); err != nil {
			return err
		}
		return o.unused(ctx, v, value, text)
	}
	rename := func(ctx context.Context) error {
		if err := o.Changes.begin(ctx, v, catalog.ValueChange{Kind: catalog.ValueRename, Value: id, To: text}); err != nil {
			return err
		}
		return describe(ctx) // a refused rename changes nothing
	}
	return o.change(ctx, v, patch.Async, check, rename, result)
}

func setText(to *string, text *string) {
	if text != nil {
		*to = *text
	}
}

// mayRewrite checks that the caller may change the rows that have a value. With unused it
// refuses a value that rows have.
func (o Service) mayRewrite(ctx context.Context, v valued, value catalog.DomainValue, unused bool) error {
	if err := o.judgeWhole(ctx, v, auth.ScopeDomainsWrite, auth.ScopeRowsUpdate); err != nil || !unused {
		return err
	}
	return o.refuseUsed(ctx, v, value)
}

// refuseUsed refuses a value that rows have.
func (o Service) refuseUsed(ctx context.Context, v valued, value catalog.DomainValue) error {
	rows, err := o.count(ctx, v.uses, func(u use) write.ColumnValue { return rowsOf(u.ColumnDomain, v.values, value) })
	if err != nil {
		return err
	}
	return inUse(v.uses, rows)
}

// unused refuses a new text of a value that rows outside the domain have: they could not be
// told from renamed ones if the change had to be withdrawn.
func (o Service) unused(ctx context.Context, v valued, value catalog.DomainValue, text string) error {
	for _, other := range v.values {
		if other.Parent == value.Parent && other.Value == text {
			return nil // the catalog refuses it
		}
	}
	value.Value = text
	rows, err := o.count(ctx, v.uses, func(u use) write.ColumnValue { return rowsOf(u.ColumnDomain, v.values, value) })
	if err == nil && rows > 0 {
		err = &fault.MemberError{Code: "value_in_use", Problems: catalog.FieldErrors{{Field: "value",
			Message: "is in rows outside the domain: add it as a value, then delete the old value with replace_with"}}}
	}
	return err
}

// inUse returns an [InUseError] if rows have a value. It has the number only for callers who
// see all rows of all tables.
func inUse(uses []use, rows int64) error {
	switch {
	case rows == 0:
		return nil
	case !seeWhole(uses):
		return &InUseError{}
	}
	return &InUseError{Rows: &rows}
}

// seeWhole reports whether the caller sees every row and column of all tables.
func seeWhole(uses []use) bool {
	return !slices.ContainsFunc(uses, func(u use) bool { return !u.whole })
}

// What a value that is to be deleted must be.
const (
	AnyValue    = ""
	ParentValue = "parent"
	ChildValue  = "child"
)

// Removal says which value to remove.
type Removal struct {
	Value catalog.ValueID
	// Parent is the parent of a child that was named with it.
	Parent catalog.ValueID
	// As requires a parent or a child.
	As string
	// ReplaceWith is the id or text of the value that rows get instead; empty refuses
	// to remove a value that rows have.
	ReplaceWith string
	// Async returns the operation that replaces the value immediately.
	Async bool
}

// RemoveValue removes a value, and with a parent its children. Errors: [InUseError],
// write.ErrWritesInProgress, those of [Service.ChangeValue].
func (o Service) RemoveValue(ctx context.Context, owner Owner, r Removal, result func(Changed) any) (Changed, *catalog.Operation, error) {
	v, err := o.valuesOf(ctx, owner)
	if err != nil {
		return Changed{}, nil, err
	}
	if r.As != AnyValue && v.domain.Kind != catalog.DomainHierarchical {
		return Changed{}, nil, ErrKind
	}
	value, err := v.find(r.Value)
	if err == nil && (r.As == ParentValue && !v.isParent(value) || r.As == ChildValue && value.Parent != r.Parent) {
		err = catalog.ErrNotFound
	}
	if err != nil {
		return Changed{}, nil, err
	}
	if r.ReplaceWith != "" {
		return o.replace(ctx, v, value, r, result)
	}
	if err := o.remove(ctx, v, value); err != nil {
		return Changed{}, nil, err
	}
	out, err := o.after(ctx, v)
	return out, nil, err
}

func (o Service) replace(
	ctx context.Context, v valued, value catalog.DomainValue, r Removal, result func(Changed) any,
) (Changed, *catalog.Operation, error) {
	if v.isParent(value) {
		return Changed{}, nil, fault.Invalid("replace_with", "is not for parents: their children have other values")
	}
	to := ""
	for _, other := range v.values {
		named := string(other.ID) == r.ReplaceWith || to == "" && other.Value == r.ReplaceWith
		if named && other.ID != value.ID && other.Parent == value.Parent {
			to = other.Value
		}
	}
	if to == "" {
		return Changed{}, nil, fault.Invalid("replace_with", "must be the id or text of another value of the domain")
	}
	check := func(ctx context.Context) error { return o.mayRewrite(ctx, v, value, false) }
	exchange := func(ctx context.Context) error {
		return o.Changes.begin(ctx, v, catalog.ValueChange{Kind: catalog.ValueReplace, Value: value.ID, To: to})
	}
	return o.change(ctx, v, r.Async, check, exchange, result)
}

// remove removes a value that no row has. If rows with the value are committed before it is
// disallowed, the deletion is withdrawn.
func (o Service) remove(ctx context.Context, v valued, value catalog.DomainValue) error {
	if err := o.judgeWhole(ctx, v, auth.ScopeDomainsWrite); err != nil {
		return err
	}
	if err := o.refuseUsed(ctx, v, value); err != nil {
		return err
	}
	// The rows may have been read since it was judged, and a deletion cannot be judged later.
	if err := o.judgeWhole(ctx, v, auth.ScopeDomainsWrite); err != nil {
		return err
	}
	return o.Changes.begin(ctx, v, catalog.ValueChange{Kind: catalog.ValueDelete, Value: value.ID})
}

// count counts all rows that a value concerns in columns that use its domain.
func (o Service) count(ctx context.Context, uses []use, rows func(use) write.ColumnValue) (total int64, err error) {
	for _, u := range uses {
		n, err := o.countAll(ctx, u.located, rows(u))
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}
