package auth

import (
	"errors"
	"fmt"

	"github.com/google/uuid"
)

// Sentinels of package auth and its verifiers. A retry helps only for [ErrUnavailable].
var (
	// ErrUnauthenticated is wrapped by every refusal of a credential: 401.
	ErrUnauthenticated = errors.New("not authenticated")
	// ErrMalformed is returned for a token that is neither an API key nor a JWT of a
	// configured issuer, or whose checksum or signature is wrong: 401.
	ErrMalformed = fmt.Errorf("%w: malformed credential", ErrUnauthenticated)
	// ErrExpired is returned for a credential that has expired: 401.
	ErrExpired = fmt.Errorf("%w: credential expired", ErrUnauthenticated)
	// ErrRevoked is returned for a revoked credential: 401.
	ErrRevoked = fmt.Errorf("%w: credential revoked", ErrUnauthenticated)
	// ErrNoMember is returned for a valid credential whose user is not (or no longer) a
	// member of the organisation: 401.
	ErrNoMember = fmt.Errorf("%w: not a member", ErrUnauthenticated)
	// ErrNoPrincipal is returned by operations that need a principal if the context has
	// none: 401.
	ErrNoPrincipal = fmt.Errorf("%w: no principal", ErrUnauthenticated)

	// ErrForbidden is wrapped by every refusal of a known caller: 403.
	ErrForbidden = errors.New("forbidden")
	// ErrOrganisationRequired is returned to a person whose token names no organisation
	// by everything that acts in one: 403.
	ErrOrganisationRequired = fmt.Errorf("%w: organisation required", ErrForbidden)
	// ErrScopeMissing is returned if the credential or the role lacks a scope; see
	// [ScopeError]: 403.
	ErrScopeMissing = fmt.Errorf("%w: scope missing", ErrForbidden)
	// ErrScopeEscalation is returned for a key that would have more scopes than its
	// creator: 403.
	ErrScopeEscalation = fmt.Errorf("%w: scope escalation", ErrForbidden)
	// ErrWorkspaceEscalation is returned for a key that would reach more workspaces
	// than its creator: 403.
	ErrWorkspaceEscalation = fmt.Errorf("%w: workspace escalation", ErrForbidden)

	// ErrUnknownScope is returned for a request that names an unknown scope: 422.
	ErrUnknownScope = errors.New("unknown scope")
	// ErrUnknownRole is returned for a request that names an unknown role: 422.
	ErrUnknownRole = errors.New("unknown role")

	// ErrUnavailable is returned if the credential could not be checked because a store
	// or a key set was unreachable. A retry may succeed: 503.
	ErrUnavailable = errors.New("authentication unavailable")
)

// UnboundError is a refusal of a valid token of a foreign issuer whose subject its address does not
// bind to a member. It wraps [ErrNoMember].
type UnboundError struct {
	Org uuid.UUID
	// User has the address.
	User            uuid.UUID
	Issuer, Subject string
	// Reason is a stable snake_case word.
	Reason string
}

// Error names the reason.
func (e *UnboundError) Error() string { return ErrNoMember.Error() + ": " + e.Reason }

// Unwrap returns [ErrNoMember].
func (e *UnboundError) Unwrap() error { return ErrNoMember }

// ScopeError is a refusal because of one missing scope. It wraps [ErrScopeMissing].
type ScopeError struct{ Scope Scope }

// Error names the scope.
func (e *ScopeError) Error() string { return ErrScopeMissing.Error() + ": " + string(e.Scope) }

// Unwrap returns [ErrScopeMissing].
func (e *ScopeError) Unwrap() error { return ErrScopeMissing }
