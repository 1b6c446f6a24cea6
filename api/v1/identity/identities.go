package identity

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/identity/binding"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// Identity is a subject of an identity provider that is bound to a member.
type Identity struct {
	ID        string  `json:"id" format:"uuid"`
	Issuer    string  `json:"issuer"`
	Subject   string  `json:"subject"`
	Method    string  `json:"method" enum:"sign_in,token,member,administrator,operator" doc:"How the subject was bound: by its first sign-in or token, by the member's confirmation, by an administrator, or on the command line"`
	BoundBy   *string `json:"boundBy" doc:"The administrator who bound the subject"`
	CreatedAt *string `json:"createdAt"`
}

func identityOf(b catalog.IdentityBinding) Identity {
	return Identity{ID: string(b.ID), Issuer: b.Issuer, Subject: b.Subject, Method: string(b.Method), BoundBy: v1.Pointer(b.By),
		CreatedAt: v1.Timestamp(b.CreatedAt)}
}

type identityList struct {
	Identities []Identity `json:"identities" nullable:"false"`
}

type bindIdentityInput struct {
	v1.MemberPath
	Body struct {
		Issuer  string `json:"issuer" minLength:"1" maxLength:"2048" doc:"Issuer of the provider, byte for byte"`
		Subject string `json:"subject" minLength:"1" maxLength:"255" doc:"The claim sub, byte for byte"`
	}
}

type identityPath struct {
	v1.MemberPath
	IdentityID string `path:"identity_id" format:"uuid"`
}

type releaseIdentitiesInput struct {
	v1.OrgPath
	Issuer string `query:"issuer" required:"true" minLength:"1" maxLength:"2048"`
	DryRun bool   `query:"dry_run" doc:"Count what would be released, and change nothing"`
}

type releasedIdentities struct {
	DryRun   bool  `json:"dry_run"`
	Released int64 `json:"released" doc:"Number of identities"`
}

// IdentityRoutes registers the routes of the subjects of identity providers that are bound to
// members.
func IdentityRoutes(api huma.API, identities binding.Identities) {
	const ofUser = "/v1/organisations/{org_id}/users/{user_id}/identities"
	group := v1.Route{Tag: "Users", Scope: auth.ScopeUsersWrite, Camel: true}
	v1.AddOne(api, group.With("GET", ofUser, "listUserIdentities", "List who a member is at identity providers").
		Describe("Also those of a former member, whose identities stay bound until they are released."),
		func(ctx context.Context, org catalog.OrgID, user catalog.UserID, _ *v1.MemberPath) (identityList, error) {
			list, err := identities.List(ctx, org, user)
			return identityList{v1.Map(list, identityOf)}, err
		})
	v1.AddOne(api, group.With("POST", ofUser, "bindUserIdentity", "Bind an identity to a member").As201().
		Describe("Whoever signs in as the subject is the member from then on. Needs a credential with every scope of the caller's role, of "+
			"a person who has signed in or an API key that the command line printed. Only the owner binds an identity to the owner."),
		func(ctx context.Context, org catalog.OrgID, user catalog.UserID, in *bindIdentityInput) (Identity, error) {
			bound, err := identities.Bind(ctx, org, user, in.Body.Issuer, in.Body.Subject)
			return identityOf(bound), err
		})
	v1.Add(api, group.With("DELETE", ofUser+"/{identity_id}", "releaseUserIdentity", "Release an identity of a member").
		Describe("Ends the sign-ins of the subject in the organisation. Its address may bind it again."),
		func(ctx context.Context, in *identityPath) (v1.Empty, error) {
			org, user, err := in.IDs()
			if err != nil {
				return v1.Empty{}, err
			}
			id, err := catalog.ParseID[catalog.IdentityID](in.IdentityID)
			if err != nil {
				return v1.Empty{}, err
			}
			return v1.Empty{}, identities.Release(ctx, org, user, id)
		})
	v1.AddIn(api, group.With("DELETE", "/v1/organisations/{org_id}/identities", "releaseIdentities", "Release all identities of an issuer").
		Describe("For a change of the identity provider. Ends the sign-ins of all members by it."),
		func(ctx context.Context, org catalog.OrgID, in *releaseIdentitiesInput) (releasedIdentities, error) {
			count, err := identities.ReleaseIssuer(ctx, org, in.Issuer, in.DryRun)
			return releasedIdentities{DryRun: in.DryRun, Released: count}, err
		})
}
