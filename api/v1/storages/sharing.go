package storages

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/storage"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
)

type attachInput struct {
	ConfigPath
	Body struct {
		WorkspaceID string `json:"workspaceId" format:"uuid" doc:"The default workspace shares the configuration with the whole organisation"`
	}
}

type attached struct {
	ConfigID            string  `json:"configId" format:"uuid"`
	ConfigName          string  `json:"configName"`
	WorkspaceID         string  `json:"workspaceId" format:"uuid"`
	PreviousWorkspaceID *string `json:"previousWorkspaceId" doc:"null if the configuration was personal"`
	UndoExpiresAt       *string `json:"undoExpiresAt"`
	Message             string  `json:"message"`
}

type attachUndone struct {
	ConfigID    string  `json:"configId" format:"uuid"`
	ConfigName  string  `json:"configName"`
	WorkspaceID *string `json:"workspaceId" doc:"null if the configuration is personal again"`
	OwnerUserID string  `json:"ownerUserId" format:"uuid"`
	Message     string  `json:"message"`
}

// SharingRoutes registers the attach of configurations to workspaces, and its undo.
func SharingRoutes(api huma.API, sharing storage.Sharing) {
	share := v1.Route{Tag: "Storage", Scope: auth.ScopeStorageConfigsShare, Camel: true, Local: true}
	v1.Add(api, share.With("POST", "/v1/storages/configs/{config_id}/attach", "attachStorageConfig",
		"Attach a storage configuration to a workspace").
		Describe("Members of the workspace see its tables at once, and those who lose them are interrupted. A personal configuration is "+
			"attached by its owner, one of a workspace by a builder or administrator of both workspaces. The id, tables, policies and domains "+
			"stay."),
		func(ctx context.Context, in *attachInput) (attached, error) {
			id, err := in.id()
			if err != nil {
				return attached{}, err
			}
			done, err := sharing.Attach(ctx, id, in.Body.WorkspaceID)
			if err != nil {
				return attached{}, err
			}
			return attached{
				ConfigID: string(id), ConfigName: done.Config.Name, WorkspaceID: string(done.Config.Workspace),
				PreviousWorkspaceID: v1.Pointer(done.PreviousWorkspace), UndoExpiresAt: v1.Timestamp(done.UndoUntil),
				Message: "The configuration belongs to the workspace now. Until undoExpiresAt you can undo this.",
			}, nil
		})
	v1.Add(api, share.With("POST", "/v1/storages/configs/{config_id}/promote-undo", "undoAttachStorageConfig",
		"Undo the attach of a storage configuration").
		Describe("Restores its owner and workspace. Only the user who attached it can do so, until the window ends or it is attached again. "+
			"What was made in the meantime stays."),
		func(ctx context.Context, in *ConfigPath) (attachUndone, error) {
			id, err := in.id()
			if err != nil {
				return attachUndone{}, err
			}
			restored, err := sharing.Undo(ctx, id)
			if err != nil {
				return attachUndone{}, err
			}
			message := "The configuration is personal again."
			if !restored.Personal() {
				message = "The configuration is back in its former workspace."
			}
			return attachUndone{
				ConfigID: string(id), ConfigName: restored.Name, WorkspaceID: v1.Pointer(restored.Workspace),
				OwnerUserID: string(restored.Owner), Message: message,
			}, nil
		})
}
