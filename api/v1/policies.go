package v1

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/admin"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

type policy struct {
	ID         string                     `json:"id" format:"uuid"`
	TableFqn   *string                    `json:"tableFqn" doc:"null for a policy of every table"`
	TableID    *string                    `json:"tableId"`
	ColumnName *string                    `json:"columnName"`
	Kind       string                     `json:"kind" enum:"rls,cls,mask" doc:"rls filters rows, cls hides the column, mask masks it"`
	PolicyText string                     `json:"policyText" doc:"The policy in Cedar"`
	Definition nullable[policyDefinition] `json:"definition" doc:"The policy as a tree; null for a text that has none"`
	Enabled    bool                       `json:"enabled"`
	Version    int64                      `json:"version" doc:"Sent back as expectedVersion"`
	CreatedAt  *string                    `json:"createdAt"`
	UpdatedAt  *string                    `json:"updatedAt"`
}

func policyOf(v admin.PolicyView) policy {
	return policy{
		ID: string(v.ID), TableFqn: pointer(v.TableFQN), TableID: pointer(v.Table), ColumnName: pointer(v.Column), Kind: string(v.Kind),
		PolicyText: v.Text, Definition: definitionOf(v.Definition), Enabled: v.Enabled, Version: v.Version,
		CreatedAt: timestamp(v.CreatedAt), UpdatedAt: timestamp(v.UpdatedAt),
	}
}

type policyList struct {
	Policies      []policy `json:"policies"`
	NextPageToken string   `json:"nextPageToken,omitempty"`
}

// PolicyBody is the whole content of a policy. Its definition is decoded by the
// policy compiler, which says precisely what is wrong with it.
type PolicyBody struct {
	TableFqn   *string         `json:"tableFqn,omitempty" nullable:"true" minLength:"1" maxLength:"1024"`
	TableID    *string         `json:"tableId,omitempty" nullable:"true" minLength:"1" maxLength:"256"`
	ColumnName *string         `json:"columnName,omitempty" nullable:"true" minLength:"1" maxLength:"255" doc:"Required for cls and mask"`
	Kind       string          `json:"kind,omitempty" enum:"rls,cls,mask" default:"rls" doc:"rls filters rows. cls and mask hide or mask columnName: a permit says who sees it clear, a forbid who does not"`
	PolicyText *string         `json:"policyText,omitempty" nullable:"true" minLength:"1" maxLength:"65536"`
	Definition json.RawMessage `json:"definition,omitempty" doc:"The policy as a tree, instead of policyText; what is null may be left out"`
	Enabled    *bool           `json:"enabled,omitempty" doc:"Default: true"`
}

func (b PolicyBody) input() admin.PolicyInput {
	return admin.PolicyInput{
		TableFQN: text(b.TableFqn), TableID: text(b.TableID), ColumnName: text(b.ColumnName), Kind: b.Kind,
		Text: text(b.PolicyText), Definition: notNull(b.Definition), Enabled: b.Enabled == nil || *b.Enabled,
	}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// notNull drops a JSON null.
func notNull(raw json.RawMessage) json.RawMessage {
	if strings.TrimSpace(string(raw)) == "null" {
		return nil
	}
	return raw
}

// Expected is the version that the caller has seen, from the body or If-Match.
type Expected struct {
	IfMatch string `header:"If-Match" maxLength:"64" doc:"The version in quotes, instead of expectedVersion"`
}

func (e Expected) version(body *int64) (int64, error) {
	if body != nil {
		if *body < 1 {
			return 0, fieldError("expectedVersion", "must be at least 1")
		}
		return *body, nil
	}
	if e.IfMatch == "" {
		return 0, fieldError("expectedVersion", "is required")
	}
	n, err := strconv.ParseInt(strings.Trim(e.IfMatch, `"`), 10, 64)
	if err != nil || n < 1 {
		return 0, fieldError("If-Match", "must be the version in quotes")
	}
	return n, nil
}

type createPolicyInput struct {
	OrgPath
	Body PolicyBody
}

// PolicyPath names a policy.
type PolicyPath struct {
	OrgPath
	ID string `path:"id" format:"uuid"`
}

func (in PolicyPath) ids() (catalog.OrgID, catalog.PolicyID, error) {
	org, err := orgID(in.OrgID)
	if err != nil {
		return "", "", err
	}
	id, err := catalog.ParseID[catalog.PolicyID](in.ID)
	return org, id, err
}

type putPolicyInput struct {
	PolicyPath
	Expected
	Body struct {
		PolicyBody
		ExpectedVersion *int64 `json:"expectedVersion,omitempty"`
	}
}

type patchPolicyInput struct {
	PolicyPath
	Expected
	Body struct {
		ExpectedVersion *int64           `json:"expectedVersion,omitempty"`
		TableFqn        optional[string] `json:"tableFqn,omitempty"`
		TableID         optional[string] `json:"tableId,omitempty"`
		ColumnName      optional[string] `json:"columnName,omitempty"`
		Kind            *string          `json:"kind,omitempty" enum:"rls,cls,mask"`
		PolicyText      optional[string] `json:"policyText,omitempty"`
		Definition      json.RawMessage  `json:"definition,omitempty"`
		Enabled         *bool            `json:"enabled,omitempty"`
	}
}

// patch refuses to clear a field: that needs the whole content.
func (in *patchPolicyInput) patch() (admin.PolicyPatch, error) {
	b := in.Body
	p := admin.PolicyPatch{Kind: b.Kind, Definition: notNull(b.Definition), Enabled: b.Enabled}
	if len(b.Definition) > 0 && p.Definition == nil {
		return p, fieldError("definition", "must not be null")
	}
	for _, f := range []struct {
		name string
		sent optional[string]
		to   **string
	}{
		{"tableFqn", b.TableFqn, &p.TableFQN}, {"tableId", b.TableID, &p.TableID},
		{"columnName", b.ColumnName, &p.ColumnName}, {"policyText", b.PolicyText, &p.Text},
	} {
		if f.sent.Null || (f.sent.Sent && f.sent.Value == "") {
			return p, fieldError(f.name, "can only be cleared by PUT")
		}
		if f.sent.Sent {
			*f.to = &f.sent.Value
		}
	}
	return p, nil
}

type deletePolicyInput struct {
	PolicyPath
	Expected
	ExpectedVersion int64 `query:"expectedVersion" minimum:"1"`
}

type listPoliciesInput struct {
	OrgPath
	Page
	TableFqn string `query:"tableFqn" maxLength:"1024"`
	TableID  string `query:"tableId" maxLength:"256"`
}

// PolicyRoutes registers the routes of policies.
func PolicyRoutes(api huma.API, policies admin.Policies, simulation admin.Simulation) {
	const base = "/v1/organisations/{org_id}/policies"
	read := route{tag: "Policies", scope: auth.ScopePoliciesRead, camel: true}
	write := route{tag: "Policies", scope: auth.ScopePoliciesWrite, camel: true}

	add(api, write.with("POST", base, "createPolicy", "Create a policy").as201(), func(ctx context.Context, in *createPolicyInput) (policy, error) {
		org, err := orgID(in.OrgID)
		if err != nil {
			return policy{}, err
		}
		v, err := policies.Create(ctx, org, in.Body.input())
		return policyOf(v), err
	})
	add(api, read.with("GET", base, "listPolicies", "List policies"), func(ctx context.Context, in *listPoliciesInput) (policyList, error) {
		org, err := orgID(in.OrgID)
		if err != nil {
			return policyList{}, err
		}
		list, err := policies.List(ctx, org, in.TableFqn, in.TableID, in.page())
		return policyList{Policies: convert(list.Items, policyOf), NextPageToken: list.Next}, err
	})
	add(api, read.with("GET", base+"/{id}", "getPolicy", "Fetch a policy"), func(ctx context.Context, in *PolicyPath) (policy, error) {
		org, id, err := in.ids()
		if err != nil {
			return policy{}, err
		}
		v, err := policies.Get(ctx, org, id)
		return policyOf(v), err
	})
	add(api, write.with("PUT", base+"/{id}", "replacePolicy", "Replace a policy"), func(ctx context.Context, in *putPolicyInput) (policy, error) {
		org, id, err := in.ids()
		if err != nil {
			return policy{}, err
		}
		version, err := in.version(in.Body.ExpectedVersion)
		if err != nil {
			return policy{}, err
		}
		v, err := policies.Replace(ctx, org, id, version, in.Body.input())
		return policyOf(v), err
	})
	add(api, write.with("PATCH", base+"/{id}", "updatePolicy", "Update a policy"), func(ctx context.Context, in *patchPolicyInput) (policy, error) {
		org, id, err := in.ids()
		if err != nil {
			return policy{}, err
		}
		version, err := in.version(in.Body.ExpectedVersion)
		if err != nil {
			return policy{}, err
		}
		patch, err := in.patch()
		if err != nil {
			return policy{}, err
		}
		v, err := policies.Patch(ctx, org, id, version, patch)
		return policyOf(v), err
	})
	add(api, write.with("DELETE", base+"/{id}", "deletePolicy", "Delete a policy"), func(ctx context.Context, in *deletePolicyInput) (empty, error) {
		org, id, err := in.ids()
		if err != nil {
			return empty{}, err
		}
		var sent *int64
		if in.ExpectedVersion > 0 {
			sent = &in.ExpectedVersion
		}
		version, err := in.version(sent)
		if err != nil {
			return empty{}, err
		}
		return empty{}, policies.Delete(ctx, org, id, version)
	})
	policyHistoryRoute(api, read, policies)
	simulationRoutes(api, write, simulation)
}
