package v1

import (
	"context"
	"encoding/json"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/admin"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

type auditEntry struct {
	ID        string          `json:"id" format:"uuid"`
	At        *string         `json:"at"`
	UserID    *string         `json:"userId"`
	KeyID     *string         `json:"keyId"`
	Action    string          `json:"action"`
	Resource  string          `json:"resource"`
	Outcome   string          `json:"outcome" enum:"allow,deny,error"`
	RequestID string          `json:"requestId"`
	Remote    string          `json:"remote" doc:"Address of the client; empty for work without one"`
	Details   json.RawMessage `json:"details,omitempty"`
}

type auditList struct {
	Entries       []auditEntry `json:"entries"`
	NextPageToken string       `json:"nextPageToken,omitempty"`
}

type auditInput struct {
	OrgPath
	Page
	Since     time.Time `query:"since" doc:"Inclusive"`
	Until     time.Time `query:"until" doc:"Exclusive"`
	UserID    string    `query:"user_id" format:"uuid"`
	KeyID     string    `query:"key_id" format:"uuid"`
	Action    string    `query:"action" maxLength:"100"`
	Resource  string    `query:"resource" maxLength:"1024"`
	Outcome   string    `query:"outcome" enum:"allow,deny,error"`
	RequestID string    `query:"request_id" maxLength:"200"`
}

func auditEntryOf(a catalog.AuditEntry) auditEntry {
	return auditEntry{
		ID: string(a.ID), At: timestamp(a.At), UserID: pointer(a.User), KeyID: pointer(a.Key), Action: a.Action,
		Resource: a.Resource, Outcome: string(a.Outcome), RequestID: a.RequestID, Remote: a.Remote, Details: a.Details,
	}
}

// AuditRoutes registers the route of the audit log.
func AuditRoutes(api huma.API, log admin.AuditLog) {
	add(api, route{method: "GET", path: "/v1/organisations/{org_id}/audit", id: "listAudit", tag: "Organisations", scope: auth.ScopeOrgUpdate, camel: true,
		summary: "Read the audit log", description: "Newest first. Every allow, deny and write; never values of rows."},
		func(ctx context.Context, in *auditInput) (auditList, error) {
			org, err := orgID(in.OrgID)
			if err != nil {
				return auditList{}, err
			}
			list, err := log.List(ctx, org, catalog.AuditFilter{
				Since: in.Since, Until: in.Until, User: catalog.UserID(in.UserID), Key: catalog.KeyID(in.KeyID),
				Action: in.Action, Resource: in.Resource, Outcome: catalog.Outcome(in.Outcome), RequestID: in.RequestID,
			}, in.page())
			return auditList{Entries: convert(list.Items, auditEntryOf), NextPageToken: list.Next}, err
		})
}
