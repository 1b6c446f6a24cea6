package identity

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/identity"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

type invitation struct {
	ID             string `json:"id" format:"uuid"`
	OrganisationID string `json:"organisationId" format:"uuid"`
	Email          string `json:"email"`
	Role           string `json:"role" enum:"viewer,editor,builder,admin"`
	Inviter
	CreatedAt *string `json:"createdAt"`
	ExpiresAt *string `json:"expiresAt"`
}

// Inviter is the member who invited.
type Inviter struct {
	InvitedBy    string `json:"invitedBy" format:"uuid"`
	InviterName  string `json:"inviterName"`
	InviterEmail string `json:"inviterEmail,omitempty" doc:"Absent for a service account"`
}

func inviterOf(i catalog.Invitation) Inviter {
	return Inviter{InvitedBy: string(i.InvitedBy), InviterName: i.InviterName, InviterEmail: i.InviterEmail}
}

func invitationOf(i catalog.Invitation) invitation {
	return invitation{ID: string(i.ID), OrganisationID: string(i.Org), Email: i.Email, Role: string(i.Role), Inviter: inviterOf(i),
		CreatedAt: v1.Timestamp(i.CreatedAt), ExpiresAt: v1.Timestamp(i.ExpiresAt)}
}

type invitationList struct {
	Invitations   []invitation `json:"invitations"`
	NextPageToken string       `json:"nextPageToken,omitempty"`
}

type inviteInput struct {
	v1.OrgPath
	Body struct {
		Email string `json:"email" maxLength:"254"`
		Role  string `json:"role" enum:"viewer,editor,builder,admin"`
	}
}

type listInvitationsInput struct {
	v1.OrgPath
	v1.Page
}

type invitationPath struct {
	v1.OrgPath
	ID string `path:"id" format:"uuid"`
}

// IDs parses the path parameters.
func (in invitationPath) IDs() (catalog.OrgID, catalog.InvitationID, error) {
	org, err := v1.OrgID(in.OrgID)
	if err != nil {
		return "", "", err
	}
	id, err := catalog.ParseID[catalog.InvitationID](in.ID)
	return org, id, err
}

type acceptInput struct {
	Body struct {
		Token string `json:"token" maxLength:"256" doc:"The token in the link of the invitation"`
	}
}

type accepted struct {
	OrganisationID string `json:"organisationId" format:"uuid"`
	Role           string `json:"role" enum:"viewer,editor,builder,admin"`
	Inviter
}

// InvitationRoutes registers the routes of invitations.
func InvitationRoutes(api huma.API, invitations identity.Invitations) {
	const base = "/v1/organisations/{org_id}"
	group := v1.Route{Tag: "Invitations", Scope: auth.ScopeUsersWrite, Camel: true}

	v1.AddIn(api, group.With("POST", base+"/invite", "inviteUser", "Invite a person by e-mail").
		Describe("Replaces an open invitation to the same address. The link is valid for 7 days. Nobody grants a role above their own."),
		func(ctx context.Context, org catalog.OrgID, in *inviteInput) (v1.Empty, error) {
			_, err := invitations.Create(ctx, org, in.Body.Email, catalog.Role(in.Body.Role))
			return v1.Empty{}, err
		})
	v1.AddIn(api, group.With("GET", base+"/invitations", "listInvitations", "List the open invitations"),
		func(ctx context.Context, org catalog.OrgID, in *listInvitationsInput) (invitationList, error) {
			list, err := invitations.List(ctx, org, in.Page.Catalog())
			return invitationList{Invitations: v1.Map(list.Items, invitationOf), NextPageToken: list.Next}, err
		})
	v1.AddOne(api, group.With("GET", base+"/invitations/{id}", "getInvitation", "Get an open invitation"),
		func(ctx context.Context, org catalog.OrgID, id catalog.InvitationID, _ *invitationPath) (invitation, error) {
			found, err := invitations.Get(ctx, org, id)
			return invitationOf(found), err
		})
	v1.AddOne(api, group.With("DELETE", base+"/invitations/{id}", "deleteInvitation", "Revoke an open invitation"),
		func(ctx context.Context, org catalog.OrgID, id catalog.InvitationID, _ *invitationPath) (v1.Empty, error) {
			return v1.Empty{}, invitations.Revoke(ctx, org, id)
		})
	v1.Add(api, v1.Route{Method: "POST", Path: "/v1/invitations/accept", ID: "acceptInvitation", Tag: "Invitations", Camel: true,
		Orgless: true, Summary: "Accept an invitation",
		Description: "For the invited person, signed in: the person's address is that of the invitation."},
		func(ctx context.Context, in *acceptInput) (accepted, error) {
			i, err := invitations.Accept(ctx, in.Body.Token)
			return accepted{OrganisationID: string(i.Org), Role: string(i.Role), Inviter: inviterOf(i)}, err
		})
}
