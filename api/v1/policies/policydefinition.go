package policies

import (
	"bytes"
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"

	v1 "github.com/lakewarden/lakewarden/api/v1"
)

// policyDefinition is the definition of a policy as replies contain it: every member of
// the definition and its subject is present, and null if it is not set. Requests may omit
// members.
type policyDefinition struct {
	Effect    string                       `json:"effect" enum:"permit,forbid"`
	Subject   policySubject                `json:"subject"`
	Condition v1.Nullable[policyCondition] `json:"condition" doc:"null for all rows"`
	Mask      *string                      `json:"mask,omitempty" enum:"null,hash,last4,year" doc:"Of kind mask only; null without it"`
}

type policySubject struct {
	Everyone  *bool       `json:"everyone"`
	Role      *string     `json:"role"`
	Attribute *string     `json:"attribute"`
	Op        *string     `json:"op"`
	Value     policyValue `json:"value"`
}

// policyCondition is one test, or exactly one of and, or, not. Replies contain only
// the members that are set.
type policyCondition struct {
	Column    *string           `json:"column,omitempty" doc:"columnName of the policy without it"`
	Op        string            `json:"op,omitempty"`
	Value     policyValue       `json:"value,omitempty"`
	Attribute *string           `json:"attribute,omitempty"`
	And       []policyCondition `json:"and,omitempty"`
	Or        []policyCondition `json:"or,omitempty"`
	Not       *policyCondition  `json:"not,omitempty"`
}

// policyValue is the text of a JSON value, as it was sent; empty for null.
type policyValue json.RawMessage

// UnmarshalJSON stores the raw text.
func (v *policyValue) UnmarshalJSON(data []byte) error {
	if *v = nil; !bytes.Equal(data, []byte("null")) {
		*v = bytes.Clone(data)
	}
	return nil
}

// MarshalJSON returns the raw text, or null.
func (v policyValue) MarshalJSON() ([]byte, error) { return v1.OrNull(json.RawMessage(v)), nil }

// Schema returns a schema that allows any value.
func (policyValue) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Description: "A string, number or boolean, an array of those, or null"}
}

// definitionOf decodes a stored definition. Definitions are checked before they are
// stored, so one that cannot be decoded is damaged, and is shown as null.
func definitionOf(raw json.RawMessage) (out v1.Nullable[policyDefinition]) {
	if len(raw) > 0 && json.Unmarshal(raw, &out) != nil {
		out.Value = nil
	}
	return out
}
