package catalog

// Role is what a member may do in an organisation or a workspace. Each role
// includes the ones before it: viewer, editor, builder, admin.
type Role string

// The roles, weakest first.
const (
	RoleViewer  Role = "viewer"
	RoleEditor  Role = "editor"
	RoleBuilder Role = "builder"
	RoleAdmin   Role = "admin"
)

// Roles lists every role, weakest first.
func Roles() []Role { return []Role{RoleViewer, RoleEditor, RoleBuilder, RoleAdmin} }

// rank returns 0 for an unknown role, so that an unknown role includes no role and is
// included by none.
func (r Role) rank() int {
	for i, known := range Roles() {
		if r == known {
			return i + 1
		}
	}
	return 0
}

// Valid reports whether r is one of the four roles.
func (r Role) Valid() bool { return r.rank() > 0 }

// Includes reports whether r allows everything that other allows. It is false if either
// is not a role.
func (r Role) Includes(other Role) bool { return other.Valid() && r.rank() >= other.rank() }

// Higher returns the stronger of r and other.
func (r Role) Higher(other Role) Role {
	if other.rank() > r.rank() {
		return other
	}
	return r
}

// ValidateRole returns nil or [FieldErrors] for the given field.
func ValidateRole(field string, r Role) error {
	var e FieldErrors
	if !r.Valid() {
		e.add(field, "must be one of viewer, editor, builder, admin")
	}
	return e.Err()
}
