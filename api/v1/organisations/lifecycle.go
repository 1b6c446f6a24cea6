package organisations

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/identity/account"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// listed is an organisation in the list of the caller.
type listed struct {
	ID        string  `json:"id" format:"uuid"`
	Name      string  `json:"name"`
	Owner     string  `json:"owner" format:"uuid"`
	Role      string  `json:"role" enum:"viewer,editor,builder,admin" doc:"The caller's role"`
	SSO       bool    `json:"ssoRequired" doc:"Members sign in at the organisation's identity provider; a password is refused"`
	CreatedAt *string `json:"createdAt"`
	DeletedAt *string `json:"deletedAt" doc:"Set for a deleted organisation, which only its owner sees"`
}

func listedOf(o catalog.UserOrganisation) listed {
	return listed{ID: string(o.ID), Name: o.Name, Owner: string(o.Owner), Role: string(o.Role), SSO: o.SSORequired,
		CreatedAt: v1.Timestamp(o.CreatedAt), DeletedAt: v1.Timestamp(o.DeletedAt)}
}

type organisationList struct {
	Organisations []listed `json:"organisations"`
	NextPageToken string   `json:"nextPageToken,omitempty"`
}

type createOrganisationInput struct {
	Body struct {
		Name string `json:"name" minLength:"1" maxLength:"200"`
	}
}

type transferInput struct {
	OrganisationPath
	Body struct {
		UserID string `json:"userId" format:"uuid" doc:"A person who is an administrator"`
	}
}

// LifecycleRoutes registers the routes that create, delete, restore and transfer
// organisations.
func LifecycleRoutes(api huma.API, orgs account.Organisations) {
	const base, one = "/v1/organisations", "/v1/organisations/{organisation_id}"
	everybody := v1.Route{Tag: "Organisations", Camel: true, Orgless: true}
	administrators := v1.Route{Tag: "Organisations", Camel: true, Scope: auth.ScopeOrgUpdate}

	v1.Add(api, everybody.With("POST", base, "createOrganisation", "Create an organisation").As201().
		Describe("For people who have signed in. The caller becomes the owner and first administrator. The setting organisations can leave "+
			"this to the operator."),
		func(ctx context.Context, in *createOrganisationInput) (organisation, error) {
			org, err := orgs.Create(ctx, in.Body.Name)
			return organisationOf(org), err
		})
	v1.Add(api, everybody.With("GET", base, "listOrganisations", "List the caller's organisations").
		Describe("Includes deleted ones that the caller owns. An API key, and a sign-in for one organisation only, list that one."),
		func(ctx context.Context, in *v1.Page) (organisationList, error) {
			list, err := orgs.List(ctx, in.Catalog())
			return organisationList{Organisations: v1.Map(list.Items, listedOf), NextPageToken: list.Next}, err
		})
	v1.Add(api, administrators.With("DELETE", one, "deleteOrganisation", "Delete an organisation").
		Describe("For the owner, signed in. Its keys and tokens are refused at once. The owner can restore it within 30 days; then its "+
			"records are removed, but not the data in its storage."),
		func(ctx context.Context, in *OrganisationPath) (v1.Empty, error) {
			id, err := v1.OrgID(in.OrganisationID)
			if err != nil {
				return v1.Empty{}, err
			}
			return v1.Empty{}, orgs.Delete(ctx, id)
		})
	v1.Add(api, everybody.With("POST", one+"/undelete", "undeleteOrganisation", "Restore a deleted organisation").
		Describe("For the owner, signed in, within 30 days. To others the organisation does not exist."),
		func(ctx context.Context, in *OrganisationPath) (organisation, error) {
			id, err := v1.OrgID(in.OrganisationID)
			if err != nil {
				return organisation{}, err
			}
			org, err := orgs.Undelete(ctx, id)
			return organisationOf(org), err
		})
	v1.Add(api, administrators.With("POST", one+"/transfer", "transferOrganisation", "Transfer an organisation to another owner").
		Describe("For the owner, signed in, who remains an administrator."),
		func(ctx context.Context, in *transferInput) (organisation, error) {
			id, err := v1.OrgID(in.OrganisationID)
			if err != nil {
				return organisation{}, err
			}
			to, err := catalog.ParseID[catalog.UserID](in.Body.UserID)
			if err != nil {
				return organisation{}, err
			}
			org, err := orgs.Transfer(ctx, id, to)
			return organisationOf(org), err
		})
}
