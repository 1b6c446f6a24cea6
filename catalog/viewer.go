package catalog

// Viewer is the eye through which storage configurations and tables are seen.
// A viewer who is not a member of the organisation sees nothing.
type Viewer struct {
	Org  OrgID
	User UserID
	// Limited marks most API keys: of the workspaces, only the default one and
	// Workspace are reached, and only where User is a member.
	Limited bool
	// Workspace is the extra workspace of a limited viewer; empty means none.
	Workspace WorkspaceID
	// Everything is for work of the system itself: all configurations of the
	// organisation are seen and the other fields are ignored.
	Everything bool
}

// MemberViewer is the viewer of a signed-in person, and of an API key that
// reaches every workspace of its user.
func MemberViewer(org OrgID, user UserID) Viewer { return Viewer{Org: org, User: user} }

// KeyViewer is the viewer of an API key of user; workspace can be empty.
func KeyViewer(org OrgID, user UserID, workspace WorkspaceID) Viewer {
	return Viewer{Org: org, User: user, Limited: true, Workspace: workspace}
}

// SystemViewer sees all configurations of an organisation.
func SystemViewer(org OrgID) Viewer { return Viewer{Org: org, Everything: true} }
