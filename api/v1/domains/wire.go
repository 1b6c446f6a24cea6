package domains

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/domain"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/catalog"
)

// AllowedValue is a value of a domain.
type AllowedValue struct {
	ID          string `json:"id" format:"uuid"`
	Value       string `json:"value"`
	Label       string `json:"label,omitempty"`
	Description string `json:"description,omitempty"`
}

func allowedValueOf(v catalog.DomainValue) AllowedValue {
	return AllowedValue{ID: string(v.ID), Value: v.Value, Label: v.Label, Description: v.Description}
}

// Domain is a domain of a column. Members that do not apply to its type are null, and so
// are values that the caller must not see.
type Domain struct {
	Type            string                     `json:"type" enum:"fixed,hierarchical,reference,range"`
	AllowedValues   []AllowedValue             `json:"allowed_values" doc:"Values of a fixed domain, parents of a hierarchical one; null for values in a table"`
	ParentColumn    *string                    `json:"parent_column"`
	Lookup          v1.Nullable[lookup]        `json:"lookup"`
	ReferenceSource v1.Nullable[referenceFrom] `json:"reference_source"`
	Range           *valueRange                `json:"range,omitempty"`
	Shared          *sharedName                `json:"shared,omitempty" doc:"For a shared domain only"`
}

type lookup struct {
	Source    string                  `json:"source" enum:"inline,table"`
	Mappings  v1.Nullable[mappingsOf] `json:"mappings" doc:"The children by parent; null for a table"`
	TableName *string                 `json:"table_name" doc:"Empty if the caller does not see the table"`
	TablePath *string                 `json:"table_path"`
	ParentKey *string                 `json:"parent_key"`
	ChildKey  *string                 `json:"child_key"`
	TableID   *string                 `json:"table_id"`
}

// mappingsOf maps a parent to its children.
type mappingsOf map[string][]AllowedValue

type referenceFrom struct {
	TablePath string `json:"table_path" doc:"catalog.schema.table; empty if the caller does not see the table"`
	TableName string `json:"table_name"`
	Column    string `json:"column"`
	TableID   string `json:"table_id"`
}

type valueRange struct {
	Min       *string `json:"min"`
	Max       *string `json:"max"`
	Inclusive bool    `json:"inclusive" doc:"Whether the bounds themselves are allowed"`
}

type sharedName struct {
	ID   string `json:"id" format:"uuid"`
	Name string `json:"name"`
}

// ColumnDomain is the reply of operations that return the domain of a column.
type ColumnDomain struct {
	ColumnName     string    `json:"column_name"`
	Domain         Domain    `json:"domain"`
	SkippedParents []*string `json:"skipped_parents" doc:"Parents of a lookup that are NULL, blank or outside the domain of the parent column"`
	Outside        *outside  `json:"outside,omitempty" doc:"Visible rows outside the domain, when it is set on a column with data"`
}

type outside struct {
	RowCount int64    `json:"row_count"`
	Values   []string `json:"values" nullable:"false" doc:"The first hundred distinct values, in order"`
}

func columnDomainOf(d domain.Described) ColumnDomain {
	out := ColumnDomain{ColumnName: d.Column, Domain: domainOf(d.Kind, d.Values, d.Children, d.Source, d.Range), SkippedParents: d.Skipped}
	out.Domain.ParentColumn = v1.Pointer(d.Parent)
	if d.Shared != nil {
		out.Domain.Shared = &sharedName{ID: string(d.Shared.ID), Name: d.Shared.Name}
	}
	out.Outside = outsideOf(d.Outside)
	return out
}

func outsideOf(o *domain.Outside) *outside {
	if o == nil {
		return nil
	}
	return &outside{RowCount: o.Rows, Values: append([]string{}, o.Values...)}
}

func domainOf(
	kind catalog.DomainKind, values []catalog.DomainValue, children map[catalog.ValueID][]catalog.DomainValue,
	source *domain.Source, bounds *catalog.DomainRangeBounds,
) Domain {
	out := Domain{Type: string(kind)}
	if values != nil {
		out.AllowedValues = v1.Map(values, allowedValueOf)
	}
	if bounds != nil {
		out.Range = &valueRange{Min: v1.Pointer(bounds.Min), Max: v1.Pointer(bounds.Max), Inclusive: bounds.Inclusive}
	}
	switch {
	case kind == catalog.DomainReference && source != nil:
		out.ReferenceSource.Value = &referenceFrom{
			TablePath: source.FQN, TableName: source.Name, Column: source.Column, TableID: string(source.Table),
		}
	case kind == catalog.DomainHierarchical && source != nil:
		id := string(source.Table)
		out.Lookup.Value = &lookup{
			Source: "table", TableName: &source.Name, TablePath: &source.FQN, ParentKey: &source.ParentKey, ChildKey: &source.Column, TableID: &id,
		}
	case kind == catalog.DomainHierarchical:
		out.Lookup.Value = &lookup{Source: "inline"}
		if values != nil {
			mappings := mappingsOf{}
			for _, parent := range values {
				mappings[parent.Value] = v1.Map(children[parent.ID], allowedValueOf)
			}
			out.Lookup.Value.Mappings.Value = &mappings
		}
	}
	return out
}

// newValue is a value in a request: its text, or an object.
type newValue struct{ valueObject }

type valueObject struct {
	Value       string `json:"value" doc:"As text, whatever the type of the column"`
	Label       string `json:"label,omitempty" maxLength:"255"`
	Description string `json:"description,omitempty" maxLength:"4096"`
}

// UnmarshalJSON reads a string or an object.
func (v *newValue) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte(`"`)) {
		return json.Unmarshal(data, &v.Value)
	}
	return json.Unmarshal(data, &v.valueObject)
}

// Schema returns the schema of a text or an object.
func (newValue) Schema(r huma.Registry) *huma.Schema {
	text := &huma.Schema{Type: huma.TypeString}
	text.PrecomputeMessages()
	return &huma.Schema{OneOf: []*huma.Schema{text, r.Schema(reflect.TypeFor[valueObject](), true, "DomainValueInput")}}
}

func (v valueObject) input() domain.Value {
	return domain.Value{Value: v.Value, Label: v.Label, Description: v.Description}
}

func inputOf(v newValue) domain.Value { return v.input() }

type newParent struct {
	Value       string     `json:"value"`
	Label       string     `json:"label,omitempty" maxLength:"255"`
	Description string     `json:"description,omitempty" maxLength:"4096"`
	Children    []newValue `json:"children,omitempty" maxItems:"100000" nullable:"false"`
}

func parentOf(p newParent) domain.Parent {
	return domain.Parent{
		Value:    domain.Value{Value: p.Value, Label: p.Label, Description: p.Description},
		Children: v1.Map(p.Children, inputOf),
	}
}
