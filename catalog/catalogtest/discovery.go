package catalogtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

func discovery(t *testing.T, w *world) {
	org, owner := w.org()
	config := w.config(org, owner, w.defaultWorkspace(org), "c")
	v := catalog.MemberViewer(org, owner)
	a := catalog.FoundTable{Path: "a", DeltaID: w.delta()}
	b := catalog.FoundTable{Path: "b", DeltaID: w.delta()}

	result := w.sync(config, catalog.Discovery{Found: []catalog.FoundTable{a, b}, Complete: true})
	require.Equal(t, 2, result.Found)
	require.Len(t, result.Added, 2)
	found, err := w.StorageConfig(w.ctx, v, config.ID)
	require.NoError(t, err)
	require.False(t, found.DiscoveredAt.IsZero())

	before := w.epochNow()
	result = w.sync(config, catalog.Discovery{Found: []catalog.FoundTable{a, b}, Complete: true})
	w.same(catalog.DiscoveryResult{Found: 2}, result)
	require.Equal(t, before, w.epochNow(), "a discovery that finds nothing new changes nothing")

	result = w.sync(config, catalog.Discovery{Found: []catalog.FoundTable{a}, Complete: true})
	require.Empty(t, result.Vanished, "what a part does not mention can be in another one")
	missing := catalog.Discovery{Found: []catalog.FoundTable{a}, Missing: []string{"b", "never registered"}, VanishAfter: time.Hour}
	for range 3 {
		result = w.sync(config, missing)
		require.Equal(t, 1, result.Missing)
		require.Empty(t, result.Vanished, "a listing can be wrong")
	}
	w.sync(config, catalog.Discovery{Found: []catalog.FoundTable{a, b}})
	missing.VanishAfter = 0
	require.Equal(t, 1, w.sync(config, missing).Missing, "it was found meanwhile")
	result = w.sync(config, missing)
	require.Zero(t, result.Missing)
	require.Len(t, result.Vanished, 1)
	vanished := result.Vanished[0]
	require.Equal(t, catalog.TableVanished, vanished.State)
	w.same(vanished, w.reload(vanished))
	_, err = w.ResolveDelta(w.ctx, v, b.DeltaID)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	answers, err := w.ResolveTables(w.ctx, v, []catalog.TableName{{Schema: "c", Table: "b"}})
	require.NoError(t, err)
	require.Equal(t, catalog.TableVanished, answers[0].Table.State, "its name still resolves")

	_, err = w.RegisterTable(w.ctx, v, catalog.NewTable{Config: config.ID, DeltaID: w.delta(), Path: "x", Name: "B"})
	existing(w, err, "name")

	renamed, err := w.RenameTable(w.ctx, v, vanished.ID, vanished.Version, "kept")
	require.NoError(t, err)
	result = w.sync(config, catalog.Discovery{Found: []catalog.FoundTable{a, b}, Complete: true})
	require.Len(t, result.Returned, 1)
	require.Equal(t, "kept", result.Returned[0].Name)
	require.Equal(t, renamed.Table.ID, result.Returned[0].ID)

	_, err = w.SyncTables(w.ctx, v, config.ID, catalog.Discovery{Found: []catalog.FoundTable{a, a}})
	require.Equal(t, []string{"path"}, fieldsOf(w, err))
	_, err = w.SyncTables(w.ctx, v, config.ID, catalog.Discovery{Found: []catalog.FoundTable{a}, Missing: []string{"a"}})
	require.Equal(t, []string{"path"}, fieldsOf(w, err))
	_, err = w.SyncTables(w.ctx, v, config.ID, catalog.Discovery{Missing: make([]string, catalog.MaxDiscovered+1)})
	require.Equal(t, []string{"path"}, fieldsOf(w, err))
	_, err = w.SyncTables(w.ctx, v, config.ID, catalog.Discovery{Found: []catalog.FoundTable{{Path: "a"}}})
	require.Equal(t, []string{"table_id"}, fieldsOf(w, err))
	_, err = w.SyncTables(w.ctx, catalog.MemberViewer(org, w.user()), config.ID, catalog.Discovery{Complete: true})
	require.ErrorIs(t, err, catalog.ErrNotFound)
}

func tombstones(t *testing.T, w *world) {
	org, owner := w.org()
	config := w.config(org, owner, w.defaultWorkspace(org), "c")
	v := catalog.MemberViewer(org, owner)
	table := w.table(config, "t")
	found := catalog.Discovery{Found: []catalog.FoundTable{{Path: "t", DeltaID: table.DeltaID}}, Complete: true}
	require.NoError(t, w.DropTable(w.ctx, v, table.ID, table.Version))

	result := w.sync(config, found)
	w.same(catalog.DiscoveryResult{}, result)
	list, err := w.ListTables(w.ctx, v, catalog.TableFilter{}, catalog.Page{})
	require.NoError(t, err)
	require.Empty(t, list.Items)
	list, err = w.ListTables(w.ctx, v, catalog.TableFilter{States: []catalog.TableState{catalog.TableDropped}}, catalog.Page{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	answers, err := w.ResolveTables(w.ctx, v, []catalog.TableName{{Schema: "c", Table: "t"}})
	require.NoError(t, err)
	require.ErrorIs(t, answers[0].Err, catalog.ErrNotFound)

	w.table(config, "other/t")
	_, err = w.RegisterTable(w.ctx, v, catalog.NewTable{Config: config.ID, DeltaID: w.delta(), Path: "u", Name: "t"})
	require.NoError(t, err, "its name is free")
	found.IncludeDropped, found.Complete = true, false
	result = w.sync(config, found)
	require.Len(t, result.Added, 1)
	require.Equal(t, table.ID, result.Added[0].ID)
	require.Equal(t, catalog.TableLive, result.Added[0].State)
	require.NotEqual(t, "t", result.Added[0].Name, "another table has taken the name")
}

// governed creates a table with one policy.
func governed(w *world) (config catalog.StorageConfig, table catalog.Table, owner catalog.UserID) {
	org, owner := w.org()
	config = w.config(org, owner, w.defaultWorkspace(org), "c")
	table = w.table(config, "t")
	w.policy(org, owner, rowPolicy(table.DeltaID))
	return config, table, owner
}

func at(path string, id catalog.DeltaID) catalog.Discovery {
	return catalog.Discovery{Found: []catalog.FoundTable{{Path: path, DeltaID: id}}, Complete: true}
}

func changedIdentity(t *testing.T, w *world) {
	config, table, _ := governed(w)
	free := w.table(config, "free")
	second, third := w.delta(), w.delta()

	// Without rules the location takes the new id.
	result := w.sync(config, catalog.Discovery{Found: []catalog.FoundTable{
		{Path: "t", DeltaID: table.DeltaID}, {Path: "free", DeltaID: second},
	}, Complete: true})
	require.Len(t, result.Changed, 1)
	now := w.reload(free)
	require.Equal(t, catalog.TableLive, now.State)
	require.Equal(t, second, now.DeltaID)
	require.Equal(t, free.DeltaID, now.PreviousDeltaID)

	// With a policy, or with rules outside the catalog, the identity changes.
	result = w.sync(config, catalog.Discovery{Found: []catalog.FoundTable{
		{Path: "t", DeltaID: second}, {Path: "free", DeltaID: third, Governed: true},
	}})
	require.Len(t, result.Changed, 2)
	for _, stopped := range result.Changed {
		require.Equal(t, catalog.TableIdentityChanged, stopped.State)
		w.same(stopped, w.reload(stopped))
	}
	now = w.reload(table)
	require.Equal(t, table.DeltaID, now.PreviousDeltaID)
	_, err := w.ResolveDelta(w.ctx, catalog.SystemViewer(config.Org), second)
	require.ErrorIs(t, err, catalog.ErrNotFound, "an unreadable table does not resolve by its new id")

	// Discovery alone never accepts the new identity: not if it finds the same unknown
	// table again, a different one, or none in between.
	w.sync(config, at("t", second))
	require.Equal(t, catalog.TableIdentityChanged, w.reload(table).State)
	w.vanish(config, "t")
	require.Equal(t, catalog.TableIdentityChanged, w.reload(table).State)
	w.sync(config, at("t", third))
	now = w.reload(table)
	require.Equal(t, catalog.TableIdentityChanged, now.State)
	require.Equal(t, third, now.DeltaID)
	require.Equal(t, table.DeltaID, now.PreviousDeltaID, "the governed id is not forgotten")

	// Only the return of the original table resolves the state.
	w.sync(config, at("t", table.DeltaID))
	now = w.reload(table)
	require.Equal(t, catalog.TableLive, now.State)
	require.Equal(t, table.DeltaID, now.DeltaID)
	require.Empty(t, now.PreviousDeltaID)

	// A table that vanished and returned with another id is not accepted either.
	w.vanish(config, "t")
	require.Equal(t, catalog.TableVanished, w.reload(table).State)
	w.sync(config, at("t", second))
	require.Equal(t, catalog.TableIdentityChanged, w.reload(table).State)
}

func adoptedIdentity(t *testing.T, w *world) {
	for _, keep := range []bool{true, false} {
		config, table, owner := governed(w)
		v := catalog.MemberViewer(config.Org, owner)
		stranger := w.delta()
		_, err := w.AdoptIdentity(w.ctx, v, table.ID, table.Version, keep, owner)
		require.ErrorIs(t, err, catalog.ErrTableState)
		w.sync(config, at("t", stranger))
		now := w.reload(table)
		_, err = w.AdoptIdentity(w.ctx, v, table.ID, table.Version, keep, owner)
		stale(w, err, now.Version)
		_, err = w.AdoptIdentity(w.ctx, catalog.MemberViewer(config.Org, w.user()), table.ID, now.Version, keep, owner)
		require.ErrorIs(t, err, catalog.ErrNotFound)

		adopted, err := w.AdoptIdentity(w.ctx, v, table.ID, now.Version, keep, owner)
		require.NoError(t, err)
		require.Equal(t, catalog.TableLive, adopted.State)
		require.Equal(t, stranger, adopted.DeltaID)
		w.same(adopted.Table, w.reload(table))

		forNew, err := w.EnabledPolicies(w.ctx, config.Org, []catalog.DeltaID{stranger})
		require.NoError(t, err)
		forOld, err := w.EnabledPolicies(w.ctx, config.Org, []catalog.DeltaID{table.DeltaID})
		require.NoError(t, err)
		require.Len(t, forOld, 1, "the previous table is still governed")
		if !keep {
			require.Empty(t, forNew)
			continue
		}
		require.Len(t, forNew, 1)
		require.Equal(t, forOld[0].Text, forNew[0].Text)
		require.Equal(t, int64(1), forNew[0].Version)
		history, err := w.PolicyHistory(w.ctx, config.Org, forNew[0].ID, catalog.Page{})
		require.NoError(t, err)
		require.Equal(t, owner, history.Items[0].By)
	}
}

func droppedIdentity(t *testing.T, w *world) {
	config, table, owner := governed(w)
	stranger := w.delta()
	w.sync(config, at("t", stranger))
	require.NoError(t, w.DropTable(w.ctx, catalog.MemberViewer(config.Org, owner), table.ID, catalog.AnyVersion))
	again := at("t", stranger)
	again.IncludeDropped = true
	w.sync(config, again)
	require.Equal(t, catalog.TableIdentityChanged, w.reload(table).State)
}
