package auth

import (
	"time"

	"github.com/google/uuid"
)

// Method is how a principal proved who it is.
type Method string

// The methods.
const (
	MethodAPIKey Method = "api_key"
	MethodJWT    Method = "jwt"
)

// Principal is an authenticated caller in one organisation. It is a value:
// copies share nothing that is ever changed. The zero value grants nothing.
type Principal struct {
	// OrgID is the one organisation the caller acts in.
	OrgID uuid.UUID
	// UserID is the member; for an API key, its owner.
	UserID uuid.UUID
	// KeyID is the API key in use; nil for a JWT.
	KeyID *uuid.UUID
	// KeyExpiresAt is the expiry of that key. It is unused for a JWT.
	KeyExpiresAt time.Time
	// Email is the member's address, for people and audit only; no decision
	// rests on it.
	Email string
	// Role is the member's organisation role at the time of authentication.
	Role Role
	// Granted is what the credential itself carries, whatever the role.
	Granted ScopeSet
	// Scopes are the effective scopes: Granted ∩ the role's.
	Scopes ScopeSet
	// WorkspaceID is the workspace an API key is limited to, besides the default
	// one; nil means the default workspace only for a key, and every workspace
	// of the member for a JWT.
	WorkspaceID *uuid.UUID
	// AllWorkspaces lifts that limit of an API key: the key reaches every workspace of
	// the member.
	AllWorkspaces bool
	// Method is how the caller proved it.
	Method Method
	// RequestID ties audit records to the request; empty outside HTTP.
	RequestID string
	// Remote is the address of the client, for the audit log; empty outside HTTP.
	Remote string
}

// Require returns nil when the principal holds scope s in its organisation
// role, else a [ScopeError].
func (p Principal) Require(s Scope) error {
	if p.Scopes.Has(s) {
		return nil
	}
	return &ScopeError{Scope: s}
}

// ScopesIn returns the scopes in a workspace where the caller is a member with
// the given role: the credential's scopes ∩ those of the higher of that role
// and the organisation role. Whether the caller is a member is the catalog's
// question, not asked here.
func (p Principal) ScopesIn(workspaceRole Role) ScopeSet {
	return p.Granted.Intersect(Higher(p.Role, workspaceRole).Scopes())
}

// MayManageOwnKeys reports whether the caller may create, rotate and revoke
// API keys of its own: a signed-in person always, an API key only with
// apikeys:create.
func (p Principal) MayManageOwnKeys() bool {
	switch p.Method {
	case MethodJWT:
		return p.Role.Valid()
	case MethodAPIKey:
		return p.Scopes.Has(ScopeAPIKeysCreate)
	}
	return false
}

// CheckGrant returns nil when a key with the wanted scopes would hold no more
// than its creator, else [ErrScopeEscalation].
func (p Principal) CheckGrant(wanted ScopeSet) error {
	if p.Scopes.Contains(wanted) {
		return nil
	}
	return ErrScopeEscalation
}

// CheckExpiry returns [ErrExpiryEscalation] if a key that expires at the given time
// would outlive its creator. A signed-in person has no such limit.
func (p Principal) CheckExpiry(expires time.Time) error {
	if p.Method == MethodJWT || !expires.After(p.KeyExpiresAt) {
		return nil
	}
	return ErrExpiryEscalation
}

// LongestExpiry returns the earlier of wanted and the expiry of the key in use.
func (p Principal) LongestExpiry(wanted time.Time) time.Time {
	if p.CheckExpiry(wanted) != nil {
		return p.KeyExpiresAt
	}
	return wanted
}
