package catalog

import (
	"errors"
	"fmt"
	"strings"
)

// The sentinels of this package. Test with errors.Is; the typed errors below
// carry data and match the sentinel of their family.
var (
	// ErrNotFound is returned by every method that names a record which does
	// not exist, is deleted, or is not visible to the viewer. Do not retry.
	// Becomes 404.
	ErrNotFound = errors.New("not found")
	// ErrExists is returned by creates and renames when a unique field is
	// taken; the error is an [*ExistsError]. Becomes 409.
	ErrExists = errors.New("already exists")
	// ErrVersionConflict is returned by compare-and-set methods when the
	// record's version is not the expected one; the error is a
	// [*VersionConflictError]. Read again, then retry. Becomes 409
	// version_conflict.
	ErrVersionConflict = errors.New("version conflict")
	// ErrInvalid is returned by creates, updates and list calls whose input
	// breaks a rule of a field; the error is a [FieldErrors]. Becomes 422.
	ErrInvalid = errors.New("invalid")
	// ErrAmbiguous is returned by the resolve methods when the viewer sees
	// more than one match: a slug of two configurations, or two live tables
	// with one Delta id. Becomes 409.
	ErrAmbiguous = errors.New("ambiguous")
	// ErrLastAdmin is returned by role changes and removals that would leave
	// an organisation without an administrator, or touch its owner. Becomes
	// 409 last_admin.
	ErrLastAdmin = errors.New("last administrator or owner of the organisation")
	// ErrDefaultWorkspace is returned when the default workspace would be
	// deleted or given members of its own. Becomes 409.
	ErrDefaultWorkspace = errors.New("default workspace")
	// ErrWorkspaceInUse is returned when a deleted workspace still owns
	// storage configurations. Becomes 409.
	ErrWorkspaceInUse = errors.New("workspace owns storage configurations")
	// ErrLocationTaken is returned when a configuration's location equals,
	// contains or lies in one that it may not overlap. Becomes 409
	// location_taken.
	ErrLocationTaken = errors.New("location taken")
	// ErrTableState is returned when a table's state does not allow the
	// change: renaming a dropped table, adopting an unchanged identity.
	// Becomes 409.
	ErrTableState = errors.New("table state does not allow this")
	// ErrRevoked is returned by the rotation of a revoked key. Becomes 409.
	ErrRevoked = errors.New("api key revoked")
	// ErrOperationLive is returned by the removal of an operation that has not
	// ended. Cancel it, wait, retry. Becomes 409.
	ErrOperationLive = errors.New("operation has not ended")
	// ErrDenied is returned by catalog/authz when the actor is known and the
	// record's existence is no secret to it, but a scope or role is missing;
	// the error is a [*DeniedError]. Becomes 403.
	ErrDenied = errors.New("denied")
	// ErrNoActor is returned by catalog/authz when the context carries no
	// actor. It is a defect of the caller or a missing login. Becomes 401.
	ErrNoActor = errors.New("no actor")
	// ErrUnavailable is returned by every method when the database cannot be
	// reached or stayed locked. Retry later. Becomes 503.
	ErrUnavailable = errors.New("catalog unavailable")
)

// ExistsError names the field whose value is taken.
type ExistsError struct{ Field string }

// Error implements error.
func (e *ExistsError) Error() string { return e.Field + " already exists" }

// Is matches [ErrExists].
func (e *ExistsError) Is(target error) bool { return target == ErrExists }

// VersionConflictError carries the record's version at the time of the
// refused change.
type VersionConflictError struct{ Current int64 }

// Error implements error.
func (e *VersionConflictError) Error() string {
	return fmt.Sprintf("version conflict: current version is %d", e.Current)
}

// Is matches [ErrVersionConflict].
func (e *VersionConflictError) Is(target error) bool { return target == ErrVersionConflict }

// DeniedError says what was missing. Exactly one of the fields is set.
type DeniedError struct {
	// Scope is the missing scope.
	Scope string
	// Reason is a stable snake_case word for refusals that are not about a
	// scope: "role_escalation", "not_owner", "system_only", "viewer_mismatch",
	// "actor_mismatch", "local_storage_needs_admin".
	Reason string
}

// Error implements error.
func (e *DeniedError) Error() string {
	if e.Scope != "" {
		return "denied: scope " + e.Scope + " is missing"
	}
	return "denied: " + e.Reason
}

// Is matches [ErrDenied].
func (e *DeniedError) Is(target error) bool { return target == ErrDenied }

// FieldError is one broken rule. Field is the snake_case name of the field in
// this package's records ("name", "expires_at", "attributes.team"); the API
// renders it in the style of the resource. Message is safe to show and never
// repeats the value.
type FieldError struct {
	Field   string
	Message string
}

// FieldErrors are all broken rules of one input, in the order of the fields.
type FieldErrors []FieldError

// Error implements error.
func (e FieldErrors) Error() string {
	parts := make([]string, len(e))
	for i, f := range e {
		parts[i] = f.Field + ": " + f.Message
	}
	return "invalid: " + strings.Join(parts, "; ")
}

// Is matches [ErrInvalid].
func (e FieldErrors) Is(target error) bool { return target == ErrInvalid }

// Err returns e as an error, or nil when nothing is broken.
func (e FieldErrors) Err() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

func (e *FieldErrors) add(field, format string, args ...any) {
	*e = append(*e, FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
}
