package auth

import (
	"errors"
	"fmt"
)

// Sentinels of package auth and its verifiers; test with errors.Is. None is
// worth a retry except [ErrUnavailable].
var (
	// ErrUnauthenticated: no credential, or one that proves nothing. The family
	// of every refusal of a credential: 401.
	ErrUnauthenticated = errors.New("not authenticated")
	// ErrMalformed: the token is neither an API key nor a JWT of ours, or its
	// checksum or signature is wrong: 401.
	ErrMalformed = fmt.Errorf("%w: malformed credential", ErrUnauthenticated)
	// ErrExpired: the credential was valid and its time is over: 401.
	ErrExpired = fmt.Errorf("%w: credential expired", ErrUnauthenticated)
	// ErrRevoked: the credential was revoked: 401.
	ErrRevoked = fmt.Errorf("%w: credential revoked", ErrUnauthenticated)
	// ErrNoMember: the credential is sound but its user is no member of the
	// organisation (any more): 401.
	ErrNoMember = fmt.Errorf("%w: not a member", ErrUnauthenticated)
	// ErrNoPrincipal: a context without a principal reached an operation that
	// needs one: 401.
	ErrNoPrincipal = fmt.Errorf("%w: no principal", ErrUnauthenticated)

	// ErrForbidden: the caller is known and may not do this. The family of
	// every refusal of a known caller: 403.
	ErrForbidden = errors.New("forbidden")
	// ErrScopeMissing: the credential or the role lacks the scope; see
	// [ScopeError]: 403.
	ErrScopeMissing = fmt.Errorf("%w: scope missing", ErrForbidden)
	// ErrScopeEscalation: a key was asked to hold more than its creator: 403.
	ErrScopeEscalation = fmt.Errorf("%w: scope escalation", ErrForbidden)
	// ErrExpiryEscalation is returned for a key that would outlive its creator: 403.
	ErrExpiryEscalation = fmt.Errorf("%w: expiry escalation", ErrForbidden)
	// ErrWorkspaceEscalation is returned for a key that would reach more workspaces
	// than its creator: 403.
	ErrWorkspaceEscalation = fmt.Errorf("%w: workspace escalation", ErrForbidden)

	// ErrUnknownScope: a request names a scope that does not exist: 422.
	ErrUnknownScope = errors.New("unknown scope")
	// ErrUnknownRole: a request names a role that does not exist: 422.
	ErrUnknownRole = errors.New("unknown role")

	// ErrUnavailable: the credential could not be checked because a store or a
	// key set was out of reach; worth a retry: 503.
	ErrUnavailable = errors.New("authentication unavailable")
)

// ScopeError is a refusal for want of one scope. It wraps [ErrScopeMissing].
type ScopeError struct{ Scope Scope }

// Error names the scope.
func (e *ScopeError) Error() string { return ErrScopeMissing.Error() + ": " + string(e.Scope) }

// Unwrap returns [ErrScopeMissing].
func (e *ScopeError) Unwrap() error { return ErrScopeMissing }
