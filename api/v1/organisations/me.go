package organisations

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/identity/account"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/catalog"
)

// self is the caller. The members from role to scopes concern the current organisation.
type self struct {
	UserID         string             `json:"userId" format:"uuid"`
	Kind           string             `json:"kind" enum:"person,service"`
	Email          string             `json:"email,omitempty" doc:"Absent for a service account"`
	DisplayName    string             `json:"displayName"`
	CreatedAt      *string            `json:"createdAt"`
	UpdatedAt      *string            `json:"updatedAt"`
	OrganisationID string             `json:"organisationId,omitempty" format:"uuid" doc:"Absent if the token names no organisation"`
	Role           string             `json:"role,omitempty" enum:"viewer,editor,builder,admin"`
	Attributes     map[string]string  `json:"attributes,omitempty"`
	Scopes         []string           `json:"scopes"`
	Organisations  []selfOrganisation `json:"organisations"`
	Workspaces     []selfWorkspace    `json:"workspaces" doc:"Those of the current organisation, for holders of org:read"`
}

type selfOrganisation struct {
	ID   string `json:"id" format:"uuid"`
	Name string `json:"name"`
	Role string `json:"role" enum:"viewer,editor,builder,admin"`
	SSO  bool   `json:"ssoRequired" doc:"Members sign in at the organisation's identity provider; a password is refused"`
}

func selfOrganisationOf(o catalog.UserOrganisation) selfOrganisation {
	return selfOrganisation{ID: string(o.ID), Name: o.Name, Role: string(o.Role), SSO: o.SSORequired}
}

type selfWorkspace struct {
	ID        string `json:"id" format:"uuid"`
	Name      string `json:"name"`
	IsDefault bool   `json:"isDefault"`
}

type patchSelfInput struct {
	Body struct {
		DisplayName string `json:"displayName" maxLength:"200"`
	}
}

// SelfRoutes registers the routes of the caller.
func SelfRoutes(api huma.API, me account.Self) {
	get := func(ctx context.Context) (self, error) {
		p, err := me.Get(ctx)
		if err != nil {
			return self{}, err
		}
		return selfOf(p), nil
	}
	v1.Add(api, v1.Route{Method: "GET", Path: "/v1/me", ID: "getMe", Tag: "Users", Camel: true, Orgless: true,
		Summary: "Who the caller is and what it may do"},
		func(ctx context.Context, _ *v1.NoInput) (self, error) { return get(ctx) })
	v1.Add(api, v1.Route{Method: "PATCH", Path: "/v1/me", ID: "updateMe", Tag: "Users", Camel: true, Orgless: true,
		Summary: "Change the caller's name", Description: "For people who have signed in."},
		func(ctx context.Context, in *patchSelfInput) (self, error) {
			if err := me.Rename(ctx, in.Body.DisplayName); err != nil {
				return self{}, err
			}
			return get(ctx)
		})
	v1.Add(api, v1.Route{Method: "DELETE", Path: "/v1/me", ID: "deleteMe", Tag: "Users", Camel: true, Orgless: true,
		Summary: "Delete the caller's account", Description: "For people who have signed in, not for one organisation only. Ends all " +
			"memberships, keys and sign-ins, and removes the name and the address. Nobody can use the personal storage configurations any " +
			"more. The owner of organisations transfers or deletes them first. The reply names what the person had."},
		func(ctx context.Context, in *deleteSelfInput) (holdings, error) {
			had, err := me.Delete(ctx, in.DryRun)
			return holdingsOf(had, in.DryRun), err
		})
}

func selfOf(p account.Profile) self {
	out := self{
		UserID: string(p.User.ID), Kind: string(p.User.Kind), Email: mailbox(p.User.Kind, p.User.Email), DisplayName: p.User.DisplayName,
		CreatedAt: v1.Timestamp(p.User.CreatedAt), UpdatedAt: v1.Timestamp(p.User.UpdatedAt), Scopes: p.Scopes.Strings(),
		Organisations: v1.Map(p.Organisations, selfOrganisationOf),
		Workspaces: v1.Map(p.Workspaces, func(w catalog.Workspace) selfWorkspace {
			return selfWorkspace{ID: string(w.ID), Name: w.Name, IsDefault: w.IsDefault}
		}),
	}
	if m := p.Membership; m != nil {
		out.OrganisationID, out.Role, out.Attributes = string(m.Org), string(m.Role), m.Attributes
		out.CreatedAt, out.UpdatedAt = v1.Timestamp(m.CreatedAt), v1.Timestamp(m.UpdatedAt)
	}
	return out
}
