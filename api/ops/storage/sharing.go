package storage

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/feature"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// Sharing attaches storage configurations to workspaces.
type Sharing struct {
	Store  sharingStore
	Tables access.Tables
	Audit  recorder
	// Window is how long an attach can be undone.
	Window time.Duration
	// Refresh starts a discovery of a configuration's tables. It does not block.
	Refresh func(catalog.StorageConfig)
}

type sharingStore interface {
	catalog.Sharing
	Organisation(ctx context.Context, org catalog.OrgID) (catalog.Organisation, error)
	StorageConfig(ctx context.Context, viewer catalog.Viewer, id catalog.ConfigID) (catalog.StorageConfig, error)
}

// recorder writes audit entries.
type recorder interface {
	Record(entry catalog.AuditEntry)
}

// Attach moves a configuration into a workspace. It requires storage_configs:share by the
// caller's role in the workspace and, unless the configuration is personal, in the present
// one, and the right to change every table of the configuration as a whole, because it changes
// who sees them. The feature sharing must be on. Error: access.ErrPartlyVisible.
func (o Sharing) Attach(ctx context.Context, id catalog.ConfigID, workspace string) (none catalog.Attach, err error) {
	a, err := caller.From(ctx)
	if err != nil {
		return none, err
	}
	if err := feature.Require(ctx, o.Store, a.Org, catalog.FeatureSharing); err != nil {
		return none, err
	}
	config, err := o.Store.StorageConfig(authz.System(ctx, "tables of a configuration"), a.Viewer, id)
	if err == nil {
		err = o.Tables.JudgeRegistrations(ctx, a, config.ID)
	}
	if err != nil {
		return none, err
	}
	var done catalog.Attach
	to, malformed := catalog.ParseID[catalog.WorkspaceID](workspace)
	if malformed == nil {
		done, err = o.Store.AttachStorageConfig(ctx, a.Viewer, id, catalog.NewAttach{Workspace: to, By: a.User, Window: o.Window})
	}
	switch {
	case malformed != nil, errors.Is(err, catalog.ErrWorkspaceNotFound):
		return none, fault.Invalid("workspace_id", "is not a workspace of the caller")
	case err != nil:
		return none, err
	}
	recordSharing(o.Audit, a, "storage.attached", done.Config, map[string]string{"previous_workspace_id": string(done.PreviousWorkspace)})
	o.Refresh(done.Config)
	return done, nil
}

// Undo restores the owner and the workspace that a configuration had before the caller
// attached it. The feature sharing may be off.
func (o Sharing) Undo(ctx context.Context, id catalog.ConfigID) (catalog.StorageConfig, error) {
	a, err := caller.From(ctx)
	if err != nil {
		return catalog.StorageConfig{}, err
	}
	restored, err := o.Store.UndoAttach(ctx, a.Viewer, id, a.User)
	if err == nil {
		recordSharing(o.Audit, a, "storage.attach_undone", restored, map[string]string{})
	}
	return restored, err
}

// recordSharing writes an audit entry about a configuration that has another workspace or owner now.
func recordSharing(audit recorder, a caller.Identity, action string, config catalog.StorageConfig, details map[string]string) {
	details["workspace_id"] = string(config.Workspace)
	entry := caller.NewEntry(a, action, "storage-config/"+string(config.ID), catalog.OutcomeAllow)
	entry.Details, _ = json.Marshal(details) // texts: cannot fail
	audit.Record(entry)
}
