package identity

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/identity"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

type providerApp struct {
	Provider                     string   `json:"provider" enum:"provider_one,provider_two,provider_three"`
	ClientID                     string   `json:"clientId"`
	Tenant                       *string  `json:"tenant" doc:"null for a provider without tenants"`
	AdminConsentURL              *string  `json:"adminConsentUrl" doc:"Where an administrator of the provider approves the application; null if there is no such page"`
	RequiredDelegatedPermissions []string `json:"requiredDelegatedPermissions"`
	CreatedAt                    *string  `json:"createdAt"`
	UpdatedAt                    *string  `json:"updatedAt"`
}

func providerAppOf(a identity.ProviderApp) providerApp {
	return providerApp{
		Provider: string(a.Provider), ClientID: a.ClientID, Tenant: v1.Pointer(a.Tenant), AdminConsentURL: v1.Pointer(a.AdminConsentURL),
		RequiredDelegatedPermissions: a.Permissions, CreatedAt: v1.Timestamp(a.CreatedAt), UpdatedAt: v1.Timestamp(a.UpdatedAt),
	}
}

type providerAppList struct {
	ProviderApps []providerApp `json:"providerApps"`
}

// ProviderPath holds the path parameters of a provider of an organisation.
type ProviderPath struct {
	v1.OrgPath
	Provider string `path:"provider" maxLength:"64"`
}

type putProviderAppInput struct {
	ProviderPath
	Body struct {
		ClientID     string `json:"clientId" maxLength:"255"`
		ClientSecret string `json:"clientSecret" maxLength:"4096" writeOnly:"true" doc:"Stored encrypted and never returned"`
		Tenant       string `json:"tenant,omitempty" maxLength:"253" doc:"Required for provider_three, refused for the others"`
	}
}

// ProviderAppRoutes registers the routes of an organisation's OAuth applications.
func ProviderAppRoutes(api huma.API, apps identity.ProviderApps) {
	const base = "/v1/organisations/{org_id}/provider-apps"
	group := v1.Route{Tag: "Provider applications", Scope: auth.ScopeProviderAppsWrite, Camel: true}
	v1.AddIn(api, group.With("POST", base+"/{provider}", "putProviderApp", "Register or replace an OAuth application").
		Describe("The client secret is stored encrypted and never returned. A new client id or tenant removes the links of members."),
		func(ctx context.Context, org catalog.OrgID, in *putProviderAppInput) (providerApp, error) {
			app, err := apps.Put(ctx, org, identity.NewProviderApp{
				Provider: in.Provider, ClientID: in.Body.ClientID, ClientSecret: in.Body.ClientSecret, Tenant: in.Body.Tenant,
			})
			return providerAppOf(app), err
		})
	v1.AddIn(api, group.With("GET", base, "listProviderApps", "List the OAuth applications"),
		func(ctx context.Context, org catalog.OrgID, _ *v1.OrgPath) (providerAppList, error) {
			list, err := apps.List(ctx, org)
			return providerAppList{v1.Map(list, providerAppOf)}, err
		})
	v1.AddIn(api, group.With("GET", base+"/{provider}", "getProviderApp", "Get an OAuth application"),
		func(ctx context.Context, org catalog.OrgID, in *ProviderPath) (providerApp, error) {
			app, err := apps.Get(ctx, org, in.Provider)
			return providerAppOf(app), err
		})
	v1.AddIn(api, group.With("DELETE", base+"/{provider}", "deleteProviderApp", "Remove an OAuth application").
		Describe("The links of all members to it end, too."),
		func(ctx context.Context, org catalog.OrgID, in *ProviderPath) (v1.Empty, error) {
			return v1.Empty{}, apps.Delete(ctx, org, in.Provider)
		})
}
