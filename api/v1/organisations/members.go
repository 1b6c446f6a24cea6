package organisations

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/admin"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// Member is a user of an organisation.
type Member struct {
	UserID      string            `json:"userId" format:"uuid"`
	Kind        string            `json:"kind" enum:"person,service"`
	Email       string            `json:"email,omitempty" doc:"Absent for a service account"`
	DisplayName string            `json:"displayName"`
	Role        string            `json:"role" enum:"viewer,editor,builder,admin"`
	Attributes  map[string]string `json:"attributes,omitempty" doc:"Only for holders of rls_policies:read"`
	CreatedAt   *string           `json:"createdAt"`
	UpdatedAt   *string           `json:"updatedAt"`
}

func memberOf(m catalog.Membership, withAttributes bool) Member {
	out := Member{UserID: string(m.User), Kind: string(m.Kind), Email: mailbox(m.Kind, m.Email), DisplayName: m.DisplayName,
		Role: string(m.Role), CreatedAt: v1.Timestamp(m.CreatedAt), UpdatedAt: v1.Timestamp(m.UpdatedAt)}
	if withAttributes {
		out.Attributes = m.Attributes
	}
	return out
}

// mailbox returns the address of a person, and "" for a service account, whose address
// belongs to no mailbox.
func mailbox(kind catalog.UserKind, email string) string {
	if kind != catalog.UserPerson {
		return ""
	}
	return email
}

type memberList struct {
	Users         []Member `json:"users"`
	NextPageToken string   `json:"nextPageToken,omitempty"`
}

type listMembersInput struct {
	v1.OrgPath
	v1.Page
}

type putAttributesInput struct {
	v1.MemberPath
	Body map[string]string
}

type putRoleInput struct {
	v1.MemberPath
	Body struct {
		Role string `json:"role" enum:"viewer,editor,builder,admin"`
	}
}

func seesAttributes(ctx context.Context) bool {
	p, err := auth.PrincipalFrom(ctx)
	return err == nil && p.Scopes.Has(auth.ScopePoliciesRead)
}

// MemberRoutes registers the routes of an organisation's members.
func MemberRoutes(api huma.API, members admin.Members) {
	v1.AddIn(api, v1.Route{Method: "GET", Path: "/v1/organisations/{org_id}/users", ID: "listUsers", Tag: "Users", Scope: auth.ScopeOrgRead,
		Camel: true, Summary: "List the members of an organisation"},
		func(ctx context.Context, org catalog.OrgID, in *listMembersInput) (memberList, error) {
			list, err := members.List(ctx, org, in.Page.Catalog())
			return memberList{Users: v1.Map(list.Items, func(m catalog.Membership) Member {
				return memberOf(m, seesAttributes(ctx))
			}), NextPageToken: list.Next}, err
		})
	v1.AddOne(api, v1.Route{Method: "GET", Path: "/v1/organisations/{org_id}/users/{user_id}", ID: "getUser", Tag: "Users",
		Scope: auth.ScopeOrgRead, Camel: true, Summary: "Get a member"},
		func(ctx context.Context, org catalog.OrgID, user catalog.UserID, _ *v1.MemberPath) (Member, error) {
			m, err := members.Get(ctx, org, user)
			return memberOf(m, seesAttributes(ctx)), err
		})
	v1.Add(api, v1.Route{Method: "GET", Path: "/v1/organisations/{org_id}/users/{user_id}/attributes", ID: "getUserAttributes", Tag: "Users",
		Scope: auth.ScopePoliciesRead, Camel: true, Summary: "Get a member's policy attributes"},
		func(ctx context.Context, in *v1.MemberPath) (map[string]string, error) {
			org, user, err := in.IDs()
			if err != nil {
				return nil, err
			}
			m, err := members.Get(ctx, org, user)
			return m.Attributes, err
		})
	v1.AddOne(api, v1.Route{Method: "PUT", Path: "/v1/organisations/{org_id}/users/{user_id}/attributes", ID: "replaceUserAttributes",
		Tag: "Users", Scope: auth.ScopePoliciesWrite, Camel: true,
		Summary: "Replace a member's policy attributes", Description: "Attributes gate which rows the member sees, from the next statement on."},
		func(ctx context.Context, org catalog.OrgID, user catalog.UserID, in *putAttributesInput) (v1.Empty, error) {
			return v1.Empty{}, members.ReplaceAttributes(ctx, org, user, in.Body)
		})
	v1.AddOne(api, v1.Route{Method: "PUT", Path: "/v1/organisations/{org_id}/users/{user_id}/role", ID: "updateUserRole", Tag: "Users",
		Scope: auth.ScopeUsersWrite, Camel: true, Summary: "Update a member's role"},
		func(ctx context.Context, org catalog.OrgID, user catalog.UserID, in *putRoleInput) (v1.Empty, error) {
			return v1.Empty{}, members.SetRole(ctx, org, user, catalog.Role(in.Body.Role))
		})
	v1.Add(api, v1.Route{Method: "GET", Path: "/v1/me/attributes", ID: "getMyAttributes", Tag: "Users", Camel: true,
		Summary: "The caller's own policy attributes"},
		func(ctx context.Context, _ *v1.NoInput) (map[string]string, error) {
			m, err := members.Self(ctx)
			return m.Attributes, err
		})
}
