package analysis

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/analysis"
	v1 "github.com/lakewarden/lakewarden/api/v1"
)

type analysisModel struct {
	ID          string `json:"id"`
	Family      string `json:"family" enum:"familyA,familyB,familyC"`
	Description string `json:"description"`
	IsDefault   bool   `json:"isDefault" doc:"Whether the model is the default of its family"`
	Available   bool   `json:"available" doc:"Whether the organisation or the operator has a key of the family"`
}

func modelOf(m analysis.Model) analysisModel {
	return analysisModel{ID: m.ID, Family: string(m.Family), Description: m.Description, IsDefault: m.Default, Available: m.Available}
}

type analysisModelList struct {
	Models []analysisModel `json:"models"`
}

// ModelRoutes registers the route that lists the models.
func ModelRoutes(api huma.API, models func(ctx context.Context) ([]analysis.Model, error)) {
	route := v1.Route{
		Method: "GET", Path: "/v1/analysis/models", ID: "listAnalysisModels", Tag: "Analysis", Camel: true,
		Summary: "List the models that can word an analysis",
	}
	v1.Add(api, route, func(ctx context.Context, _ *v1.NoInput) (analysisModelList, error) {
		list, err := models(ctx)
		return analysisModelList{v1.Map(list, modelOf)}, err
	})
}
