package v1

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/admin"
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
		CreatedAt: timestamp(w.CreatedAt), UpdatedAt: timestamp(w.UpdatedAt)}
}

type workspaceList struct {
	Workspaces    []workspace `json:"workspaces"`
	NextPageToken string      `json:"nextPageToken,omitempty"`
}

type workspaceMember struct {
	UserID      string `json:"userId" format:"uuid"`
	Email       string `json:"email"`
	DisplayName string `json:"displayName"`
	Role        string `json:"role" enum:"viewer,editor,builder,admin"`
}

type workspaceMemberList struct {
	Members       []workspaceMember `json:"members"`
	NextPageToken string            `json:"nextPageToken,omitempty"`
}

type listWorkspacesInput struct {
	OrgPath
	Page
}

type createWorkspaceInput struct {
	OrgPath
	Body struct {
		Name string `json:"name" minLength:"1" maxLength:"100"`
	}
}

// WorkspacePath names a workspace.
type WorkspacePath struct {
	OrgPath
	ID string `path:"id" format:"uuid"`
}

func (in WorkspacePath) ids() (catalog.OrgID, catalog.WorkspaceID, error) {
	org, err := orgID(in.OrgID)
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
	Page
}

// WorkspaceMemberPath names a member of a workspace.
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
	read := route{tag: "Workspaces", scope: auth.ScopeOrgRead, camel: true}
	write := route{tag: "Workspaces", camel: true}

	add(api, read.with("GET", base, "listWorkspaces", "List workspaces"), func(ctx context.Context, in *listWorkspacesInput) (workspaceList, error) {
		org, err := orgID(in.OrgID)
		if err != nil {
			return workspaceList{}, err
		}
		list, err := workspaces.List(ctx, org, in.page())
		return workspaceList{Workspaces: convert(list.Items, workspaceOf), NextPageToken: list.Next}, err
	})
	add(api, write.with("POST", base, "createWorkspace", "Create a workspace").as201(), func(ctx context.Context, in *createWorkspaceInput) (workspace, error) {
		org, err := orgID(in.OrgID)
		if err != nil {
			return workspace{}, err
		}
		w, err := workspaces.Create(ctx, org, in.Body.Name)
		return workspaceOf(w), err
	})
	add(api, read.with("GET", base+"/{id}", "getWorkspace", "Get a workspace"), func(ctx context.Context, in *WorkspacePath) (workspace, error) {
		org, id, err := in.ids()
		if err != nil {
			return workspace{}, err
		}
		w, err := workspaces.Get(ctx, org, id)
		return workspaceOf(w), err
	})
	add(api, write.with("PATCH", base+"/{id}", "updateWorkspace", "Update a workspace"), func(ctx context.Context, in *patchWorkspaceInput) (workspace, error) {
		org, id, err := in.ids()
		if err != nil {
			return workspace{}, err
		}
		w, err := workspaces.Rename(ctx, org, id, in.Body.Name)
		return workspaceOf(w), err
	})
	add(api, write.with("DELETE", base+"/{id}", "deleteWorkspace", "Delete a workspace"), func(ctx context.Context, in *WorkspacePath) (empty, error) {
		org, id, err := in.ids()
		if err != nil {
			return empty{}, err
		}
		return empty{}, workspaces.Delete(ctx, org, id)
	})
	workspaceMemberRoutes(api, base, read, write, workspaces)
}

func workspaceMemberRoutes(api huma.API, base string, read, write route, workspaces admin.Workspaces) {
	add(api, read.with("GET", base+"/{id}/members", "listWorkspaceMembers", "List the members of a workspace"), func(ctx context.Context, in *workspaceMembersInput) (workspaceMemberList, error) {
		org, id, err := in.ids()
		if err != nil {
			return workspaceMemberList{}, err
		}
		list, err := workspaces.Members(ctx, org, id, in.page())
		return workspaceMemberList{Members: convert(list.Items, func(m catalog.WorkspaceMember) workspaceMember {
			return workspaceMember{UserID: string(m.User), Email: m.Email, DisplayName: m.DisplayName, Role: string(m.Role)}
		}), NextPageToken: list.Next}, err
	})
	add(api, write.with("PUT", base+"/{id}/members/{user_id}", "setWorkspaceMember", "Add a member or change the role"), func(ctx context.Context, in *putWorkspaceMemberInput) (empty, error) {
		org, id, err := in.ids()
		if err != nil {
			return empty{}, err
		}
		user, err := catalog.ParseID[catalog.UserID](in.UserID)
		if err != nil {
			return empty{}, err
		}
		return empty{}, workspaces.SetMember(ctx, org, id, user, catalog.Role(in.Body.Role))
	})
	add(api, write.with("DELETE", base+"/{id}/members/{user_id}", "removeWorkspaceMember", "Remove a member"), func(ctx context.Context, in *WorkspaceMemberPath) (empty, error) {
		org, id, err := in.ids()
		if err != nil {
			return empty{}, err
		}
		user, err := catalog.ParseID[catalog.UserID](in.UserID)
		if err != nil {
			return empty{}, err
		}
		return empty{}, workspaces.RemoveMember(ctx, org, id, user)
	})
}
