package organisations

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/admin"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

type workspace struct {
	ID             string  `json:"id" format:"uuid"`
	OrganisationID string  `json:"organisationId" format:"uuid"`
	Name           string  `json:"name"`
	IsDefault      bool    `json:"isDefault"`
	MemberCount    int     `json:"memberCount"`
	CreatedAt      *string `json:"createdAt"`
	UpdatedAt      *string `json:"updatedAt"`
}

func workspaceOf(w catalog.Workspace) workspace {
	return workspace{ID: string(w.ID), OrganisationID: string(w.Org), Name: w.Name, IsDefault: w.IsDefault, MemberCount: w.MemberCount,
		CreatedAt: v1.Timestamp(w.CreatedAt), UpdatedAt: v1.Timestamp(w.UpdatedAt)}
}

type workspaceList struct {
	Workspaces    []workspace `json:"workspaces"`
	NextPageToken string      `json:"nextPageToken,omitempty"`
}

type workspaceMember struct {
	UserID      string `json:"userId" format:"uuid"`
	Kind        string `json:"kind" enum:"person,service"`
	Email       string `json:"email,omitempty" doc:"Absent for a service account"`
	DisplayName string `json:"displayName"`
	Role        string `json:"role" enum:"viewer,editor,builder,admin"`
}

type workspaceMemberList struct {
	Members       []workspaceMember `json:"members"`
	NextPageToken string            `json:"nextPageToken,omitempty"`
}

type listWorkspacesInput struct {
	v1.OrgPath
	v1.Page
}

type createWorkspaceInput struct {
	v1.OrgPath
	Body struct {
		Name string `json:"name" minLength:"1" maxLength:"100"`
	}
}

// WorkspacePath holds the path parameters of a workspace.
type WorkspacePath struct {
	v1.OrgPath
	ID string `path:"id" format:"uuid"`
}

// IDs parses the ids of the organisation and the workspace.
func (in WorkspacePath) IDs() (catalog.OrgID, catalog.WorkspaceID, error) {
	org, err := v1.OrgID(in.OrgID)
	if err != nil {
		return "", "", err
	}
	id, err := catalog.ParseID[catalog.WorkspaceID](in.ID)
	return org, id, err
}

type patchWorkspaceInput struct {
	WorkspacePath
	Body struct {
		Name *string `json:"name,omitempty" minLength:"1" maxLength:"100"`
	}
}

type workspaceMembersInput struct {
	WorkspacePath
	v1.Page
}

// WorkspaceMemberPath holds the path parameters of a member of a workspace.
type WorkspaceMemberPath struct {
	WorkspacePath
	UserID string `path:"user_id" format:"uuid"`
}

type putWorkspaceMemberInput struct {
	WorkspaceMemberPath
	Body struct {
		Role string `json:"role" enum:"viewer,editor,builder,admin"`
	}
}

// WorkspaceRoutes registers the routes of workspaces.
func WorkspaceRoutes(api huma.API, workspaces admin.Workspaces) {
	const base = "/v1/organisations/{org_id}/workspaces"
	read := v1.Route{Tag: "Workspaces", Scope: auth.ScopeOrgRead, Camel: true}
	write := v1.Route{Tag: "Workspaces", Camel: true}

	v1.AddIn(api, read.With("GET", base, "listWorkspaces", "List workspaces"),
		func(ctx context.Context, org catalog.OrgID, in *listWorkspacesInput) (workspaceList, error) {
			list, err := workspaces.List(ctx, org, in.Page.Catalog())
			return workspaceList{Workspaces: v1.Map(list.Items, workspaceOf), NextPageToken: list.Next}, err
		})
	v1.AddIn(api, write.With("POST", base, "createWorkspace", "Create a workspace").As201(),
		func(ctx context.Context, org catalog.OrgID, in *createWorkspaceInput) (workspace, error) {
			w, err := workspaces.Create(ctx, org, in.Body.Name)
			return workspaceOf(w), err
		})
	v1.AddOne(api, read.With("GET", base+"/{id}", "getWorkspace", "Get a workspace"),
		func(ctx context.Context, org catalog.OrgID, id catalog.WorkspaceID, _ *WorkspacePath) (workspace, error) {
			w, err := workspaces.Get(ctx, org, id)
			return workspaceOf(w), err
		})
	v1.AddOne(api, write.With("PATCH", base+"/{id}", "updateWorkspace", "Update a workspace"),
		func(ctx context.Context, org catalog.OrgID, id catalog.WorkspaceID, in *patchWorkspaceInput) (workspace, error) {
			w, err := workspaces.Rename(ctx, org, id, in.Body.Name)
			return workspaceOf(w), err
		})
	v1.AddOne(api, write.With("DELETE", base+"/{id}", "deleteWorkspace", "Delete a workspace"),
		func(ctx context.Context, org catalog.OrgID, id catalog.WorkspaceID, _ *WorkspacePath) (v1.Empty, error) {
			return v1.Empty{}, workspaces.Delete(ctx, org, id)
		})
	workspaceMemberRoutes(api, base, read, write, workspaces)
}

func workspaceMemberRoutes(api huma.API, base string, read, write v1.Route, workspaces admin.Workspaces) {
	v1.AddOne(api, read.With("GET", base+"/{id}/members", "listWorkspaceMembers", "List the members of a workspace"),
		func(ctx context.Context, org catalog.OrgID, id catalog.WorkspaceID, in *workspaceMembersInput) (workspaceMemberList, error) {
			list, err := workspaces.Members(ctx, org, id, in.Page.Catalog())
			return workspaceMemberList{Members: v1.Map(list.Items, func(m catalog.WorkspaceMember) workspaceMember {
				return workspaceMember{UserID: string(m.User), Kind: string(m.Kind), Email: mailbox(m.Kind, m.Email),
					DisplayName: m.DisplayName, Role: string(m.Role)}
			}), NextPageToken: list.Next}, err
		})
	v1.AddOne(api, write.With("PUT", base+"/{id}/members/{user_id}", "setWorkspaceMember", "Add a member or change the role"),
		func(ctx context.Context, org catalog.OrgID, id catalog.WorkspaceID, in *putWorkspaceMemberInput) (v1.Empty, error) {
			user, err := catalog.ParseID[catalog.UserID](in.UserID)
			if err != nil {
				return v1.Empty{}, err
			}
			return v1.Empty{}, workspaces.SetMember(ctx, org, id, user, catalog.Role(in.Body.Role))
		})
	v1.AddOne(api, write.With("DELETE", base+"/{id}/members/{user_id}", "removeWorkspaceMember", "Remove a member"),
		func(ctx context.Context, org catalog.OrgID, id catalog.WorkspaceID, in *WorkspaceMemberPath) (v1.Empty, error) {
			user, err := catalog.ParseID[catalog.UserID](in.UserID)
			if err != nil {
				return v1.Empty{}, err
			}
			return v1.Empty{}, workspaces.RemoveMember(ctx, org, id, user)
		})
}
