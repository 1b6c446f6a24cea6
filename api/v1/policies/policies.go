package policies

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/admin"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// Policy is a policy as replies contain it.
type Policy struct {
	ID         string                        `json:"id" format:"uuid"`
	TableFqn   *string                       `json:"tableFqn" doc:"null for a policy of every table"`
	TableID    *string                       `json:"tableId"`
	ColumnName *string                       `json:"columnName"`
	Kind       string                        `json:"kind" enum:"rls,cls,mask" doc:"rls filters rows, cls hides the column, mask masks it"`
	PolicyText string                        `json:"policyText" doc:"The policy in Cedar"`
	Definition v1.Nullable[policyDefinition] `json:"definition" doc:"The policy as a tree; null for a text that has none"`
	Enabled    bool                          `json:"enabled"`
	Version    int64                         `json:"version" doc:"Sent back as expectedVersion"`
	CreatedAt  *string                       `json:"createdAt"`
	UpdatedAt  *string                       `json:"updatedAt"`
}

func policyOf(v admin.PolicyView) Policy {
	return Policy{
		ID: string(v.ID), TableFqn: v1.Pointer(v.TableFQN), TableID: v1.Pointer(v.Table), ColumnName: v1.Pointer(v.Column), Kind: string(v.Kind),
		PolicyText: v.Text, Definition: definitionOf(v.Definition), Enabled: v.Enabled, Version: v.Version,
		CreatedAt: v1.Timestamp(v.CreatedAt), UpdatedAt: v1.Timestamp(v.UpdatedAt),
	}
}

// warning is a part of a policy that decides less about the rows of some tables than it seems to.
type warning struct {
	PolicyID   string   `json:"policyId" format:"uuid"`
	Code       string   `json:"code" enum:"wrong_type,out_of_range,missing_column,not_checked"`
	ColumnName *string  `json:"columnName"`
	Message    string   `json:"message"`
	Tables     []string `json:"tables" doc:"The names of the first 100 tables that it is about"`
	TableCount int      `json:"tableCount"`
}

func warningOf(w admin.PolicyWarning) warning {
	return warning{PolicyID: string(w.Policy), Code: w.Code, ColumnName: v1.Pointer(w.Column), Message: w.Message,
		Tables: append([]string{}, w.Tables...), TableCount: w.Count}
}

// writtenPolicy is a policy that was just written.
type writtenPolicy struct {
	Policy
	Warnings []warning `json:"warnings" doc:"Tests that decide less than they seem to, on the tables that the caller sees"`
}

func writtenOf(v admin.PolicyView) writtenPolicy {
	return writtenPolicy{Policy: policyOf(v), Warnings: v1.Map(v.Warnings, warningOf)}
}

type policyList struct {
	Policies      []Policy `json:"policies"`
	NextPageToken string   `json:"nextPageToken,omitempty"`
}

// PolicyBody is the whole content of a policy. The policy compiler decodes the
// definition, because its errors are more precise.
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
		TableFQN: v1.Text(b.TableFqn), TableID: v1.Text(b.TableID), ColumnName: v1.Text(b.ColumnName), Kind: b.Kind,
		Text: v1.Text(b.PolicyText), Definition: notNull(b.Definition), Enabled: b.Enabled == nil || *b.Enabled,
	}
}

// notNull returns raw, or nil for a JSON null.
func notNull(raw json.RawMessage) json.RawMessage {
	if strings.TrimSpace(string(raw)) == "null" {
		return nil
	}
	return raw
}

// Expected is the version that the caller knows, from the body or If-Match.
type Expected struct {
	IfMatch string `header:"If-Match" maxLength:"64" doc:"The version in quotes, instead of expectedVersion"`
}

func (e Expected) version(body *int64) (int64, error) {
	if body != nil {
		if *body < 1 {
			return 0, v1.FieldError("expectedVersion", "must be at least 1")
		}
		return *body, nil
	}
	if e.IfMatch == "" {
		return 0, v1.FieldError("expectedVersion", "is required")
	}
	n, err := strconv.ParseInt(strings.Trim(e.IfMatch, `"`), 10, 64)
	if err != nil || n < 1 {
		return 0, v1.FieldError("If-Match", "must be the version in quotes")
	}
	return n, nil
}

type createPolicyInput struct {
	v1.OrgPath
	Body PolicyBody
}

// PolicyPath holds the path parameters of a policy.
type PolicyPath struct {
	v1.OrgPath
	ID string `path:"id" format:"uuid"`
}

// IDs parses the ids of the organisation and the policy.
func (in PolicyPath) IDs() (catalog.OrgID, catalog.PolicyID, error) {
	org, err := v1.OrgID(in.OrgID)
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
		ExpectedVersion *int64              `json:"expectedVersion,omitempty"`
		TableFqn        v1.Optional[string] `json:"tableFqn,omitempty"`
		TableID         v1.Optional[string] `json:"tableId,omitempty"`
		ColumnName      v1.Optional[string] `json:"columnName,omitempty"`
		Kind            *string             `json:"kind,omitempty" enum:"rls,cls,mask"`
		PolicyText      v1.Optional[string] `json:"policyText,omitempty"`
		Definition      json.RawMessage     `json:"definition,omitempty"`
		Enabled         *bool               `json:"enabled,omitempty"`
	}
}

// patch returns the patch. It refuses null for a field, because only PUT can clear one.
func (in *patchPolicyInput) patch() (admin.PolicyPatch, error) {
	b := in.Body
	p := admin.PolicyPatch{Kind: b.Kind, Definition: notNull(b.Definition), Enabled: b.Enabled}
	if len(b.Definition) > 0 && p.Definition == nil {
		return p, v1.FieldError("definition", "must not be null")
	}
	for _, f := range []struct {
		name string
		sent v1.Optional[string]
		to   **string
	}{
		{"tableFqn", b.TableFqn, &p.TableFQN}, {"tableId", b.TableID, &p.TableID},
		{"columnName", b.ColumnName, &p.ColumnName}, {"policyText", b.PolicyText, &p.Text},
	} {
		if f.sent.Null || (f.sent.Sent && f.sent.Value == "") {
			return p, v1.FieldError(f.name, "can only be cleared by PUT")
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
	v1.OrgPath
	v1.Page
	TableFqn string `query:"tableFqn" maxLength:"1024"`
	TableID  string `query:"tableId" maxLength:"256"`
}

// Routes registers the routes of policies.
func Routes(api huma.API, policies admin.Policies, simulation admin.Simulation) {
	const base = "/v1/organisations/{org_id}/policies"
	read := v1.Route{Tag: "Policies", Scope: auth.ScopePoliciesRead, Camel: true}
	write := v1.Route{Tag: "Policies", Scope: auth.ScopePoliciesWrite, Camel: true}

	v1.AddIn(api, write.With("POST", base, "createPolicy", "Create a policy").As201(),
		func(ctx context.Context, org catalog.OrgID, in *createPolicyInput) (writtenPolicy, error) {
			v, err := policies.Create(ctx, org, in.Body.input())
			return writtenOf(v), err
		})
	v1.AddIn(api, read.With("GET", base, "listPolicies", "List policies"),
		func(ctx context.Context, org catalog.OrgID, in *listPoliciesInput) (policyList, error) {
			list, err := policies.List(ctx, org, in.TableFqn, in.TableID, in.Page.Catalog())
			return policyList{Policies: v1.Map(list.Items, policyOf), NextPageToken: list.Next}, err
		})
	v1.AddOne(api, read.With("GET", base+"/{id}", "getPolicy", "Fetch a policy"),
		func(ctx context.Context, org catalog.OrgID, id catalog.PolicyID, _ *PolicyPath) (Policy, error) {
			v, err := policies.Get(ctx, org, id)
			return policyOf(v), err
		})
	v1.AddOne(api, write.With("PUT", base+"/{id}", "replacePolicy", "Replace a policy"),
		func(ctx context.Context, org catalog.OrgID, id catalog.PolicyID, in *putPolicyInput) (writtenPolicy, error) {
			version, err := in.version(in.Body.ExpectedVersion)
			if err != nil {
				return writtenPolicy{}, err
			}
			v, err := policies.Replace(ctx, org, id, version, in.Body.input())
			return writtenOf(v), err
		})
	v1.AddOne(api, write.With("PATCH", base+"/{id}", "updatePolicy", "Update a policy"),
		func(ctx context.Context, org catalog.OrgID, id catalog.PolicyID, in *patchPolicyInput) (writtenPolicy, error) {
			version, err := in.version(in.Body.ExpectedVersion)
			if err != nil {
				return writtenPolicy{}, err
			}
			patch, err := in.patch()
			if err != nil {
				return writtenPolicy{}, err
			}
			v, err := policies.Patch(ctx, org, id, version, patch)
			return writtenOf(v), err
		})
	v1.AddOne(api, write.With("DELETE", base+"/{id}", "deletePolicy", "Delete a policy"),
		func(ctx context.Context, org catalog.OrgID, id catalog.PolicyID, in *deletePolicyInput) (v1.Empty, error) {
			var sent *int64
			if in.ExpectedVersion > 0 {
				sent = &in.ExpectedVersion
			}
			version, err := in.version(sent)
			if err != nil {
				return v1.Empty{}, err
			}
			return v1.Empty{}, policies.Delete(ctx, org, id, version)
		})
	policyHistoryRoute(api, read, policies)
	simulationRoutes(api, write, simulation)
}
