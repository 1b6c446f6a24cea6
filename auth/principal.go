package auth

import "github.com/google/uuid"

// Method is the kind of credential that a principal presented.
type Method string

// The methods.
const (
	MethodAPIKey Method = "api_key"
	MethodJWT    Method = "jwt"
)

// Principal is an authenticated caller in one organisation, or a signed-in person in
// none. It is a value: copies share nothing that is ever changed. The zero value grants
// nothing.
type Principal struct {
	// OrgID is the one organisation the caller acts in. It is [uuid.Nil] for a person
	// whose token names none; see [Principal.InOrganisation].
	OrgID uuid.UUID
	// UserID is the member; for an API key, its owner.
	UserID uuid.UUID
	// KeyID is the API key in use; nil for a JWT.
	KeyID *uuid.UUID
	// SessionID is the sign-in that a JWT of the server's own issuer comes from, else
	// [uuid.Nil].
	SessionID uuid.UUID
	// Email is the member's address, for display and audit only. No decision depends on
	// it.
	Email string
	// Role is the member's organisation role at the time of authentication.
	Role Role
	// Granted holds the scopes of the credential itself, whatever the role.
	Granted ScopeSet
	// Scopes holds the effective scopes: the intersection of Granted and the role's.
	Scopes ScopeSet
	// WorkspaceID is the workspace that an API key reaches in addition to the default
	// one. Nil means only the default workspace for a key, and every workspace of the
	// member for a JWT.
	WorkspaceID *uuid.UUID
	// AllWorkspaces removes that limit: the API key reaches every workspace of the
	// member.
	AllWorkspaces bool
	// Method is the kind of credential in use.
	Method Method
	// Confined reports that the sign-in behind a JWT is for OrgID only, such as one by
	// the organisation's single sign-on or for one of its clients. The caller then learns
	// nothing of other organisations.
	Confined bool
	// Program reports that a JWT was issued to an organisation's client, which acts for a
	// person or as a service account.
	Program bool
	// RequestID links audit records to the request; empty outside HTTP.
	RequestID string
	// Remote is the address of the client, for the audit log; empty outside HTTP.
	Remote string
}

// InOrganisation returns nil if the principal acts in an organisation, otherwise
// [ErrOrganisationRequired].
func (p Principal) InOrganisation() error {
	if p.OrgID == uuid.Nil {
		return ErrOrganisationRequired
	}
	return nil
}

// SignedIn reports whether the caller presented a token of a sign-in, not an API key.
func (p Principal) SignedIn() bool { return p.Method == MethodJWT && p.KeyID == nil }

// Require returns nil if the principal holds scope s in its organisation role,
// otherwise a [ScopeError].
func (p Principal) Require(s Scope) error {
	if p.Scopes.Has(s) {
		return nil
	}
	return &ScopeError{Scope: s}
}

// ScopesIn returns the scopes in a workspace where the caller is a member with the
// given role: the intersection of the credential's scopes and those of the higher of
// that role and the organisation role. It does not check the membership.
func (p Principal) ScopesIn(workspaceRole Role) ScopeSet {
	return p.Granted.Intersect(Higher(p.Role, workspaceRole).Scopes())
}

// ActsAsPerson reports whether the caller may do what concerns the person as such: the account, its
// sessions, its keys and what it owns. That is a person who has signed in, without a program of
// others, and with all scopes of the role: whoever agreed that a token may do less has not agreed to
// this.
func (p Principal) ActsAsPerson() bool {
	all := AllScopes() // of a token that names no organisation
	if p.Role != "" {
		all = p.Role.Scopes()
	}
	return p.SignedIn() && !p.Program && p.Granted.Intersect(all) == all
}

// MayManageOwnKeys reports whether the caller may create, rotate and revoke its own API
// keys. People may, see [Principal.ActsAsPerson]. An API key needs apikeys:create, and so does a
// program, whose key would outlive the person's consent.
func (p Principal) MayManageOwnKeys() bool {
	switch p.Method {
	case MethodJWT:
		return p.Role.Valid() && (p.Scopes.Has(ScopeAPIKeysCreate) || p.ActsAsPerson())
	case MethodAPIKey:
		return p.Scopes.Has(ScopeAPIKeysCreate)
	}
	return false
}

// CheckGrant returns nil if a key with the wanted scopes would have no more scopes than
// its creator, otherwise [ErrScopeEscalation].
func (p Principal) CheckGrant(wanted ScopeSet) error {
	if p.Scopes.Contains(wanted) {
		return nil
	}
	return ErrScopeEscalation
}
