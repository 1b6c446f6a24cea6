package analysis

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/analysis"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

type analysisProvider struct {
	Family    string  `json:"family" enum:"familyA,familyB,familyC"`
	BaseURL   *string `json:"baseUrl" doc:"null for the address that the operator has set, or that of the vendor"`
	CreatedAt *string `json:"createdAt"`
	UpdatedAt *string `json:"updatedAt"`
}

func providerOf(p catalog.AnalysisProvider) analysisProvider {
	return analysisProvider{
		Family: string(p.Family), BaseURL: v1.Pointer(p.BaseURL), CreatedAt: v1.Timestamp(p.CreatedAt), UpdatedAt: v1.Timestamp(p.UpdatedAt),
	}
}

type analysisProviderList struct {
	AnalysisProviders []analysisProvider `json:"analysisProviders"`
}

// ProviderPath holds the path parameters of an organisation's access to a family of models.
type ProviderPath struct {
	v1.OrgPath
	Family string `path:"family" maxLength:"64"`
}

type putProviderInput struct {
	ProviderPath
	Body struct {
		Key     string `json:"key" maxLength:"4096" writeOnly:"true" doc:"The key of the vendor's API. Stored encrypted and never returned"`
		BaseURL string `json:"baseUrl,omitempty" maxLength:"2048" doc:"Another address of the vendor's API: https, with a public address"`
	}
}

// ProviderRoutes registers the routes of an organisation's access to models.
func ProviderRoutes(api huma.API, providers analysis.Providers) {
	const base = "/v1/organisations/{org_id}/analysis-providers"
	group := v1.Route{Tag: "Analysis", Scope: auth.ScopeOrgUpdate, Camel: true}
	v1.AddIn(api, group.With("PUT", base+"/{family}", "putAnalysisProvider", "Set or replace the key of a family of models").
		Describe("Each call sets key and address together. The key is stored encrypted and never returned. It replaces the operator's key for "+
			"this organisation. Values of rows are sent to a model only while the feature analysis_models is on."),
		func(ctx context.Context, org catalog.OrgID, in *putProviderInput) (analysisProvider, error) {
			stored, err := providers.Put(ctx, org, analysis.NewProvider{Family: in.Family, Key: in.Body.Key, BaseURL: in.Body.BaseURL})
			return providerOf(stored), err
		})
	v1.AddIn(api, group.With("GET", base, "listAnalysisProviders", "List the families of models with a key of the organisation"),
		func(ctx context.Context, org catalog.OrgID, _ *v1.OrgPath) (analysisProviderList, error) {
			list, err := providers.List(ctx, org)
			return analysisProviderList{v1.Map(list, providerOf)}, err
		})
	v1.AddIn(api, group.With("GET", base+"/{family}", "getAnalysisProvider", "Get the access to a family of models"),
		func(ctx context.Context, org catalog.OrgID, in *ProviderPath) (analysisProvider, error) {
			found, err := providers.Get(ctx, org, in.Family)
			return providerOf(found), err
		})
	v1.AddIn(api, group.With("DELETE", base+"/{family}", "deleteAnalysisProvider", "Remove the key of a family of models").
		Describe("The operator's key is used again, if there is one."),
		func(ctx context.Context, org catalog.OrgID, in *ProviderPath) (v1.Empty, error) {
			return v1.Empty{}, providers.Delete(ctx, org, in.Family)
		})
}
