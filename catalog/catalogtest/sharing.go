package catalogtest

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

const undoWindow = 5 * time.Minute

// attach attaches a configuration on behalf of a user who sees it.
func (w *world) attach(s catalog.Store, config catalog.StorageConfig, by catalog.UserID, to catalog.WorkspaceID) (catalog.Attach, error) {
	return s.AttachStorageConfig(w.ctx, catalog.MemberViewer(config.Org, by), config.ID,
		catalog.NewAttach{Workspace: to, By: by, Window: undoWindow})
}

func (w *world) attached(config catalog.StorageConfig, by catalog.UserID, to catalog.WorkspaceID) catalog.Attach {
	w.Helper()
	done, err := w.attach(w.Store, config, by, to)
	require.NoError(w, err)
	return done
}

func (w *world) undo(config catalog.StorageConfig, by catalog.UserID) error {
	_, err := w.UndoAttach(w.ctx, catalog.MemberViewer(config.Org, by), config.ID, by)
	return err
}

// sees reports whether a user sees a configuration.
func (w *world) sees(user catalog.UserID, config catalog.StorageConfig) bool {
	w.Helper()
	_, err := w.StorageConfig(w.ctx, catalog.MemberViewer(config.Org, user), config.ID)
	if err != nil {
		require.ErrorIs(w, err, catalog.ErrNotFound)
	}
	return err == nil
}

// notAttacher asserts that a user may not undo an attach.
func notAttacher(w *world, err error) {
	w.Helper()
	var denied *catalog.DeniedError
	require.ErrorAs(w, err, &denied)
	require.Equal(w, "not_attacher", denied.Reason)
}

func attachedConfigs(t *testing.T, w *world) {
	org, owner := w.org()
	other, _ := w.org()
	user, late := w.member(org, catalog.RoleViewer), w.member(org, catalog.RoleViewer)
	one, two, base := w.workspace(org, owner, user), w.workspace(org, owner, late), w.defaultWorkspace(org)
	config := w.config(org, owner, "", "c")
	require.False(t, w.sees(user, config))

	for field, n := range map[string]catalog.NewAttach{
		"workspace_id": {By: owner}, "attached_by": {Workspace: one}, "undo_window": {Workspace: one, By: owner, Window: -1},
	} {
		_, err := w.AttachStorageConfig(w.ctx, catalog.MemberViewer(org, owner), config.ID, n)
		require.Equal(t, []string{field}, fieldsOf(w, err))
	}
	for _, unknown := range []catalog.WorkspaceID{w.defaultWorkspace(other), catalog.NewID[catalog.WorkspaceID]()} {
		_, err := w.attach(w.Store, config, owner, unknown)
		require.ErrorIs(t, err, catalog.ErrWorkspaceNotFound)
	}
	_, err := w.attach(w.Store, config, user, one)
	require.ErrorIs(t, err, catalog.ErrNotFound, "only the owner sees a personal configuration")
	require.NotErrorIs(t, err, catalog.ErrWorkspaceNotFound)

	done := w.attached(config, owner, one)
	require.Equal(t, owner, done.By)
	require.Equal(t, owner, done.PreviousOwner)
	require.Empty(t, done.PreviousWorkspace)
	require.WithinDuration(t, w.now().Add(undoWindow), done.UndoUntil, time.Second)
	expected := config
	expected.Workspace, expected.Version, expected.UpdatedAt = one, 2, done.Config.UpdatedAt
	w.same(expected, done.Config)
	require.True(t, done.Config.UpdatedAt.After(config.UpdatedAt))
	require.True(t, w.sees(user, config))
	require.False(t, w.sees(late, config))
	limited := catalog.KeyViewer(org, user, "")
	_, err = w.StorageConfig(w.ctx, limited, config.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound)

	_, err = w.attach(w.Store, config, owner, one)
	require.ErrorIs(t, err, catalog.ErrAttached)
	toUndo, err := w.AttachToUndo(w.ctx, catalog.MemberViewer(org, owner), config.ID, owner)
	require.NoError(t, err)
	w.same(done, toUndo)

	done = w.attached(config, owner, two)
	require.Equal(t, one, done.PreviousWorkspace)
	require.False(t, w.sees(user, config))
	require.True(t, w.sees(late, config))

	w.attached(config, owner, base)
	require.True(t, w.sees(user, config), "everybody is a member of the default workspace")
	_, err = w.StorageConfig(w.ctx, limited, config.ID)
	require.NoError(t, err)

	sandbox := w.sandbox(org)
	_, err = w.attach(w.Store, sandbox, owner, one)
	require.ErrorIs(t, err, catalog.ErrSandbox)
	require.True(t, w.sees(user, sandbox))
}

func undoneAttaches(t *testing.T, w *world) {
	org, owner := w.org()
	builder, user := w.member(org, catalog.RoleBuilder), w.member(org, catalog.RoleViewer)
	one, two := w.workspace(org, owner, builder, user), w.workspace(org, owner, builder)
	config := w.config(org, owner, "", "c")
	require.ErrorIs(t, w.undo(config, owner), catalog.ErrUndoClosed, "it was never attached")

	// To a workspace and back to its owner.
	w.attached(config, owner, one)
	for _, stranger := range []catalog.UserID{builder, user} {
		notAttacher(w, w.undo(config, stranger))
	}
	restored, err := w.UndoAttach(w.ctx, catalog.MemberViewer(org, owner), config.ID, owner)
	require.NoError(t, err)
	expected := config
	expected.Version, expected.UpdatedAt = 3, restored.UpdatedAt
	w.same(expected, restored)
	require.False(t, w.sees(builder, config))
	require.True(t, w.sees(owner, config))
	require.ErrorIs(t, w.undo(config, owner), catalog.ErrUndoClosed, "it was undone")
	require.ErrorIs(t, w.undo(config, builder), catalog.ErrNotFound, "who does not see it learns nothing")

	// Another attach ends the window of the first.
	w.attached(config, owner, one)
	w.attached(config, builder, two)
	require.ErrorIs(t, w.undo(config, owner), catalog.ErrUndoClosed)
	require.NoError(t, w.undo(config, builder))
	require.True(t, w.sees(user, config), "back in the first workspace")
	require.ErrorIs(t, w.undo(config, owner), catalog.ErrUndoClosed, "an undo opens no earlier window")
	require.ErrorIs(t, w.undo(config, builder), catalog.ErrUndoClosed)

	// The same user attaches twice: one undo.
	w.attached(config, owner, two)
	w.attached(config, owner, w.defaultWorkspace(org))
	require.NoError(t, w.undo(config, owner))
	require.False(t, w.sees(user, config))
	require.ErrorIs(t, w.undo(config, owner), catalog.ErrUndoClosed)

	// The window does not include its end.
	done := w.attached(config, builder, one)
	w.clock.Store(done.UndoUntil.UnixMicro() - 1)
	require.ErrorIs(t, w.undo(config, builder), catalog.ErrUndoExpired)
	notAttacher(w, w.undo(config, user))
	require.True(t, w.sees(user, config), "it remains attached")
	done = w.attached(config, builder, two)
	w.clock.Store(done.UndoUntil.UnixMicro() - 10) // the clock advances whenever it is read
	restored, err = w.UndoAttach(w.ctx, catalog.MemberViewer(org, builder), config.ID, builder)
	require.NoError(t, err)
	require.Equal(t, one, restored.Workspace)

	// The membership of the attacher in the former workspace does not matter to the store.
	w.attached(config, owner, two)
	require.NoError(t, w.RemoveWorkspaceMember(w.ctx, org, one, owner))
	require.NoError(t, w.undo(config, owner))
	require.False(t, w.sees(owner, config))

	// A workspace to which a configuration can return is not deleted.
	w.attached(config, builder, two)
	require.ErrorIs(t, w.DeleteWorkspace(w.ctx, org, one, catalog.AnyVersion), catalog.ErrWorkspaceInUse)
	require.NoError(t, w.undo(config, builder))
	done = w.attached(config, builder, two)
	w.clock.Store(done.UndoUntil.UnixMicro())
	require.NoError(t, w.DeleteWorkspace(w.ctx, org, one, catalog.AnyVersion))
	require.ErrorIs(t, w.undo(config, builder), catalog.ErrUndoExpired)
	w.clock.Store(done.UndoUntil.Add(-time.Minute).UnixMicro())
	require.ErrorIs(t, w.undo(config, builder), catalog.ErrUndoExpired, "the clock of another replica is behind")

	// The records go with the configuration.
	require.NoError(t, w.DeleteStorageConfig(w.ctx, catalog.SystemViewer(org), config.ID, catalog.AnyVersion))
	require.ErrorIs(t, w.undo(config, builder), catalog.ErrNotFound)
}

// takenConfigs checks who owns a configuration after somebody took it over, and after an undo.
func takenConfigs(t *testing.T, w *world) {
	org, owner := w.org()
	leaver, heir := w.member(org, catalog.RoleBuilder), w.member(org, catalog.RoleBuilder)
	stranger := w.user()
	one, two := w.workspace(org, leaver, heir), w.workspace(org, leaver, heir)
	config := w.config(org, leaver, one, "c")
	take := func(config catalog.StorageConfig, version int64, by catalog.UserID) (catalog.StorageConfig, error) {
		return w.TakeStorageConfig(w.ctx, catalog.MemberViewer(org, by), config.ID, version, by)
	}
	_, err := take(config, catalog.AnyVersion, owner)
	require.ErrorIs(t, err, catalog.ErrNotFound, "not a member of the workspace")
	_, err = w.TakeStorageConfig(w.ctx, catalog.SystemViewer(org), config.ID, catalog.AnyVersion, stranger)
	require.ErrorIs(t, err, catalog.ErrNotFound, "not a member of the organisation")
	personal := w.config(org, heir, "", "personal")
	_, err = take(personal, catalog.AnyVersion, heir)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	_, err = take(w.sandbox(org), catalog.AnyVersion, heir)
	require.ErrorIs(t, err, catalog.ErrSandbox)

	require.NoError(t, w.RemoveMember(w.ctx, org, leaver))
	taken, err := take(config, 1, heir)
	require.NoError(t, err)
	expected := config
	expected.Owner, expected.Version, expected.UpdatedAt = heir, 2, taken.UpdatedAt
	w.same(expected, taken)
	again, err := take(config, catalog.AnyVersion, heir)
	require.NoError(t, err)
	w.same(taken, again)
	_, err = take(config, 1, heir)
	stale(w, err, 2)

	// An undo between workspaces keeps the new owner.
	third := w.member(org, catalog.RoleBuilder)
	for _, space := range []catalog.WorkspaceID{one, two} {
		_, err = w.SetWorkspaceMember(w.ctx, org, space, third, catalog.RoleBuilder)
		require.NoError(t, err)
	}
	w.attached(config, heir, two)
	_, err = take(config, catalog.AnyVersion, third)
	require.NoError(t, err)
	restored, err := w.UndoAttach(w.ctx, catalog.MemberViewer(org, heir), config.ID, heir)
	require.NoError(t, err)
	require.Equal(t, []any{one, third}, []any{restored.Workspace, restored.Owner})

	// One that makes it personal again gives it back to whom it belonged.
	w.attached(personal, heir, one)
	_, err = take(personal, catalog.AnyVersion, third)
	require.NoError(t, err)
	restored, err = w.UndoAttach(w.ctx, catalog.MemberViewer(org, heir), personal.ID, heir)
	require.NoError(t, err)
	require.True(t, restored.Personal())
	require.Equal(t, heir, restored.Owner)
	require.False(t, w.sees(third, personal))
}

// attachesKeepTables checks that tables, rules and credentials that are made between an
// attach and its undo remain.
func attachesKeepTables(t *testing.T, w *world) {
	org, owner := w.org()
	one := w.workspace(org, owner)
	config := w.config(org, owner, "", "c")
	v := catalog.MemberViewer(org, owner)
	before := w.table(config, "before")
	w.attached(config, owner, one)
	during := w.table(config, "during")
	p := w.policy(org, owner, rowPolicy(during.DeltaID))
	require.NoError(t, w.AddConstraints(w.ctx, v, during.ID, []catalog.NewConstraint{{Name: "c", Expression: "a > 0"}}, owner))
	column, err := w.SetColumnDomain(w.ctx, v, during.ID, catalog.ColumnDomainAt{Column: "a"}, fixed("x"), owner)
	require.NoError(t, err)
	rotated := catalog.StorageSecret{Sealed: []byte("s"), AuthMode: "access_key"}
	_, err = w.ReplaceStorageSecret(w.ctx, v, config.ID, catalog.AnyVersion, rotated)
	require.NoError(t, err)
	_, err = w.UpdateStorageConfig(w.ctx, v, config.ID, catalog.AnyVersion, catalog.StorageConfigChange{Name: ptr("renamed")})
	require.NoError(t, err)

	require.NoError(t, w.undo(config, owner))
	for _, table := range []catalog.Table{before, during} {
		found, err := w.Store.Table(w.ctx, v, table.ID)
		require.NoError(t, err)
		w.same(table, found.Table)
		require.Equal(t, "renamed", found.StorageConfig.Name)
		require.Empty(t, found.StorageConfig.Workspace)
	}
	policies, err := w.EnabledPolicies(w.ctx, org, []catalog.DeltaID{during.DeltaID})
	require.NoError(t, err)
	w.same([]catalog.Policy{p}, policies)
	held, err := w.Constraints(w.ctx, org, during.DeltaID)
	require.NoError(t, err)
	require.Len(t, held, 1)
	values, err := w.DomainValues(w.ctx, org, column.Domain.ID)
	require.NoError(t, err)
	require.Len(t, values.Values, 1)
	secret, err := w.StorageSecret(w.ctx, org, config.ID)
	require.NoError(t, err)
	require.Equal(t, []byte("s"), secret.Sealed)
}

// raceAttaches checks that concurrent attaches of one configuration take effect one after
// the other, and that only the last can be undone.
func raceAttaches(t *testing.T, w *world) {
	org, owner := w.org()
	people := []catalog.UserID{owner}
	for range 3 {
		people = append(people, w.member(org, catalog.RoleBuilder))
	}
	start := w.workspace(org, people...)
	config := w.config(org, owner, start, "c")
	var spaces []catalog.WorkspaceID
	for range people {
		spaces = append(spaces, w.workspace(org, people...))
	}
	done := make([]catalog.Attach, len(people))
	errs := race(w, len(people), func(s catalog.Store, i int) (err error) {
		done[i], err = w.attach(s, config, people[i], spaces[i])
		return err
	})
	require.Equal(t, len(people), winners(w, errs, nil))
	previous := map[catalog.WorkspaceID]bool{}
	for _, d := range done {
		previous[d.PreviousWorkspace] = true
	}
	require.Len(t, previous, len(people), "each attach starts from another workspace")
	require.True(t, previous[start])

	undone := 0
	for i, user := range people {
		err := w.undo(config, user)
		if previous[spaces[i]] {
			require.ErrorIs(t, err, catalog.ErrUndoClosed)
			continue
		}
		require.NoError(t, err)
		undone++
	}
	require.Equal(t, 1, undone)
}

// raceAttachUndo checks that an undo which runs while the configuration is attached again
// either comes first or is refused, and that of many undos one succeeds.
func raceAttachUndo(t *testing.T, w *world) {
	org, owner := w.org()
	builder := w.member(org, catalog.RoleBuilder)
	one, two := w.workspace(org, owner, builder), w.workspace(org, owner, builder)
	for range 10 {
		config := w.config(org, owner, "", "c")
		w.attached(config, owner, one)
		errs := race(w, 2, func(s catalog.Store, i int) error {
			if i == 0 {
				_, err := s.UndoAttach(w.ctx, catalog.MemberViewer(org, owner), config.ID, owner)
				return err
			}
			_, err := w.attach(s, config, builder, two)
			return err
		})
		found, err := w.StorageConfig(w.ctx, catalog.SystemViewer(org), config.ID)
		require.NoError(t, err)
		if errs[0] == nil {
			require.ErrorIs(t, errs[1], catalog.ErrNotFound, "it was personal again")
			require.Empty(t, found.Workspace)
			continue
		}
		require.ErrorIs(t, errs[0], catalog.ErrUndoClosed)
		require.NoError(t, errs[1])
		require.Equal(t, two, found.Workspace)
	}

	config := w.config(org, owner, one, "c")
	w.attached(config, owner, two)
	errs := race(w, 8, func(s catalog.Store, _ int) error {
		_, err := s.UndoAttach(w.ctx, catalog.MemberViewer(org, owner), config.ID, owner)
		return err
	})
	require.Equal(t, 1, winners(w, errs, catalog.ErrUndoClosed))

	// A workspace is not deleted while a configuration can return to it, and not returned to
	// after it was deleted.
	for range 5 {
		space := w.workspace(org, owner)
		config := w.config(org, owner, space, "c")
		errs := race(w, 2, func(s catalog.Store, i int) error {
			if i == 0 {
				return s.DeleteWorkspace(w.ctx, org, space, catalog.AnyVersion)
			}
			_, err := w.attach(s, config, owner, two)
			return err
		})
		require.NoError(t, errors.Join(errs[1], w.undo(config, owner)))
		require.ErrorIs(t, errs[0], catalog.ErrWorkspaceInUse)
	}
}
