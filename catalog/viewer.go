package catalog

// Viewer determines which storage configurations and tables are visible. A viewer who
// is not a member of the organisation sees nothing.
type Viewer struct {
	Org  OrgID
	User UserID
	// Limited applies to most API keys: only the default workspace and Workspace are
	// reachable, and each only if User is a member of it.
	Limited bool
	// Workspace is the extra workspace of a limited viewer; empty means none.
	Workspace WorkspaceID
	// Everything is for the system itself: it sees all configurations of the
	// organisation, and the other fields are ignored.
	Everything bool
}

// MemberViewer returns the viewer of a signed-in person, or of an API key that reaches
// every workspace of its user.
func MemberViewer(org OrgID, user UserID) Viewer { return Viewer{Org: org, User: user} }

// KeyViewer returns the viewer of an API key of user. The workspace can be empty.
func KeyViewer(org OrgID, user UserID, workspace WorkspaceID) Viewer {
	return Viewer{Org: org, User: user, Limited: true, Workspace: workspace}
}

// SystemViewer returns a viewer that sees all configurations of an organisation.
func SystemViewer(org OrgID) Viewer { return Viewer{Org: org, Everything: true} }
