package catalogtest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

// epoch checks that every change of what a user may see or do raises the epoch by one
// transaction, and that a refused change does not.
func epoch(t *testing.T, w *world) {
	org, owner := w.org()
	user := w.user()
	space := w.workspace(org)
	config := w.config(org, owner, "", "c")
	v := catalog.MemberViewer(org, owner)
	table := w.table(config, "t")
	p := w.policy(org, owner, rowPolicy(table.DeltaID))
	key := w.key(org, owner)
	deltaID := w.delta()
	shared := w.config(org, owner, "", "shared")
	taken, heir := w.config(org, owner, w.defaultWorkspace(org), "taken"), w.member(org, catalog.RoleBuilder)

	for _, change := range []struct {
		name string
		do   func() error
	}{
		{"organisation", func() error {
			_, err := w.UpdateOrganisation(w.ctx, org, 1, catalog.OrganisationChange{Name: ptr("n")})
			return err
		}},
		{"member", func() error { _, err := w.AddMember(w.ctx, org, user, catalog.RoleViewer); return err }},
		{"role", func() error { _, err := w.SetMemberRole(w.ctx, org, user, catalog.RoleEditor); return err }},
		{"attributes", func() error { _, err := w.ReplaceAttributes(w.ctx, org, user, map[string]string{"a": "b"}); return err }},
		{"an attribute", func() error { _, err := w.ChangeAttributes(w.ctx, org, user, map[string]*string{"a": nil}); return err }},
		{"workspace member", func() error {
			_, err := w.SetWorkspaceMember(w.ctx, org, space, user, catalog.RoleViewer)
			return err
		}},
		{"workspace member leaves", func() error { return w.RemoveWorkspaceMember(w.ctx, org, space, user) }},
		{"member leaves", func() error { return w.RemoveMember(w.ctx, org, user) }},
		{"workspace", func() error {
			_, err := w.UpdateWorkspace(w.ctx, org, space, 1, catalog.WorkspaceChange{Name: ptr("n")})
			return err
		}},
		{"config attached", func() error {
			_, err := w.AttachStorageConfig(w.ctx, v, shared.ID, catalog.NewAttach{Workspace: w.defaultWorkspace(org), By: owner, Window: time.Hour})
			return err
		}},
		{"config taken over", func() error {
			_, err := w.TakeStorageConfig(w.ctx, catalog.SystemViewer(org), taken.ID, 1, heir)
			return err
		}},
		{"attach undone", func() error { _, err := w.UndoAttach(w.ctx, v, shared.ID, owner); return err }},
		{"workspace deleted", func() error { return w.DeleteWorkspace(w.ctx, org, space, 2) }},
		{"config", func() error {
			_, err := w.UpdateStorageConfig(w.ctx, v, config.ID, 1, catalog.StorageConfigChange{Name: ptr("d")})
			return err
		}},
		{"table", func() error { _, err := w.RenameTable(w.ctx, v, table.ID, 1, "n"); return err }},
		{"discovery", func() error { _, err := w.SyncTables(w.ctx, v, config.ID, at("t", deltaID)); return err }},
		{"adoption", func() error { _, err := w.AdoptIdentity(w.ctx, v, table.ID, 3, true, owner); return err }},
		{"table dropped", func() error { return w.DropTable(w.ctx, v, table.ID, 4) }},
		{"config deleted", func() error { return w.DeleteStorageConfig(w.ctx, v, config.ID, 2) }},
		{"policy", func() error { _, err := w.UpdatePolicy(w.ctx, org, p.ID, 1, rowPolicy(""), owner); return err }},
		{"policy deleted", func() error { return w.DeletePolicy(w.ctx, org, p.ID, 2, owner) }},
		{"key", func() error { _, err := w.RevokeAPIKey(w.ctx, org, key.ID); return err }},
		{"organisation deleted", func() error { return w.DeleteOrganisation(w.ctx, org, 2) }},
	} {
		before := w.epochNow()
		require.NoError(t, change.do(), change.name)
		after := w.epochNow()
		require.Equal(t, before+1, after, change.name)
		err := change.do()
		require.Equal(t, after, w.epochNow(), "%s again: %v", change.name, err)
	}
}

// watch checks that a change made through another store arrives in time and that epochs
// never decrease.
func watch(t *testing.T, w *world) {
	org, owner := w.org()
	other := w.open(w.now)
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	epochs := other.Watch(ctx)
	await := func(want uint64) {
		t.Helper()
		deadline := time.After(time.Minute) // reached only if a change is lost
		last := uint64(0)
		for {
			select {
			case got, open := <-epochs:
				require.True(t, open)
				require.GreaterOrEqual(t, got, last)
				if last = got; got >= want {
					return
				}
			case <-deadline:
				t.Fatalf("epoch %d did not arrive, last seen %d", want, last)
			}
		}
	}
	await(w.epochNow())
	for range 3 {
		_, err := w.ReplaceAttributes(w.ctx, org, owner, map[string]string{"n": "1"})
		require.NoError(t, err)
		await(w.epochNow())
	}
	_, err := other.ReplaceAttributes(w.ctx, org, owner, map[string]string{"n": "2"})
	require.NoError(t, err)
	await(w.epochNow())
	// The epoch is confirmed without changes too.
	await(w.epochNow())
	await(w.epochNow())
}

// watchesEnd checks that watches end with their context and with their store.
func watchesEnd(t *testing.T, w *world) {
	w.org()
	drained := func(epochs <-chan uint64) {
		t.Helper()
		deadline := time.After(time.Minute)
		for {
			select {
			case _, open := <-epochs:
				if !open {
					return
				}
			case <-deadline:
				t.Fatal("the watch did not end")
			}
		}
	}
	ctx, cancel := context.WithCancel(w.ctx)
	epochs := w.Watch(ctx)
	<-epochs
	cancel()
	drained(epochs)

	closer, ok := w.Store.(interface{ Close() error })
	if !ok {
		return // a wrapper does not own the database
	}
	epochs = w.Watch(w.ctx)
	<-epochs
	require.NoError(t, closer.Close())
	drained(epochs)
	drained(w.Watch(w.ctx))
}
