package catalog

import (
	"encoding/json"
	"time"
)

// PolicyKind is the effect of a policy.
type PolicyKind string

// The kinds of policy.
const (
	// PolicyRows filters rows.
	PolicyRows PolicyKind = "rls"
	// PolicyColumn hides a column.
	PolicyColumn PolicyKind = "cls"
	// PolicyMask masks the values of a column.
	PolicyMask PolicyKind = "mask"
)

// Valid reports whether k is one of the kinds.
func (k PolicyKind) Valid() bool { return k == PolicyRows || k == PolicyColumn || k == PolicyMask }

// PolicySpec is the content of a policy. An update replaces it as a whole.
type PolicySpec struct {
	// Table is the governed table. Empty means every table of the organisation that has
	// Column, or every table if Column is empty too.
	Table  DeltaID
	Column string
	Kind   PolicyKind
	// Text is the policy in Cedar.
	Text string
	// Definition is the JSON object from which Text was made, or empty.
	Definition json.RawMessage
	// BuilderManaged reports that Text is made from Definition.
	BuilderManaged bool
	Enabled        bool
}

// Bounds of a policy's content.
const (
	MaxPolicyTextBytes       = 64 << 10
	MaxPolicyDefinitionBytes = 64 << 10
)

// Validate checks the shape of the policy and returns nil or [FieldErrors]. Package
// engine/policy checks whether the text can be enforced.
func (s PolicySpec) Validate() error {
	var e FieldErrors
	if s.Table != "" {
		e.deltaID("table_id", s.Table)
	}
	if len(s.Column) > 255 || !storableText(s.Column) {
		e.add("column_name", "must be valid UTF-8 of at most 255 bytes")
	}
	if !s.Kind.Valid() {
		e.add("kind", "must be one of rls, cls, mask")
	} else if s.Kind != PolicyRows && s.Column == "" {
		e.add("column_name", "must not be empty for this kind")
	}
	switch {
	case s.Text == "":
		e.add("policy_text", "must not be empty")
	case len(s.Text) > MaxPolicyTextBytes || !storableText(s.Text):
		e.add("policy_text", "must be valid UTF-8 of at most %d bytes", MaxPolicyTextBytes)
	}
	e.object("definition", s.Definition, MaxPolicyDefinitionBytes)
	if s.BuilderManaged && len(s.Definition) == 0 {
		e.add("definition", "must not be empty for a builder-managed policy")
	}
	return e.Err()
}

// Policy is a rule of an organisation that decides who sees which rows and columns.
type Policy struct {
	ID  PolicyID
	Org OrgID
	PolicySpec
	// Version is 1 at creation and increases by 1 with every change.
	Version   int64
	CreatedBy UserID
	UpdatedBy UserID
	CreatedAt time.Time
	UpdatedAt time.Time
}

// NewPolicy is the input of [Policies.CreatePolicy]. An empty ID lets the
// store choose one.
type NewPolicy struct {
	ID  PolicyID
	Org OrgID
	PolicySpec
	By UserID
}

// PolicyAction is the action that created a revision.
type PolicyAction string

// The actions in a policy's history.
const (
	PolicyCreated PolicyAction = "create"
	PolicyUpdated PolicyAction = "update"
	PolicyDeleted PolicyAction = "delete"
)

// PolicyRevision is the content of a policy after one change. The history outlives the
// policy: a deletion is its last revision.
type PolicyRevision struct {
	Policy  PolicyID
	Org     OrgID
	Version int64
	Action  PolicyAction
	PolicySpec
	By UserID
	At time.Time
}

// PolicyFilter narrows [Policies.ListPolicies].
type PolicyFilter struct {
	// Table selects the policies of one table. Policies for all tables are not
	// included.
	Table DeltaID
}
