package policies

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/admin"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/catalog"
)

type policyRevision struct {
	Version    int64                         `json:"version"`
	Action     string                        `json:"action" enum:"create,update,delete"`
	TableID    *string                       `json:"tableId"`
	ColumnName *string                       `json:"columnName"`
	Kind       string                        `json:"kind"`
	PolicyText string                        `json:"policyText"`
	Definition v1.Nullable[policyDefinition] `json:"definition"`
	Enabled    bool                          `json:"enabled"`
	ChangedBy  *string                       `json:"changedBy"`
	ChangedAt  *string                       `json:"changedAt"`
}

type policyHistory struct {
	Revisions     []policyRevision `json:"revisions"`
	NextPageToken string           `json:"nextPageToken,omitempty"`
}

type policyHistoryInput struct {
	PolicyPath
	v1.Page
}

func policyRevisionOf(r catalog.PolicyRevision) policyRevision {
	return policyRevision{
		Version: r.Version, Action: string(r.Action), TableID: v1.Pointer(r.Table), ColumnName: v1.Pointer(r.Column), Kind: string(r.Kind),
		PolicyText: r.Text, Definition: definitionOf(r.Definition), Enabled: r.Enabled, ChangedBy: v1.Pointer(r.By),
		ChangedAt: v1.Timestamp(r.At),
	}
}

func policyHistoryRoute(api huma.API, read v1.Route, policies admin.Policies) {
	v1.AddOne(api, read.With("GET", "/v1/organisations/{org_id}/policies/{id}/history", "listPolicyHistory", "List the revisions of a policy"),
		func(ctx context.Context, org catalog.OrgID, id catalog.PolicyID, in *policyHistoryInput) (policyHistory, error) {
			list, err := policies.History(ctx, org, id, in.Page.Catalog())
			return policyHistory{Revisions: v1.Map(list.Items, policyRevisionOf), NextPageToken: list.Next}, err
		})
}
