package catalogtest

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

// switchSandbox switches the feature of an organisation.
func (w *world) switchSandbox(org catalog.OrgID, on bool) {
	w.Helper()
	config := catalog.OrganisationConfig{Features: map[string]bool{catalog.FeatureSandbox: on}}
	_, err := w.UpdateOrganisation(w.ctx, org, catalog.AnyVersion, catalog.OrganisationChange{Config: &config})
	require.NoError(w, err)
}

// sandbox creates the sandbox of an organisation and switches it on.
func (w *world) sandbox(org catalog.OrgID) catalog.StorageConfig {
	w.Helper()
	created, err := w.CreateSandbox(w.ctx, org, catalog.NewLocation("file", "sandbox", string(org)))
	require.NoError(w, err)
	w.switchSandbox(org, true)
	return created
}

// trial creates a table in a sandbox on behalf of a user.
func (w *world) trial(config catalog.StorageConfig, user catalog.UserID, path string) catalog.Table {
	w.Helper()
	created, err := w.RegisterTable(w.ctx, catalog.MemberViewer(config.Org, user),
		catalog.NewTable{Config: config.ID, DeltaID: w.delta(), Path: path})
	require.NoError(w, err)
	return created
}

func (w *world) lease(t catalog.Table) catalog.WriteLeaseID {
	w.Helper()
	lease, err := w.BeginWrite(w.ctx, catalog.NewWrite{Org: t.Org, Table: t.DeltaID, Kind: catalog.WriteRows})
	require.NoError(w, err)
	return lease
}

func sandboxes(t *testing.T, w *world) {
	org, owner := w.org()
	user := w.member(org, catalog.RoleEditor)
	viewer := catalog.MemberViewer(org, user)
	created, err := w.CreateSandbox(w.ctx, org, "file:///sandbox/a/")
	require.NoError(t, err)
	require.True(t, created.Sandbox)
	require.Equal(t, w.defaultWorkspace(org), created.Workspace)
	require.Equal(t, owner, created.Owner)
	again, err := w.CreateSandbox(w.ctx, org, "file:///sandbox/b/")
	require.NoError(t, err)
	w.same(created, again)
	other, _ := w.org()
	_, err = w.CreateSandbox(w.ctx, other, "file:///sandbox/a/")
	require.ErrorIs(t, err, catalog.ErrLocationTaken)

	visible := func() bool {
		_, err := w.StorageConfig(w.ctx, viewer, created.ID)
		if err != nil {
			require.ErrorIs(t, err, catalog.ErrNotFound)
		}
		list, listErr := w.ListStorageConfigs(w.ctx, viewer, catalog.Page{})
		require.NoError(t, listErr)
		require.Equal(t, err == nil, len(list.Items) == 1)
		return err == nil
	}
	require.False(t, visible(), "the feature is off")
	w.switchSandbox(org, true)
	require.True(t, visible())
	table := w.trial(created, user, "t")
	require.False(t, w.sync(created, catalog.Discovery{Complete: true, Found: []catalog.FoundTable{
		{Path: "t", DeltaID: table.DeltaID}, {Path: "found", DeltaID: w.delta()},
	}}).Found > 1, "discovery adds no tables of unknown creators")

	resolve := func() error {
		found, err := w.ResolveTables(w.ctx, viewer, []catalog.TableName{{Schema: "sandbox", Table: "t"}})
		require.NoError(t, err)
		return found[0].Err
	}
	require.NoError(t, resolve())
	before, err := w.Epoch(w.ctx)
	require.NoError(t, err)
	w.switchSandbox(org, false)
	after, err := w.Epoch(w.ctx)
	require.NoError(t, err)
	require.Greater(t, after, before)
	require.False(t, visible())
	require.ErrorIs(t, resolve(), catalog.ErrNotFound)
	_, err = w.Table(w.ctx, viewer, table.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	w.switchSandbox(org, true)
	require.NoError(t, resolve(), "the data remained")

	admin := catalog.MemberViewer(org, owner)
	for _, viewer := range []catalog.Viewer{admin, catalog.SystemViewer(org)} {
		_, err = w.UpdateStorageConfig(w.ctx, viewer, created.ID, catalog.AnyVersion, catalog.StorageConfigChange{Name: ptr("x")})
		require.ErrorIs(t, err, catalog.ErrSandbox)
		require.ErrorIs(t, w.DeleteStorageConfig(w.ctx, viewer, created.ID, catalog.AnyVersion), catalog.ErrSandbox)
		_, err = w.ReplaceStorageSecret(w.ctx, viewer, created.ID, catalog.AnyVersion, catalog.StorageSecret{Sealed: []byte("s"), AuthMode: "a"})
		require.ErrorIs(t, err, catalog.ErrSandbox)
	}
	ordinary := w.config(org, owner, w.defaultWorkspace(org), "ordinary")
	require.False(t, ordinary.Sandbox)
}

func sandboxQuota(t *testing.T, w *world) {
	org, owner := w.org()
	user := w.member(org, catalog.RoleEditor)
	config := w.sandbox(org)
	a, b, other := w.trial(config, user, "a"), w.trial(config, user, "b"), w.trial(config, owner, "c")
	long := w.now().Add(-time.Hour)
	reserve := func(lease catalog.WriteLeaseID, table catalog.Table, version, bytes, growth int64) error {
		return w.ReserveGrowth(w.ctx, lease, table.ID, catalog.TableSize{Version: version, Bytes: bytes}, growth, 100, long)
	}
	first, second := w.lease(a), w.lease(b)
	require.NoError(t, reserve(first, a, 1, 0, 60))
	require.ErrorIs(t, reserve(second, b, 1, 0, 41), catalog.ErrQuota)
	require.NoError(t, reserve(second, b, 1, 0, 40))
	require.NoError(t, reserve(w.lease(other), other, 1, 0, 100), "of another user")
	require.ErrorIs(t, reserve(first, a, 1, 0, 61), catalog.ErrQuota, "a later reservation replaces the earlier one")
	require.NoError(t, reserve(first, a, 1, 0, 60))

	require.NoError(t, w.SettleGrowth(w.ctx, first, a.ID, catalog.TableSize{Version: 2, Bytes: 60}))
	require.NoError(t, reserve(first, a, 2, 60, -1), "less is always allowed")
	require.ErrorIs(t, reserve(first, a, 2, 60, 1), catalog.ErrQuota)
	require.NoError(t, w.SettleGrowth(w.ctx, first, a.ID, catalog.TableSize{Version: 3, Bytes: 10}))
	require.NoError(t, w.SettleGrowth(w.ctx, first, a.ID, catalog.TableSize{Version: 2, Bytes: 60}), "late, and ignored")
	require.NoError(t, reserve(first, a, 3, 10, 50))
	require.ErrorIs(t, reserve(first, a, 3, 10, 51), catalog.ErrQuota)
	require.NoError(t, reserve(first, a, 3, 10, 0))

	// A commit of another writer counts, too.
	require.NoError(t, w.MeasureTable(w.ctx, config.ID, a.Path, catalog.TableSize{Version: 4, Bytes: 20}))
	require.NoError(t, w.MeasureTable(w.ctx, config.ID, a.Path, catalog.TableSize{Version: 3, Bytes: 90}), "late, and ignored")
	require.ErrorIs(t, reserve(second, b, 1, 0, 81), catalog.ErrQuota)
	require.NoError(t, reserve(second, b, 1, 0, 80))
	require.NoError(t, w.MeasureTable(w.ctx, config.ID, a.Path, catalog.TableSize{Version: 5, Bytes: 10}))
	require.NoError(t, reserve(second, b, 1, 0, 40))

	// Neither an ended nor an abandoned write counts.
	require.NoError(t, w.EndWrite(w.ctx, second))
	require.NoError(t, reserve(first, a, 5, 10, 90))
	require.ErrorIs(t, reserve(second, b, 1, 0, 1), catalog.ErrNotFound)
	third := w.lease(b)
	require.ErrorIs(t, reserve(third, b, 1, 0, 100), catalog.ErrQuota)

	// A dropped table counts until its files are gone.
	require.NoError(t, w.DropTable(w.ctx, catalog.MemberViewer(org, user), a.ID, catalog.AnyVersion))
	require.NoError(t, w.EndWrite(w.ctx, first))
	require.NoError(t, reserve(third, b, 1, 0, 90))
	require.ErrorIs(t, reserve(third, b, 1, 0, 91), catalog.ErrQuota)
	claimed, err := w.ClaimDroppedTables(w.ctx, w.now(), 10)
	require.NoError(t, err)
	require.Len(t, claimed, 1)
	require.NoError(t, w.ForgetTable(w.ctx, a.ID, claimed[0].Version))
	require.NoError(t, reserve(third, b, 1, 0, 100))
}

// serviceQuota checks that the service accounts of an organisation share one quota.
func serviceQuota(t *testing.T, w *world) {
	org, owner := w.org()
	config := w.sandbox(org)
	long := w.now().Add(-time.Hour)
	reserve := func(table catalog.Table, growth int64) error {
		return w.ReserveGrowth(w.ctx, w.lease(table), table.ID, catalog.TableSize{Version: 1}, growth, 100, long)
	}
	var tables []catalog.Table
	for _, path := range []string{"a", "b"} {
		service, err := w.CreateUser(w.ctx, catalog.NewUser{Kind: catalog.UserService})
		require.NoError(t, err)
		_, err = w.AddMember(w.ctx, org, service.ID, catalog.RoleEditor)
		require.NoError(t, err)
		tables = append(tables, w.trial(config, service.ID, path))
	}
	require.NoError(t, reserve(tables[0], 60))
	require.ErrorIs(t, reserve(tables[1], 41), catalog.ErrQuota)
	require.NoError(t, reserve(w.trial(config, owner, "c"), 100), "of a person")

	other, _ := w.org()
	service, err := w.CreateUser(w.ctx, catalog.NewUser{Kind: catalog.UserService})
	require.NoError(t, err)
	_, err = w.AddMember(w.ctx, other, service.ID, catalog.RoleEditor)
	require.NoError(t, err)
	require.NoError(t, reserve(w.trial(w.sandbox(other), service.ID, "a"), 100), "of another organisation")
}

// raceQuota checks that concurrent writes of several replicas do not exceed a quota.
func raceQuota(t *testing.T, w *world) {
	org, owner := w.org()
	config := w.sandbox(org)
	stores := []catalog.Store{w.Store, w.open(w.now)}
	tables := []catalog.Table{w.trial(config, owner, "a"), w.trial(config, owner, "b")}
	leases := make([]catalog.WriteLeaseID, 10)
	for i := range leases {
		leases[i] = w.lease(tables[i%2])
	}
	errs := make([]error, len(leases))
	var all sync.WaitGroup
	for i, lease := range leases {
		all.Go(func() {
			errs[i] = stores[i/2%2].ReserveGrowth(w.ctx, lease, tables[i%2].ID, catalog.TableSize{}, 30, 100, w.now().Add(-time.Hour))
		})
	}
	all.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		require.ErrorIs(t, err, catalog.ErrQuota)
	}
	require.Equal(t, 3, won)
}

func unusedTables(t *testing.T, w *world) {
	org, owner := w.org()
	config := w.sandbox(org)
	idle, used := w.trial(config, owner, "idle"), w.trial(config, owner, "used")
	w.table(w.config(org, owner, "", "ordinary"), "t")
	set, err := w.SetColumnDomain(w.ctx, catalog.SystemViewer(org), idle.ID, catalog.ColumnDomainAt{Column: "c"}, fixed("a"), owner)
	require.NoError(t, err)
	since := w.now()
	require.NoError(t, w.UseTable(w.ctx, used.ID))
	list := func() (names []string) {
		found, err := w.IdleTables(w.ctx, since, 10)
		require.NoError(t, err)
		for _, f := range found {
			names = append(names, f.Path)
		}
		return names
	}
	require.Equal(t, []string{"idle"}, list())
	w.switchSandbox(org, false)
	require.Empty(t, list(), "tables of an invisible sandbox remain")
	require.ErrorIs(t, w.DropIdleTable(w.ctx, idle.ID, since), catalog.ErrNotFound)
	w.switchSandbox(org, true)
	require.Empty(t, list(), "they become idle anew")
	since = w.now()
	require.NoError(t, w.UseTable(w.ctx, used.ID))
	require.Equal(t, []string{"idle"}, list())
	require.ErrorIs(t, w.DropIdleTable(w.ctx, used.ID, since), catalog.ErrNotFound)
	require.NoError(t, w.DropIdleTable(w.ctx, idle.ID, since))
	require.ErrorIs(t, w.DropIdleTable(w.ctx, idle.ID, since), catalog.ErrNotFound)
	require.Empty(t, list())

	claimed, err := w.ClaimDroppedTables(w.ctx, since, 10)
	require.NoError(t, err)
	require.Empty(t, claimed, "dropped later")
	later := w.now()
	claimed, err = w.ClaimDroppedTables(w.ctx, later, 10)
	require.NoError(t, err)
	require.Len(t, claimed, 1)
	require.Equal(t, "idle", claimed[0].Path)
	twice, err := w.ClaimDroppedTables(w.ctx, later, 10)
	require.NoError(t, err)
	require.Empty(t, twice, "one replica gets it")
	_, err = w.RegisterTable(w.ctx, catalog.MemberViewer(org, owner), catalog.NewTable{Config: config.ID, DeltaID: w.delta(), Path: "idle"})
	require.ErrorIs(t, err, catalog.ErrExists, "files in this folder are being deleted")
	restored := w.sync(config, catalog.Discovery{IncludeDropped: true, Found: []catalog.FoundTable{{Path: "idle", DeltaID: idle.DeltaID}}})
	require.Empty(t, restored.Added, "its files are being deleted")
	stale(w, w.ForgetTable(w.ctx, idle.ID, claimed[0].Version-1), claimed[0].Version-1)
	_, err = w.DomainValues(w.ctx, org, set.Domain.ID)
	require.NoError(t, err)
	require.NoError(t, w.ForgetTable(w.ctx, idle.ID, claimed[0].Version))
	_, err = w.DomainValues(w.ctx, org, set.Domain.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	require.ErrorIs(t, w.ForgetTable(w.ctx, used.ID, used.Version), catalog.ErrVersionConflict, "a live table")
	w.trial(config, owner, "idle")
}

// restoredTables checks that a table of a sandbox that was dropped and restored, or whose
// organisation was, is not dropped at once because of its former life.
func restoredTables(t *testing.T, w *world) {
	org, owner := w.org()
	config := w.sandbox(org)
	table := w.trial(config, owner, "t")
	idle := func(since time.Time) bool {
		found, err := w.IdleTables(w.ctx, since, 10)
		require.NoError(t, err)
		return len(found) > 0
	}
	since := w.now()
	require.NoError(t, w.DropIdleTable(w.ctx, table.ID, since))
	found := catalog.FoundTable{Path: "t", DeltaID: table.DeltaID}
	require.Len(t, w.sync(config, catalog.Discovery{IncludeDropped: true, Found: []catalog.FoundTable{found}}).Added, 1)
	require.False(t, idle(since), "restored since")
	require.ErrorIs(t, w.DropIdleTable(w.ctx, table.ID, since), catalog.ErrNotFound)
	require.True(t, idle(w.now()))

	require.NoError(t, w.DeleteOrganisation(w.ctx, org, catalog.AnyVersion))
	since = w.now()
	require.False(t, idle(since))
	_, err := w.UndeleteOrganisation(w.ctx, org, owner, time.Time{})
	require.NoError(t, err)
	require.False(t, idle(since), "nobody could use it while the organisation was deleted")
	require.True(t, idle(w.now()))
}

// droppedImpostor checks that a table of a sandbox that another table has replaced cannot
// take over without a confirmation because it was unused.
func droppedImpostor(t *testing.T, w *world) {
	org, owner := w.org()
	config := w.sandbox(org)
	table := w.trial(config, owner, "t")
	w.policy(org, owner, rowPolicy(table.DeltaID))
	replaced := []catalog.FoundTable{{Path: "t", DeltaID: w.delta()}}
	w.sync(config, catalog.Discovery{Found: replaced})
	require.Equal(t, catalog.TableIdentityChanged, w.reload(table).State)
	require.NoError(t, w.DropIdleTable(w.ctx, table.ID, w.now()))
	w.sync(config, catalog.Discovery{IncludeDropped: true, Found: replaced})
	require.Equal(t, catalog.TableIdentityChanged, w.reload(table).State)
}

// purgedSandbox checks that nobody gets the location of a purged organisation's sandbox
// before its files are deleted.
func purgedSandbox(t *testing.T, w *world) {
	org, _ := w.org()
	other, otherOwner := w.org()
	config := w.sandbox(org)
	require.NoError(t, w.DeleteOrganisation(w.ctx, org, catalog.AnyVersion))
	list := func() []catalog.PurgedSandbox {
		found, err := w.PurgedSandboxes(w.ctx, "", 10)
		require.NoError(t, err)
		return found
	}
	require.Empty(t, list(), "the organisation can be restored")
	purged, err := w.PurgeOrganisation(w.ctx, w.now().Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, org, purged)
	require.Equal(t, []catalog.PurgedSandbox{{Org: org, Location: config.Location}}, list())
	behind, err := w.PurgedSandboxes(w.ctx, org, 10)
	require.NoError(t, err)
	require.Empty(t, behind)

	claim := func(location catalog.Location) error {
		_, err := w.CreateStorageConfig(w.ctx, catalog.NewStorageConfig{Org: other, Owner: otherOwner, Name: "claim", Kind: catalog.KindLocal,
			Location: location})
		return err
	}
	below := config.Location + "t/"
	require.ErrorIs(t, claim(below), catalog.ErrLocationTaken)
	require.ErrorIs(t, claim(catalog.NewLocation("file", "sandbox")), catalog.ErrLocationTaken)
	require.NoError(t, w.ForgetSandbox(w.ctx, org))
	require.NoError(t, w.ForgetSandbox(w.ctx, org), "idempotent")
	require.Empty(t, list())
	require.NoError(t, claim(below))

	plain, _ := w.org()
	require.NoError(t, w.DeleteOrganisation(w.ctx, plain, catalog.AnyVersion))
	_, err = w.PurgeOrganisation(w.ctx, w.now().Add(time.Hour))
	require.NoError(t, err)
	require.Empty(t, list(), "it had no sandbox")
}

// formerSandbox checks that a sandbox that an older schema has made an ordinary
// configuration becomes the sandbox again, with its tables.
func formerSandbox(t *testing.T, w *world) {
	org, owner := w.org()
	location := catalog.NewLocation("file", "sandbox", string(org))
	former, err := w.CreateStorageConfig(w.ctx, catalog.NewStorageConfig{Org: org, Owner: owner, Workspace: w.defaultWorkspace(org),
		Name: catalog.SandboxName, Kind: catalog.KindLocal, Location: location})
	require.NoError(t, err)
	table := w.table(former, "t")
	w.switchSandbox(org, true)
	since := w.now()
	taken, err := w.CreateSandbox(w.ctx, org, location)
	require.NoError(t, err)
	require.Equal(t, former.ID, taken.ID)
	require.True(t, taken.Sandbox)
	require.Equal(t, table.ID, w.reload(table).ID)
	idle, err := w.IdleTables(w.ctx, since, 10)
	require.NoError(t, err)
	require.Empty(t, idle)
}
