package catalog

import (
	"encoding/json"
	"time"
)

// Operation is long work that goes on after its request was answered: a query
// whose rows are kept, a discovery. The replica that accepted it runs it, in the
// name of its owner; every replica can look at it and cancel it.
type Operation struct {
	ID  OperationID
	Org OrgID
	// User is the owner, and Key the credential that started it, or empty.
	User  UserID
	Key   KeyID
	Kind  OperationKind
	State OperationState
	// Progress is what was done so far. It may lag.
	Progress Progress
	// Problem is the reason why an operation failed or was cancelled by the server;
	// else nil.
	Problem *OperationProblem
	// Result is a JSON object that its owner sees, of one that succeeded.
	Result json.RawMessage
	// Private is a JSON object that the server keeps for itself.
	Private json.RawMessage
	// StoredBytes is the size of what is kept outside the catalog.
	StoredBytes int64
	// CancelRequested is set by [Operations.CancelOperation] and stays.
	CancelRequested bool
	// Runner names the replica that runs it, which must give a sign of life at
	// HeartbeatAt and again soon.
	Runner      string
	HeartbeatAt time.Time
	CreatedAt   time.Time
	// StartedAt, FinishedAt and ExpiresAt are zero before they are known. The
	// record and what it keeps go at ExpiresAt.
	StartedAt, FinishedAt, ExpiresAt time.Time
}

// OperationKind is what an operation does.
type OperationKind string

// The kinds.
const (
	OperationQuery    OperationKind = "query"
	OperationDiscover OperationKind = "discover"
	OperationOptimize OperationKind = "optimize"
	OperationVacuum   OperationKind = "vacuum"
	OperationMove     OperationKind = "move"
	OperationAnalyze  OperationKind = "analyze"
	// OperationValidate looks at all rows of a table, for a rule that it is to have.
	OperationValidate OperationKind = "validate"
)

// OperationKinds lists every kind.
func OperationKinds() []OperationKind {
	return []OperationKind{OperationQuery, OperationDiscover, OperationOptimize, OperationVacuum, OperationMove, OperationAnalyze,
		OperationValidate}
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

// OperationState is where an operation stands. It goes from queued to running to
// one of the others, or from queued to one of the others at once, and never
// back.
type OperationState string

// The states.
const (
	OperationQueued    OperationState = "queued"
	OperationRunning   OperationState = "running"
	OperationSucceeded OperationState = "succeeded"
	OperationFailed    OperationState = "failed"
	OperationCancelled OperationState = "cancelled"
)

// OperationStates lists every state.
func OperationStates() []OperationState {
	return []OperationState{OperationQueued, OperationRunning, OperationSucceeded, OperationFailed, OperationCancelled}
}

// Ended reports whether the state is a last one.
func (s OperationState) Ended() bool {
	return s == OperationSucceeded || s == OperationFailed || s == OperationCancelled
}

// Valid reports whether s is a known state.
func (s OperationState) Valid() bool {
	return s == OperationQueued || s == OperationRunning || s.Ended()
}

// Progress is how much of an operation is done. Total is 0 when it is not known.
type Progress struct {
	Done, Total int64
	// Unit is what is counted: "rows", "files", "objects", "rules".
	Unit string
}

// OperationProblem is an error as its owner may see it.
type OperationProblem struct {
	// Code is a line of the table of errors.
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
	// Running makes an operation that has begun already.
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

// OperationOutcome is how an operation ended.
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

// OperationFilter narrows [Operations.ListOperations]; zero fields do not.
type OperationFilter struct {
	User  UserID
	Kind  OperationKind
	State OperationState
}

// OperationUsage is what an organisation's operations take.
type OperationUsage struct {
	// Live are those that have not ended.
	Live int64
	// StoredBytes is what the ended ones keep and the others have reserved.
	StoredBytes int64
}
