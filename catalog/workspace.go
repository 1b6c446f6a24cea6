package catalog

import "time"

// Workspace groups storage configurations and members. Every organisation has
// one default workspace, whose members are all members of the organisation
// with their role there.
type Workspace struct {
	ID          WorkspaceID
	Org         OrgID
	Name        string
	IsDefault   bool
	MemberCount int
	Version     int64
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// DefaultWorkspaceName is the name of a new organisation's default workspace.
const DefaultWorkspaceName = "Default"

// NewWorkspace is the input of [Workspaces.CreateWorkspace]. An empty ID lets
// the store choose one.
type NewWorkspace struct {
	ID   WorkspaceID
	Org  OrgID
	Name string
	// Creator, unless empty, becomes the first member, as an administrator.
	Creator UserID
}

// Validate returns nil or [FieldErrors].
func (n NewWorkspace) Validate() error {
	var e FieldErrors
	e.text("name", n.Name, 1, 100)
	return e.Err()
}

// WorkspaceChange holds the fields to change; nil fields keep their value.
type WorkspaceChange struct {
	Name *string
}

// Validate returns nil or [FieldErrors].
func (c WorkspaceChange) Validate() error {
	var e FieldErrors
	if c.Name != nil {
		e.text("name", *c.Name, 1, 100)
	}
	return e.Err()
}

// WorkspaceMember is an explicit membership of a user in a workspace. In the default
// workspace Role is the organisation role.
type WorkspaceMember struct {
	Workspace WorkspaceID
	User      UserID
	Kind      UserKind
	// Email is that of [User].
	Email       string
	DisplayName string
	Role        Role
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// WorkspaceFilter narrows [Workspaces.ListWorkspaces].
type WorkspaceFilter struct {
	// Member selects the workspaces of one user, including the default one; empty means
	// every workspace of the organisation.
	Member UserID
}
