package v1

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/admin"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// Member is a user of an organisation.
type Member struct {
	UserID      string            `json:"userId" format:"uuid"`
	Email       string            `json:"email"`
	DisplayName string            `json:"displayName"`
	Role        string            `json:"role" enum:"viewer,editor,builder,admin"`
	Attributes  map[string]string `json:"attributes,omitempty" doc:"Only for holders of rls_policies:read"`
	CreatedAt   *string           `json:"createdAt"`
	UpdatedAt   *string           `json:"updatedAt"`
}

func memberOf(m catalog.Membership, withAttributes bool) Member {
	out := Member{UserID: string(m.User), Email: m.Email, DisplayName: m.DisplayName, Role: string(m.Role),
		CreatedAt: timestamp(m.CreatedAt), UpdatedAt: timestamp(m.UpdatedAt)}
	if withAttributes {
		out.Attributes = m.Attributes
	}
	return out
}

type memberList struct {
	Users         []Member `json:"users"`
	NextPageToken string   `json:"nextPageToken,omitempty"`
}

// OrgPath names the organisation of a route.
type OrgPath struct {
	OrgID string `path:"org_id" format:"uuid"`
}

type listMembersInput struct {
	OrgPath
	Page
}

// MemberPath names a member of an organisation.
type MemberPath struct {
	OrgPath
	UserID string `path:"user_id" format:"uuid"`
}

func (in MemberPath) ids() (catalog.OrgID, catalog.UserID, error) {
	org, err := orgID(in.OrgID)
	if err != nil {
		return "", "", err
	}
	user, err := catalog.ParseID[catalog.UserID](in.UserID)
	return org, user, err
}

type putAttributesInput struct {
	MemberPath
	Body map[string]string
}

type putRoleInput struct {
	MemberPath
	Body struct {
		Role string `json:"role" enum:"viewer,editor,builder,admin"`
	}
}

func seesAttributes(ctx context.Context) bool {
	p, err := auth.PrincipalFrom(ctx)
	return err == nil && p.Scopes.Has(auth.ScopePoliciesRead)
}

// MemberRoutes registers the routes of an organisation's users and of the
// caller itself.
func MemberRoutes(api huma.API, members admin.Members) {
	add(api, route{method: "GET", path: "/v1/organisations/{org_id}/users", id: "listUsers", tag: "Users", scope: auth.ScopeOrgRead, camel: true, summary: "List the members of an organisation"},
		func(ctx context.Context, in *listMembersInput) (memberList, error) {
			org, err := orgID(in.OrgID)
			if err != nil {
				return memberList{}, err
			}
			list, err := members.List(ctx, org, in.page())
			return memberList{Users: convert(list.Items, func(m catalog.Membership) Member {
				return memberOf(m, seesAttributes(ctx))
			}), NextPageToken: list.Next}, err
		})
	add(api, route{method: "GET", path: "/v1/organisations/{org_id}/users/{user_id}", id: "getUser", tag: "Users", scope: auth.ScopeOrgRead, camel: true, summary: "Get a member"},
		func(ctx context.Context, in *MemberPath) (Member, error) {
			org, user, err := in.ids()
			if err != nil {
				return Member{}, err
			}
			m, err := members.Get(ctx, org, user)
			return memberOf(m, seesAttributes(ctx)), err
		})
	add(api, route{method: "GET", path: "/v1/organisations/{org_id}/users/{user_id}/attributes", id: "getUserAttributes", tag: "Users", scope: auth.ScopePoliciesRead, camel: true, summary: "Get a member's policy attributes"},
		func(ctx context.Context, in *MemberPath) (map[string]string, error) {
			org, user, err := in.ids()
			if err != nil {
				return nil, err
			}
			m, err := members.Get(ctx, org, user)
			return m.Attributes, err
		})
	add(api, route{method: "PUT", path: "/v1/organisations/{org_id}/users/{user_id}/attributes", id: "replaceUserAttributes", tag: "Users", scope: auth.ScopePoliciesWrite, camel: true,
		summary: "Replace a member's policy attributes", description: "Attributes gate which rows the member sees, from the next statement on."},
		func(ctx context.Context, in *putAttributesInput) (empty, error) {
			org, user, err := in.ids()
			if err != nil {
				return empty{}, err
			}
			return empty{}, members.ReplaceAttributes(ctx, org, user, in.Body)
		})
	add(api, route{method: "PUT", path: "/v1/organisations/{org_id}/users/{user_id}/role", id: "updateUserRole", tag: "Users", scope: auth.ScopeUsersWrite, camel: true, summary: "Update a member's role"},
		func(ctx context.Context, in *putRoleInput) (empty, error) {
			org, user, err := in.ids()
			if err != nil {
				return empty{}, err
			}
			return empty{}, members.SetRole(ctx, org, user, catalog.Role(in.Body.Role))
		})
	selfRoutes(api, members)
}

type self struct {
	Member
	OrganisationID string   `json:"organisationId" format:"uuid"`
	Scopes         []string `json:"scopes"`
}

func selfRoutes(api huma.API, members admin.Members) {
	add(api, route{method: "GET", path: "/v1/me", id: "getMe", tag: "Users", camel: true, summary: "Who the caller is and what it may do"},
		func(ctx context.Context, _ *noInput) (self, error) {
			p, err := auth.PrincipalFrom(ctx)
			if err != nil {
				return self{}, err
			}
			m, err := members.Self(ctx)
			return self{Member: memberOf(m, true), OrganisationID: p.OrgID.String(), Scopes: p.Scopes.Strings()}, err
		})
	add(api, route{method: "GET", path: "/v1/me/attributes", id: "getMyAttributes", tag: "Users", camel: true, summary: "The caller's own policy attributes"},
		func(ctx context.Context, _ *noInput) (map[string]string, error) {
			m, err := members.Self(ctx)
			return m.Attributes, err
		})
}
