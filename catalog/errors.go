package catalog

import (
	"errors"
	"fmt"
	"strings"
)

// The sentinels of this package. Test with errors.Is; the typed errors below
// carry data and match the sentinel of their family.
var (
	// ErrNotFound is returned by every method that names a record which does not exist,
	// is deleted, or is not visible to the viewer. A retry does not help. It becomes
	// 404.
	ErrNotFound = errors.New("not found")
	// ErrWorkspaceNotFound is the [ErrNotFound] of [Sharing.AttachStorageConfig] for the
	// workspace. It becomes 422.
	ErrWorkspaceNotFound = fmt.Errorf("workspace %w", ErrNotFound)
	// ErrExists is returned by creates and renames if a unique field is taken. The
	// error is an [*ExistsError]. It becomes 409.
	ErrExists = errors.New("already exists")
	// ErrVersionConflict is returned by compare-and-set methods if the record's version
	// is not the expected one. The error is a [*VersionConflictError]. Read the record
	// again, then retry. It becomes 409 version_conflict.
	ErrVersionConflict = errors.New("version conflict")
	// ErrInvalid is returned by creates, updates and list calls if the input breaks a
	// rule of a field. The error is a [FieldErrors]. It becomes 422.
	ErrInvalid = errors.New("invalid")
	// ErrAmbiguous is returned by the resolve methods if the viewer sees more than one
	// match: two configurations with one slug, or two live tables with one Delta id. It
	// becomes 409.
	ErrAmbiguous = errors.New("ambiguous")
	// ErrLastAdmin is returned by role changes and removals that would leave an
	// organisation without an administrator or affect its owner. It becomes 409
	// last_admin.
	ErrLastAdmin = errors.New("last administrator or owner of the organisation")
	// ErrOwner is returned by the deletion of a person who owns organisations that are not
	// deleted. The error is an [*OwnerError]. Transfer or delete them, then retry. It becomes
	// 409 owns_organisations.
	ErrOwner = errors.New("owner of organisations")
	// ErrTooManyOrganisations is returned by the creation of an organisation, and by its
	// transfer, if the owner has as many as are allowed. It becomes 409
	// too_many_organisations.
	ErrTooManyOrganisations = errors.New("too many organisations of one owner")
	// ErrDefaultWorkspace is returned by attempts to delete the default workspace or to
	// give it members. It becomes 409.
	ErrDefaultWorkspace = errors.New("default workspace")
	// ErrWorkspaceInUse is returned by the deletion of a workspace that still owns
	// storage configurations, or to which the undo of an attach can return one. It becomes
	// 409.
	ErrWorkspaceInUse = errors.New("workspace owns storage configurations")
	// ErrLocationTaken is returned if a configuration's location equals, contains or
	// lies within one that it must not overlap. It becomes 409 location_taken.
	ErrLocationTaken = errors.New("location taken")
	// ErrSandbox is returned by changes of the storage configuration of a sandbox, which
	// only the server makes. It becomes 409 sandbox_config.
	ErrSandbox = errors.New("storage configuration of the sandbox")
	// ErrAttached is returned by the attach of a storage configuration to the workspace that
	// it is in. It becomes 409 already_attached.
	ErrAttached = errors.New("storage configuration is in the workspace")
	// ErrUndoExpired is returned by the undo of an attach after its window. It becomes 409
	// undo_window_expired.
	ErrUndoExpired = errors.New("undo window expired")
	// ErrUndoClosed is returned by the undo of an attach that was undone, or after which the
	// storage configuration was attached again, and if there was no attach. It becomes 409
	// undo_window_closed.
	ErrUndoClosed = errors.New("undo window closed")
	// ErrQuota is returned by [Sandboxes.ReserveGrowth] if the tables of a user would
	// exceed the quota. It becomes 422 quota_exceeded.
	ErrQuota = errors.New("quota exceeded")
	// ErrTableState is returned if a table's state does not allow the change, such as a
	// rename of a dropped table or the adoption of an unchanged identity. It becomes
	// 409.
	ErrTableState = errors.New("table state does not allow this")
	// ErrRevoked is returned by the rotation of a revoked key, and for credentials that are
	// made with or for one that has ended. It becomes 409.
	ErrRevoked = errors.New("credential revoked or expired")
	// ErrOperationLive is returned by the removal of an operation that has not ended.
	// Cancel it, wait, retry. It becomes 409.
	ErrOperationLive = errors.New("operation has not ended")
	// ErrMoveUnderWay is returned by the begin of a move whose places overlap those of another
	// one, and by changes of storage configurations and registrations that a move concerns.
	// Retry later. It becomes 409 move_under_way.
	ErrMoveUnderWay = errors.New("move under way")
	// ErrTableMoving is returned by [Moves.CheckPlace] for a table that is being moved or was
	// moved elsewhere. Resolve the table again, then retry. It becomes 409 table_moving.
	ErrTableMoving = errors.New("table is being moved")
	// ErrDomainInUse is returned by the deletion of a shared domain that columns use. It
	// becomes 409.
	ErrDomainInUse = errors.New("domain in use")
	// ErrDomainKind is returned by changes of values of a domain whose kind has no such
	// values. It becomes 409 domain_type_mismatch.
	ErrDomainKind = errors.New("domain is of another kind")
	// ErrDomainCycle is returned if the values that a domain allows in a column would
	// depend on the column itself, through sources and parent columns. It becomes 422
	// domain_cycle.
	ErrDomainCycle = errors.New("domain depends on its own column")
	// ErrValueChange is returned by changes of a domain while a value of it is being
	// renamed or replaced in rows. Retry later. It becomes 409.
	ErrValueChange = errors.New("a value of the domain is being changed")
	// ErrDomainsChanged is returned by [Publications.PublishWrite] if the domains of the
	// table are not those that the write was checked under. Check again, then retry.
	ErrDomainsChanged = errors.New("domains of the table have changed")
	// ErrDomainTaken is returned for an e-mail domain that another organisation has
	// verified. It becomes 409 domain_taken.
	ErrDomainTaken = errors.New("e-mail domain verified by another organisation")
	// ErrSubjectRefused is returned by [IdentityBindings.IdentifySubject] for a subject of an
	// identity provider that its address does not bind. The error is a [*SubjectRefusedError].
	// It becomes 403 sign_in_refused if it reaches a client.
	ErrSubjectRefused = errors.New("subject of an identity provider refused")
	// ErrConsent is returned by [Memberships.AddPerson] for an e-mail address whose person
	// has to be asked. Invite the person. It becomes 403 if it reaches a client.
	ErrConsent = errors.New("membership needs the person's consent")
	// ErrDenied is returned by catalog/authz if the actor is known and may know that
	// the record exists, but lacks a scope or role, and by [Sharing.UndoAttach]. The error
	// is a [*DeniedError]. It becomes 403.
	ErrDenied = errors.New("denied")
	// ErrNoActor is returned by catalog/authz if the context carries no actor. The
	// cause is a defect of the caller or a missing login. It becomes 401.
	ErrNoActor = errors.New("no actor")
	// ErrUnavailable is returned by every method if the database cannot be reached or
	// remained locked. Retry later. It becomes 503.
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

// DeniedError states what the actor lacked. Exactly one of its fields is set.
type DeniedError struct {
	// Scope is the missing scope.
	Scope string
	// Reason is a stable snake_case word for refusals that do not concern a scope:
	// "role_escalation", "not_owner", "system_only", "viewer_mismatch",
	// "actor_mismatch", "local_storage_needs_admin", "sign_in_required", "not_attacher",
	// "outlives_key".
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

// FieldError is one broken rule. Field is the snake_case name of the field in this
// package's records ("name", "expires_at", "attributes.team"); the API renders it in
// the style of the resource. Message is safe to show and never contains the value.
type FieldError struct {
	Field   string
	Message string
}

// FieldErrors holds all broken rules of one input, in the order of the fields.
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

// Err returns e as an error, or nil if e is empty.
func (e FieldErrors) Err() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

func (e *FieldErrors) add(field, format string, args ...any) {
	*e = append(*e, FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
}
