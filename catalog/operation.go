package catalog

import (
	"encoding/json"
	"time"
)

// Operation is long work that continues after its request was answered: a query whose
// rows are stored, a discovery. The replica that accepted it runs it on behalf of its
// owner. Every replica can read and cancel it.
type Operation struct {
	ID  OperationID
	Org OrgID
	// User is the owner, and Key the credential that started it, or empty.
	User  UserID
	Key   KeyID
	Kind  OperationKind
	State OperationState
	// Progress is the work done so far. It may lag.
	Progress Progress
	// Problem is the reason why an operation failed or was cancelled by the server. It
	// is nil otherwise.
	Problem *OperationProblem
	// Result is the JSON object that the owner of a succeeded operation sees.
	Result json.RawMessage
	// Private is a JSON object that only the server reads.
	Private json.RawMessage
	// StoredBytes is the size of the data stored outside the catalog.
	StoredBytes int64
	// CancelRequested is set by [Operations.CancelOperation] and never reset.
	CancelRequested bool
	// Runner names the replica that runs the operation. HeartbeatAt is the time of its
	// last heartbeat; a replica without recent heartbeats loses its operations.
	Runner      string
	HeartbeatAt time.Time
	CreatedAt   time.Time
	// StartedAt, FinishedAt and ExpiresAt are zero before they are known. The record
	// and its data are removed at ExpiresAt.
	StartedAt, FinishedAt, ExpiresAt time.Time
}

// OperationKind is the kind of work that an operation does.
type OperationKind string

// The kinds.
const (
	OperationQuery    OperationKind = "query"
	OperationDiscover OperationKind = "discover"
	OperationOptimize OperationKind = "optimize"
	OperationVacuum   OperationKind = "vacuum"
	OperationMove     OperationKind = "move"
	OperationAnalyze  OperationKind = "analyze"
	// OperationValidate checks all rows of a table against a new rule.
	OperationValidate OperationKind = "validate"
	// OperationRewrite gives rows another value of a column's domain.
	OperationRewrite OperationKind = "rewrite"
)

// OperationKinds lists every kind.
func OperationKinds() []OperationKind {
	return []OperationKind{OperationQuery, OperationDiscover, OperationOptimize, OperationVacuum, OperationMove, OperationAnalyze,
		OperationValidate, OperationRewrite}
}

// Valid reports whether k is a known kind.
func (k OperationKind) Valid() bool {
	for _, known := range OperationKinds() {
		if k == known {
			return true
		}
	}
	return false
}

// OperationState is the state of an operation. An operation goes from queued to running
// to one of the other states, or from queued directly to one of the other states, and
// never back.
type OperationState string

// The states.
const (
	OperationQueued    OperationState = "queued"
	OperationRunning   OperationState = "running"
	OperationSucceeded OperationState = "succeeded"
	OperationFailed    OperationState = "failed"
	OperationCancelled OperationState = "cancelled"
)

// Ended reports whether the state is final.
func (s OperationState) Ended() bool {
	return s == OperationSucceeded || s == OperationFailed || s == OperationCancelled
}

// Valid reports whether s is a known state.
func (s OperationState) Valid() bool {
	return s == OperationQueued || s == OperationRunning || s.Ended()
}

// Progress reports how much of an operation is done. Total is 0 if it is not known.
type Progress struct {
	Done, Total int64
	// Unit is the counted unit: "rows", "files", "objects", "rules", "folders".
	Unit string
}

// OperationProblem is an error in the form that the owner may see.
type OperationProblem struct {
	// Code is an entry of the table of errors.
	Code    string
	Message string
	Details []FieldError
}

// Bounds of an operation's documents, in bytes.
const (
	maxOperationResult  = 1 << 20
	maxOperationPrivate = 256 << 10
)

// NewOperation is the input of [Operations.CreateOperation]. An empty ID lets
// the store choose one.
type NewOperation struct {
	ID     OperationID
	Org    OrgID
	User   UserID
	Key    KeyID
	Kind   OperationKind
	Runner string
	// Running creates an operation that has already started.
	Running bool
}

// Validate returns nil or [FieldErrors].
func (n NewOperation) Validate() error {
	var e FieldErrors
	if !n.Kind.Valid() {
		e.add("kind", "must be a kind of operation")
	}
	if n.Runner == "" || len(n.Runner) > 200 || !storableText(n.Runner) {
		e.add("runner", "must have 1 to 200 bytes")
	}
	return e.Err()
}

// OperationOutcome is the result of an operation.
type OperationOutcome struct {
	State       OperationState
	Progress    Progress
	Problem     *OperationProblem
	Result      json.RawMessage
	Private     json.RawMessage
	StoredBytes int64
	ExpiresAt   time.Time
}

// Validate returns nil or [FieldErrors].
func (o OperationOutcome) Validate() error {
	var e FieldErrors
	if !o.State.Ended() {
		e.add("state", "must be succeeded, failed or cancelled")
	}
	if o.State == OperationFailed && o.Problem == nil {
		e.add("problem", "is required for failed")
	}
	if o.State == OperationSucceeded && o.Problem != nil {
		e.add("problem", "must not be given for succeeded")
	}
	if o.ExpiresAt.IsZero() {
		e.add("expires_at", "is required")
	}
	e.object("result", o.Result, maxOperationResult)
	e.object("private", o.Private, maxOperationPrivate)
	return e.Err()
}

// OperationFilter narrows [Operations.ListOperations]. Zero fields do not restrict the
// list.
type OperationFilter struct {
	User  UserID
	Kind  OperationKind
	State OperationState
}

// OperationUsage is the resources that the operations of an organisation use.
type OperationUsage struct {
	// Live is the number of operations that have not ended.
	Live int64
	// StoredBytes is the sum of the bytes that ended operations store and the others
	// have reserved.
	StoredBytes int64
}
