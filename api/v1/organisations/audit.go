package organisations

import (
	"context"
	"encoding/json"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/admin"
	v1 "github.com/lakewarden/lakewarden/api/v1"
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
	v1.OrgPath
	v1.Page
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
		ID: string(a.ID), At: v1.Timestamp(a.At), UserID: v1.Pointer(a.User), KeyID: v1.Pointer(a.Key), Action: a.Action,
		Resource: a.Resource, Outcome: string(a.Outcome), RequestID: a.RequestID, Remote: a.Remote, Details: a.Details,
	}
}

// AuditRoutes registers the route of the audit log.
func AuditRoutes(api huma.API, log admin.AuditLog) {
	v1.AddIn(api, v1.Route{Method: "GET", Path: "/v1/organisations/{org_id}/audit", ID: "listAudit", Tag: "Organisations",
		Scope: auth.ScopeOrgUpdate, Camel: true,
		Summary: "Read the audit log", Description: "Newest first. Every allow, deny and write; never values of rows."},
		func(ctx context.Context, org catalog.OrgID, in *auditInput) (auditList, error) {
			list, err := log.List(ctx, org, catalog.AuditFilter{
				Since: in.Since, Until: in.Until, User: catalog.UserID(in.UserID), Key: catalog.KeyID(in.KeyID),
				Action: in.Action, Resource: in.Resource, Outcome: catalog.Outcome(in.Outcome), RequestID: in.RequestID,
			}, in.Page.Catalog())
			return auditList{Entries: v1.Map(list.Items, auditEntryOf), NextPageToken: list.Next}, err
		})
}
