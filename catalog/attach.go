package catalog

import (
	"context"
	"time"
)

// Attach is a move of a storage configuration into a workspace. The attacher can undo it
// until its window ends or the configuration is attached again.
type Attach struct {
	// Config is the configuration as it is now.
	Config StorageConfig
	// By is the attacher.
	By UserID
	// PreviousOwner and PreviousWorkspace are what an undo restores. The workspace is empty
	// if the configuration was personal.
	PreviousOwner     UserID
	PreviousWorkspace WorkspaceID
	// UndoUntil is the end of the window.
	UndoUntil time.Time
}

// NewAttach is the input of [Sharing.AttachStorageConfig].
type NewAttach struct {
	Workspace WorkspaceID
	By        UserID
	// Window is how long the attach can be undone.
	Window time.Duration
}

// Validate returns nil or [FieldErrors].
func (n NewAttach) Validate() error {
	var e FieldErrors
	if n.Workspace == "" {
		e.add("workspace_id", "must not be empty")
	}
	if n.By == "" {
		e.add("attached_by", "must not be empty")
	}
	if n.Window < 0 {
		e.add("undo_window", "must not be negative")
	}
	return e.Err()
}

// Sharing attaches storage configurations to workspaces. Tables, policies, domains and
// credentials of a configuration do not change with its workspace.
type Sharing interface {
	// AttachStorageConfig moves a configuration into another workspace. The owner remains.
	// It ends the window of an earlier attach of the configuration. It returns
	// [ErrWorkspaceNotFound], [ErrAttached] and [ErrSandbox].
	AttachStorageConfig(ctx context.Context, viewer Viewer, config ConfigID, attach NewAttach) (Attach, error)
	// AttachToUndo returns the attach that UndoAttach would undo, or the error that it would
	// return.
	AttachToUndo(ctx context.Context, viewer Viewer, config ConfigID, by UserID) (Attach, error)
	// UndoAttach restores the owner and the workspace that a configuration had before its
	// attach, and returns it, even if the viewer does not see it any more. It returns
	// [ErrDenied] with the reason not_attacher for a user who never attached the
	// configuration, [ErrUndoClosed] and [ErrUndoExpired].
	UndoAttach(ctx context.Context, viewer Viewer, config ConfigID, by UserID) (StorageConfig, error)
	// TakeStorageConfig makes a member the owner of a configuration in a workspace, and raises the
	// configuration's version, so that clients cached with the rights of the former owner are
	// recognised as outdated. An undo that leads to another workspace keeps the new owner, one that
	// makes the configuration personal again restores the owner of then. It returns [ErrNotFound] for
	// a personal configuration, and [ErrSandbox].
	TakeStorageConfig(ctx context.Context, viewer Viewer, config ConfigID, expectedVersion int64, by UserID) (StorageConfig, error)
}
