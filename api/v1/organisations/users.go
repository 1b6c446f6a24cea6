package organisations

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/identity"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

type createUserInput struct {
	v1.OrgPath
	Body struct {
		Email       string `json:"email" maxLength:"254"`
		DisplayName string `json:"displayName,omitempty" maxLength:"200" doc:"Ignored if the person is known or invited"`
		Role        string `json:"role" enum:"viewer,editor,builder,admin"`
	}
}

// addedUser is a new member, or a person who was invited to become one.
type addedUser struct {
	State        string            `json:"state" enum:"member,invited"`
	UserID       string            `json:"userId,omitempty" format:"uuid" doc:"Absent for an invited person"`
	InvitationID string            `json:"invitationId,omitempty" format:"uuid" doc:"Absent for a member"`
	Kind         string            `json:"kind" enum:"person"`
	Email        string            `json:"email"`
	DisplayName  string            `json:"displayName"`
	Role         string            `json:"role" enum:"viewer,editor,builder,admin"`
	Attributes   map[string]string `json:"attributes,omitempty" doc:"Only for holders of rls_policies:read"`
	CreatedAt    *string           `json:"createdAt"`
	UpdatedAt    *string           `json:"updatedAt"`
}

func addedUserOf(a identity.Added, withAttributes bool) addedUser {
	if a.Member == nil {
		i, created := a.Invitation, v1.Timestamp(a.Invitation.CreatedAt)
		return addedUser{State: "invited", InvitationID: string(i.ID), Kind: string(catalog.UserPerson), Email: i.Email, Role: string(i.Role),
			CreatedAt: created, UpdatedAt: created}
	}
	m := memberOf(*a.Member, withAttributes)
	return addedUser{State: "member", UserID: m.UserID, Kind: m.Kind, Email: m.Email, DisplayName: m.DisplayName, Role: m.Role,
		Attributes: m.Attributes, CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt}
}

// UserRoutes registers the routes that add and remove members.
func UserRoutes(api huma.API, users identity.Users) {
	group := v1.Route{Tag: "Users", Scope: auth.ScopeUsersWrite, Camel: true}
	v1.AddIn(api, group.With("POST", "/v1/organisations/{org_id}/users", "createUser", "Add a member").As201().
		Describe("Adds a person at once, who is created if necessary, if the organisation has verified the domain of the address or is the "+
			"only one of the server. Any other person is invited, whether or not the server knows the address. Nobody grants a role above "+
			"their own."),
		func(ctx context.Context, org catalog.OrgID, in *createUserInput) (addedUser, error) {
			added, err := users.Add(ctx, org, catalog.NewUser{Email: in.Body.Email, DisplayName: in.Body.DisplayName}, catalog.Role(in.Body.Role))
			if err != nil {
				return addedUser{}, err
			}
			return addedUserOf(added, seesAttributes(ctx)), nil
		})
	removal := group
	removal.Scope = "" // the operation checks it: members leave without it
	v1.AddOne(api, removal.With("DELETE", "/v1/organisations/{org_id}/users/{user_id}", "deleteUser", "Remove a member, or leave").
		Describe("Ends what the member may do here, at once: keys, tokens, open invitations and links to providers. Requires users:write, "+
			"except for the member, signed in. The owner transfers the organisation first."),
		func(ctx context.Context, org catalog.OrgID, user catalog.UserID, _ *v1.MemberPath) (v1.Empty, error) {
			return v1.Empty{}, users.Remove(ctx, org, user)
		})
}
