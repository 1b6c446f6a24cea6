package authz_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// fillSharing attaches a configuration of "builder" to the default workspace.
func (f *fixture) fillSharing(ctx context.Context) {
	builder := f.users["builder"]
	f.attached = f.newConfig("", "builder", "attached")
	done, err := f.inner.AttachStorageConfig(ctx, catalog.MemberViewer(f.org, builder), f.attached.ID,
		catalog.NewAttach{Workspace: f.base, By: builder, Window: time.Hour})
	require.NoError(f, err)
	f.attached = done.Config
}

// attacher returns the user of a context, or the one who has attached a configuration.
func (f *fixture) attacher(ctx context.Context) catalog.UserID {
	if _, err := auth.PrincipalFrom(ctx); err != nil {
		return f.users["builder"]
	}
	return f.actor(ctx)
}

// attach attaches a configuration as the actor of a context.
func (f *fixture) attach(ctx context.Context, config catalog.ConfigID, to catalog.WorkspaceID) error {
	n := catalog.NewAttach{Workspace: to, By: f.attacher(ctx), Window: time.Hour}
	return drop(f.store.AttachStorageConfig(ctx, f.viewer(ctx), config, n))
}

// sharingMethods holds the cases of catalog.Sharing.
var sharingMethods = map[string]method{
	"AttachStorageConfig": {
		call: func(f *fixture, ctx context.Context) error {
			return hiddenAsDenied(ctx, f, f.attach(ctx, f.config.ID, f.space))
		},
		allowed: []string{"builder"}, denied: catalog.ErrDenied,
	},
	"AttachToUndo": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.AttachToUndo(ctx, f.viewer(ctx), f.attached.ID, f.attacher(ctx)))
		},
		allowed: []string{"builder"}, denied: catalog.ErrDenied,
	},
	"UndoAttach": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.UndoAttach(ctx, f.viewer(ctx), f.attached.ID, f.attacher(ctx)))
		},
		allowed: []string{"builder"}, denied: catalog.ErrDenied,
	},
	"TakeStorageConfig": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.TakeStorageConfig(ctx, f.viewer(ctx), f.config.ID, catalog.AnyVersion, f.attacher(ctx)))
		},
		allowed: builders, denied: catalog.ErrDenied,
	},
}

func TestTakingOverNeedsBothScopes(t *testing.T) {
	f := newFixture(t)
	take := func(who auth.Principal, config catalog.StorageConfig) error {
		return drop(f.store.TakeStorageConfig(as(who), authz.ViewerOf(who), config.ID, catalog.AnyVersion, authz.ViewerOf(who).User))
	}
	editor, curator, admin := f.people["editor"], f.people["curator"], f.people["admin"]
	require.ErrorIs(t, take(admin, f.inSpace), catalog.ErrNotFound, "not a member of the workspace")
	require.ErrorIs(t, take(admin, f.personal), catalog.ErrNotFound, "an administrator does not see it")
	missing(t, take(editor, f.config), auth.ScopeStorageConfigure)
	missing(t, take(narrow(admin, auth.ScopeStorageConfigure), f.config), auth.ScopeStorageConfigsShare)
	missing(t, take(narrow(admin, auth.ScopeStorageConfigsShare), f.config), auth.ScopeStorageConfigure)
	require.NoError(t, take(curator, f.inSpace), "an administrator of the workspace")
	require.NoError(t, take(admin, f.config))
	err := drop(f.store.TakeStorageConfig(as(admin), authz.ViewerOf(admin), f.config.ID, catalog.AnyVersion, f.users["builder"]))
	reason(t, err, "actor_mismatch")
}

func TestAttachNeedsRightsInBothWorkspaces(t *testing.T) {
	f := newFixture(t)
	attach := func(who auth.Principal, config catalog.StorageConfig, to catalog.WorkspaceID) error {
		return f.attach(as(who), config.ID, to)
	}
	builder, editor, curator, admin := f.people["builder"], f.people["editor"], f.people["curator"], f.people["admin"]
	share := auth.ScopeStorageConfigsShare

	// A personal configuration: the owner, with the scope in the target.
	require.ErrorIs(t, attach(admin, f.personal, f.base), catalog.ErrNotFound, "an administrator does not see it")
	require.ErrorIs(t, attach(editor, f.personal, f.space), catalog.ErrNotFound)
	missing(t, attach(narrow(builder, auth.ScopeStorageConfigure), f.personal, f.space), share)
	require.ErrorIs(t, attach(asKey(builder, ""), f.personal, f.space), catalog.ErrWorkspaceNotFound, "a key that does not reach the target")
	own := f.newConfig("", "editor", "of the editor")
	missing(t, attach(editor, own, f.base), share)
	require.NoError(t, attach(editor, own, f.space), "a builder in the target")
	require.NoError(t, attach(asKey(narrow(builder, share, auth.ScopeStorageRead), f.space), f.personal, f.space))

	// From workspace to workspace: the scope in both.
	missing(t, attach(editor, f.config, f.space), share)
	missing(t, attach(curator, f.inSpace, f.base), share)
	missing(t, attach(narrow(curator, auth.ScopeStorageConfigure), f.inSpace, f.empty), share)
	require.ErrorIs(t, attach(admin, f.inSpace, f.base), catalog.ErrNotFound, "not a member of the present workspace")
	require.ErrorIs(t, attach(admin, f.config, f.space), catalog.ErrWorkspaceNotFound, "not a member of the target")
	require.ErrorIs(t, attach(asKey(builder, f.space), f.inSpace, f.empty), catalog.ErrWorkspaceNotFound, "a key that does not reach the target")
	require.NoError(t, attach(curator, f.inSpace, f.empty), "an administrator of both")

	err := drop(f.store.AttachStorageConfig(as(builder), authz.ViewerOf(builder), f.config.ID,
		catalog.NewAttach{Workspace: f.space, By: f.users["editor"], Window: time.Hour}))
	reason(t, err, "actor_mismatch")
	err = drop(f.store.AttachStorageConfig(as(builder), authz.ViewerOf(builder), f.config.ID, catalog.NewAttach{By: f.users["builder"]}))
	require.ErrorIs(t, err, catalog.ErrInvalid)
}

func TestUndoIsForTheAttacherWithRightsInBothWorkspaces(t *testing.T) {
	f := newFixture(t)
	undo := func(who auth.Principal, config catalog.StorageConfig) error {
		return drop(f.store.UndoAttach(as(who), authz.ViewerOf(who), config.ID, authz.ViewerOf(who).User))
	}
	role := func(space catalog.WorkspaceID, name string, role catalog.Role) {
		_, err := f.inner.SetWorkspaceMember(t.Context(), f.org, space, f.users[name], role)
		require.NoError(t, err)
	}
	builder, editor, curator := f.people["builder"], f.people["editor"], f.people["curator"]
	reason(t, undo(f.people["owner"], f.attached), "not_attacher")
	missing(t, undo(f.people["viewer"], f.attached), auth.ScopeStorageConfigsShare)
	missing(t, undo(narrow(builder, auth.ScopeStorageConfigure), f.attached), auth.ScopeStorageConfigsShare)
	err := drop(f.store.UndoAttach(as(editor), authz.ViewerOf(editor), f.attached.ID, f.users["builder"]))
	reason(t, err, "actor_mismatch")
	require.NoError(t, undo(asKey(builder, ""), f.attached), "a key of the attacher")
	require.ErrorIs(t, undo(f.people["owner"], f.attached), catalog.ErrNotFound, "it is personal again")

	require.NoError(t, f.attach(as(curator), f.inSpace.ID, f.empty))
	reason(t, undo(editor, f.inSpace), "not_attacher")
	role(f.space, "curator", catalog.RoleEditor)
	missing(t, undo(curator, f.inSpace), auth.ScopeStorageConfigsShare)
	require.NoError(t, f.inner.RemoveWorkspaceMember(t.Context(), f.org, f.space, f.users["curator"]))
	missing(t, undo(curator, f.inSpace), auth.ScopeStorageConfigsShare)
	role(f.space, "curator", catalog.RoleBuilder)
	role(f.empty, "curator", catalog.RoleEditor)
	missing(t, undo(curator, f.inSpace), auth.ScopeStorageConfigsShare)
	require.NoError(t, f.inner.RemoveWorkspaceMember(t.Context(), f.org, f.empty, f.users["curator"]))
	require.ErrorIs(t, undo(curator, f.inSpace), catalog.ErrNotFound)
	role(f.empty, "curator", catalog.RoleBuilder)
	require.NoError(t, undo(curator, f.inSpace))
}
