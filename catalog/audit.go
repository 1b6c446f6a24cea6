package catalog

import (
	"encoding/json"
	"time"
)

// Outcome is the result of an audited action.
type Outcome string

// The outcomes.
const (
	OutcomeAllow Outcome = "allow"
	OutcomeDeny  Outcome = "deny"
	OutcomeError Outcome = "error"
)

// AuditEntry is one entry of the audit log. It never holds row values, secrets or
// statement texts.
type AuditEntry struct {
	ID AuditID
	At time.Time
	// Org is empty if the organisation is unknown, as for an unknown key.
	Org OrgID
	// User and Key identify the actor. Both are empty for the system and for callers
	// that could not be identified.
	User UserID
	Key  KeyID
	// Action is a stable dotted name, such as "policy.update".
	Action string
	// Resource is the kind and the id of the affected resource: "policy/<id>".
	Resource  string
	Outcome   Outcome
	RequestID string
	// Remote is the network address of the client; it may be empty.
	Remote string
	// Details is a JSON object without values, or empty.
	Details json.RawMessage
}

// Validate returns nil or [FieldErrors].
func (a AuditEntry) Validate() error {
	var e FieldErrors
	if a.Action == "" || len(a.Action) > 100 || !storableText(a.Action) {
		e.add("action", "must have 1 to 100 bytes")
	}
	if len(a.Resource) > 1024 || !storableText(a.Resource) {
		e.add("resource", "must have at most 1024 bytes")
	}
	if len(a.RequestID) > 200 || !storableText(a.RequestID) {
		e.add("request_id", "must have at most 200 bytes")
	}
	if len(a.Remote) > 200 || !storableText(a.Remote) {
		e.add("remote", "must have at most 200 bytes")
	}
	switch a.Outcome {
	case OutcomeAllow, OutcomeDeny, OutcomeError:
	default:
		e.add("outcome", "must be one of allow, deny, error")
	}
	e.object("details", a.Details, 64<<10)
	return e.Err()
}

// AuditFilter narrows [Audit.ListAudit]. Zero fields do not restrict the list.
type AuditFilter struct {
	// Since is inclusive, Until is exclusive.
	Since, Until time.Time
	User         UserID
	Key          KeyID
	Action       string
	Resource     string
	Outcome      Outcome
	RequestID    string
}
