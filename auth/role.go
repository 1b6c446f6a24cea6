package auth

import "fmt"

// Role is a role in an organisation or in a workspace. Each role has every scope of the
// weaker ones.
type Role string

// The roles, weakest first.
const (
	RoleViewer  Role = "viewer"
	RoleEditor  Role = "editor"
	RoleBuilder Role = "builder"
	RoleAdmin   Role = "admin"
)

// Roles returns the roles, weakest first.
func Roles() []Role { return []Role{RoleViewer, RoleEditor, RoleBuilder, RoleAdmin} }

// ParseRole returns the role named s, which must match exactly. Otherwise the error
// wraps [ErrUnknownRole].
func ParseRole(s string) (Role, error) {
	if r := Role(s); r.Valid() {
		return r, nil
	}
	return "", fmt.Errorf("%w: must be viewer, editor, builder or admin", ErrUnknownRole)
}

// rank orders roles; an unknown role ranks below every known one.
func (r Role) rank() int {
	switch r {
	case RoleViewer:
		return 1
	case RoleEditor:
		return 2
	case RoleBuilder:
		return 3
	case RoleAdmin:
		return 4
	}
	return 0
}

// Valid reports whether r is one of the four roles.
func (r Role) Valid() bool { return r.rank() > 0 }

// AtLeast reports whether r is min or stronger. It is false if either is unknown.
func (r Role) AtLeast(min Role) bool { return r.Valid() && min.Valid() && r.rank() >= min.rank() }

// Higher returns the stronger of two roles. An unknown role is weaker than a known one.
func Higher(a, b Role) Role {
	if b.rank() > a.rank() {
		return b
	}
	return a
}

// Scopes returns the scopes of the role, or none for an unknown role.
func (r Role) Scopes() ScopeSet {
	var set ScopeSet
	for i, s := range scopeTable {
		if r.AtLeast(s.role) {
			set.bits |= 1 << i
		}
	}
	return set
}
