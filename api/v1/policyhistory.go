package v1

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/admin"
	"github.com/lakewarden/lakewarden/catalog"
)

type policyRevision struct {
	Version    int64                      `json:"version"`
	Action     string                     `json:"action" enum:"create,update,delete"`
	TableID    *string                    `json:"tableId"`
	ColumnName *string                    `json:"columnName"`
	Kind       string                     `json:"kind"`
	PolicyText string                     `json:"policyText"`
	Definition nullable[policyDefinition] `json:"definition"`
	Enabled    bool                       `json:"enabled"`
	ChangedBy  *string                    `json:"changedBy"`
	ChangedAt  *string                    `json:"changedAt"`
}

type policyHistory struct {
	Revisions     []policyRevision `json:"revisions"`
	NextPageToken string           `json:"nextPageToken,omitempty"`
}

type policyHistoryInput struct {
	PolicyPath
	Page
}

func policyRevisionOf(r catalog.PolicyRevision) policyRevision {
	return policyRevision{
		Version: r.Version, Action: string(r.Action), TableID: pointer(r.Table), ColumnName: pointer(r.Column), Kind: string(r.Kind),
		PolicyText: r.Text, Definition: definitionOf(r.Definition), Enabled: r.Enabled, ChangedBy: pointer(r.By), ChangedAt: timestamp(r.At),
	}
}

func policyHistoryRoute(api huma.API, read route, policies admin.Policies) {
	add(api, read.with("GET", "/v1/organisations/{org_id}/policies/{id}/history", "listPolicyHistory", "List the revisions of a policy"),
		func(ctx context.Context, in *policyHistoryInput) (policyHistory, error) {
			org, id, err := in.ids()
			if err != nil {
				return policyHistory{}, err
			}
			list, err := policies.History(ctx, org, id, in.page())
			return policyHistory{Revisions: convert(list.Items, policyRevisionOf), NextPageToken: list.Next}, err
		})
}
