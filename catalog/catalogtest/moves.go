package catalogtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

const holder = "replica 1"

// moving is an organisation with two configurations.
type moving struct {
	*world
	org      catalog.OrgID
	owner    catalog.UserID
	from, to catalog.StorageConfig
}

func (w *world) moving() *moving {
	org, owner := w.org()
	base := w.defaultWorkspace(org)
	return &moving{w, org, owner, w.config(org, owner, base, "from"), w.config(org, owner, base, "to")}
}

func (m *moving) newMove(source, target string) catalog.NewMove {
	return catalog.NewMove{
		Org: m.org, User: m.owner, Fingerprint: "f", Holder: holder,
		Source: catalog.Place{Config: m.from.ID, Path: source}, Target: catalog.Place{Config: m.to.ID, Path: target},
	}
}

func (m *moving) begin(source, target string) catalog.Move {
	m.Helper()
	begun, err := m.BeginMove(m.ctx, m.newMove(source, target))
	require.NoError(m, err)
	return begun
}

func (m *moving) switched(id catalog.MoveID) catalog.Move {
	m.Helper()
	done, err := m.SwitchMove(m.ctx, id, holder, catalog.MovedObjects{Objects: 3, Bytes: 30})
	require.NoError(m, err)
	return done
}

// finish ends a switched move.
func (m *moving) finish(id catalog.MoveID) catalog.Move {
	m.Helper()
	_, err := m.SettleMove(m.ctx, id, holder)
	require.NoError(m, err)
	done, err := m.EndMove(m.ctx, id, holder, nil)
	require.NoError(m, err)
	return done
}

// movedTables checks that a switch changes the places of all registrations, and nothing else.
func movedTables(t *testing.T, w *world) {
	m := w.moving()
	system := catalog.SystemViewer(m.org)
	plain, custom, deep := w.table(m.from, "a/x"), w.table(m.from, "a/y"), w.table(m.from, "a/b/c")
	beside := w.table(m.from, "ab")
	gone := w.table(m.from, "a/gone")
	_, err := w.RenameTable(w.ctx, system, custom.ID, catalog.AnyVersion, "orders")
	require.NoError(t, err)
	require.NoError(t, w.DropTable(w.ctx, system, gone.ID, catalog.AnyVersion))
	tombstone := w.table(m.to, "d/x")
	require.NoError(t, w.DropTable(w.ctx, system, tombstone.ID, catalog.AnyVersion))
	taken := w.table(m.to, "d__b__c")
	rules := w.policy(m.org, m.owner, rowPolicy(plain.DeltaID))

	before := w.epochNow()
	begun := m.begin("a", "d")
	require.Equal(t, catalog.MoveCopying, begun.State)
	switched := m.switched(begun.ID)
	require.Equal(t, catalog.MoveSwitched, switched.State)
	require.EqualValues(t, 3, switched.Tables)
	require.Greater(t, switched.Epoch, before)
	require.LessOrEqual(t, switched.Epoch, w.epochNow())

	type place struct {
		config catalog.ConfigID
		path   string
		name   string
	}
	at := func(table catalog.Table) place {
		now := w.reload(table)
		require.Equal(t, table.DeltaID, now.DeltaID)
		return place{now.Config, now.Path, now.Name}
	}
	require.Equal(t, place{m.to.ID, "d/x", "d__x"}, at(plain))
	require.Equal(t, place{m.to.ID, "d/y", "orders"}, at(custom))
	require.True(t, w.reload(custom).NameIsCustom)
	require.Equal(t, m.to.ID, w.reload(deep).Config)
	require.NotEqual(t, w.reload(taken).Name, w.reload(deep).Name, "names are unique")
	require.Equal(t, place{m.from.ID, "ab", "ab"}, at(beside), "a neighbour stays")
	require.Equal(t, place{m.to.ID, "d/gone", "a__gone"}, at(gone), "a tombstone moves with its files")
	require.Equal(t, catalog.TableDropped, w.reload(gone).State)
	_, err = w.Store.Table(w.ctx, system, tombstone.ID)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	found, err := w.Policy(w.ctx, m.org, rules.ID)
	require.NoError(t, err)
	require.Equal(t, rules, found)

	done := m.finish(begun.ID)
	require.Equal(t, catalog.MoveDone, done.State)
	require.EqualValues(t, 30, done.Bytes)
	again, err := w.Move(w.ctx, m.org, begun.ID)
	require.NoError(t, err)
	w.same(done, again)
}

// revertedMoves checks that a discarded move leaves the registrations as they were.
func revertedMoves(t *testing.T, w *world) {
	m := w.moving()
	system := catalog.SystemViewer(m.org)
	first, second := w.table(m.from, "x"), w.table(m.from, "y")
	_, err := w.RenameTable(w.ctx, system, second.ID, catalog.AnyVersion, "orders")
	require.NoError(t, err)
	tombstone := w.table(m.to, "x")
	require.NoError(t, w.DropTable(w.ctx, system, tombstone.ID, catalog.AnyVersion))
	tables := []catalog.Table{w.reload(first), w.reload(second), w.reload(tombstone)}

	begun := m.begin("", "") // whole configurations
	m.switched(begun.ID)
	require.Equal(t, m.to.ID, w.reload(first).Config)
	problem := catalog.OperationProblem{Code: "source_changed", Message: "m", Details: []catalog.FieldError{{Field: "f", Message: "m"}}}
	discarding, err := w.DiscardMove(w.ctx, begun.ID, holder, problem)
	require.NoError(t, err)
	require.Equal(t, catalog.MoveDiscarding, discarding.State)
	require.Zero(t, discarding.Objects+discarding.Tables)
	for _, before := range tables {
		now := w.reload(before)
		now.Version, now.UpdatedAt = before.Version, before.UpdatedAt
		w.same(before, now)
	}
	_, err = w.DiscardMove(w.ctx, begun.ID, holder, problem)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	failed, err := w.EndMove(w.ctx, begun.ID, holder, nil)
	require.NoError(t, err)
	require.Equal(t, catalog.MoveFailed, failed.State)
	require.Equal(t, &problem, failed.Problem)
	require.Equal(t, catalog.MoveCopying, m.begin("", "").State, "the places are free")
}

// refusedMoves checks what BeginMove refuses.
func refusedMoves(t *testing.T, w *world) {
	m := w.moving()
	other := w.moving()
	begin := func(n catalog.NewMove) error {
		_, err := w.BeginMove(w.ctx, n)
		return err
	}
	for _, path := range []string{"/a", "a/", "a//b", "a/../b", ".", "a\x00"} {
		require.Equal(t, []string{"source_path"}, fieldsOf(w, begin(m.newMove(path, "d"))), path)
		require.Equal(t, []string{"destination_path"}, fieldsOf(w, begin(m.newMove("a", path))), path)
	}
	for _, paths := range [][2]string{{"a", "a"}, {"a", "a/b"}, {"a/b", "a"}, {"", "a"}, {"a", ""}} {
		n := m.newMove(paths[0], paths[1])
		n.Target.Config = m.from.ID
		require.Equal(t, []string{"destination_path"}, fieldsOf(w, begin(n)), paths)
	}
	foreign := m.newMove("a", "d")
	foreign.Target.Config = other.to.ID
	require.ErrorIs(t, begin(foreign), catalog.ErrNotFound, "another organisation")
	w.table(m.from, "t")
	w.table(m.to, "taken/t")
	require.Equal(t, []string{"source_path"}, fieldsOf(w, begin(m.newMove("t/part", "d"))))
	require.Equal(t, []string{"destination_path"}, fieldsOf(w, begin(m.newMove("a", "taken/t/x"))))
	existing(w, begin(m.newMove("a", "taken")), "destination_path")
	sandbox, err := w.CreateSandbox(w.ctx, m.org, "file:///sandbox/")
	require.NoError(t, err)
	into := m.newMove("a", "d")
	into.Target.Config = sandbox.ID
	require.ErrorIs(t, begin(into), catalog.ErrSandbox)

	m.begin("a", "d")
	for _, paths := range [][2]string{{"a", "e"}, {"a/b", "e"}, {"", "e"}, {"b", "d"}, {"b", "d/x"}, {"b", ""}} {
		require.ErrorIs(t, begin(m.newMove(paths[0], paths[1])), catalog.ErrMoveUnderWay, paths)
	}
	m.begin("ab", "de")
}

// movesKeepPlaces checks that nothing is registered at places of a move.
func movesKeepPlaces(t *testing.T, w *world) {
	m := w.moving()
	system := catalog.SystemViewer(m.org)
	table := w.table(m.from, "a/x")
	begun := m.begin("a", "d")
	register := func(config catalog.StorageConfig, path string) error {
		_, err := w.RegisterTable(w.ctx, system, catalog.NewTable{Config: config.ID, DeltaID: w.delta(), Path: path})
		return err
	}
	found := func(config catalog.StorageConfig, path string) int {
		return len(w.sync(config, catalog.Discovery{Found: []catalog.FoundTable{{Path: path, DeltaID: w.delta()}}}).Added)
	}
	held := func() {
		t.Helper()
		require.ErrorIs(t, register(m.from, "a/new"), catalog.ErrMoveUnderWay)
		require.ErrorIs(t, register(m.to, "d"), catalog.ErrMoveUnderWay)
		require.Zero(t, found(m.from, "a/new")+found(m.to, "d/new"))
	}
	held()
	w.vanish(m.from, "a/x")
	require.Equal(t, catalog.TableLive, w.reload(table).State)
	m.switched(begun.ID)
	held()
	_, err := w.SettleMove(w.ctx, begun.ID, holder)
	require.NoError(t, err)
	held()
	require.Zero(t, found(m.from, "a/x"), "until the files are gone")
	_, err = w.EndMove(w.ctx, begun.ID, holder, nil)
	require.NoError(t, err)
	require.Equal(t, 1, found(m.from, "a/x"))
	require.NoError(t, register(m.to, "d/new"))
}

// movesAndWrites checks that of a move and a write one sees the other.
func movesAndWrites(t *testing.T, w *world) {
	m := w.moving()
	table, beside := w.table(m.from, "a"), w.table(m.from, "b")
	begun := m.begin("a", "d")
	start := w.now()
	writes := func() bool {
		under, err := w.WritesBeforeMove(w.ctx, begun.ID, start)
		require.NoError(t, err)
		return under
	}
	require.False(t, writes())
	for _, kind := range []catalog.WriteKind{catalog.WriteRows, catalog.WriteRestore, catalog.WriteVacuum} {
		lease, err := w.BeginWrite(w.ctx, catalog.NewWrite{Org: m.org, Table: table.DeltaID, Kind: kind})
		require.NoError(t, err)
		require.True(t, writes(), kind)
		require.NoError(t, w.EndWrite(w.ctx, lease))
	}
	_, err := w.BeginWrite(w.ctx, catalog.NewWrite{Org: m.org, Table: beside.DeltaID, Kind: catalog.WriteRows})
	require.NoError(t, err)
	require.False(t, writes(), "a write to another table")

	check := func(table catalog.Table) error { return w.CheckPlace(w.ctx, table) }
	copied := catalog.Table{Org: m.org, Config: m.to.ID, Path: "elsewhere", DeltaID: table.DeltaID}
	held := func() {
		t.Helper()
		require.ErrorIs(t, check(table), catalog.ErrTableMoving)
		require.ErrorIs(t, check(w.reload(table)), catalog.ErrTableMoving)
		require.ErrorIs(t, check(copied), catalog.ErrTableMoving, "another registration of the table")
		require.ErrorIs(t, check(catalog.Table{Org: m.org, Config: m.from.ID, Path: "a/new"}), catalog.ErrTableMoving)
		require.ErrorIs(t, check(catalog.Table{Org: m.org, Config: m.to.ID, Path: "d/new"}), catalog.ErrTableMoving)
		require.NoError(t, check(beside))
	}
	held()
	m.switched(begun.ID)
	held()
	_, err = w.SettleMove(w.ctx, begun.ID, holder)
	require.NoError(t, err)
	held()
	_, err = w.EndMove(w.ctx, begun.ID, holder, nil)
	require.NoError(t, err)
	require.ErrorIs(t, check(table), catalog.ErrTableMoving, "a write that resolved the table before the switch")
	require.NoError(t, check(w.reload(table)))
}

// movesAreTakenOver checks leases of moves.
func movesAreTakenOver(t *testing.T, w *world) {
	m := w.moving()
	begun := m.begin("a", "d")
	taken := func(by string, since time.Time) []catalog.Move {
		moves, err := w.TakeMoves(w.ctx, by, since)
		require.NoError(t, err)
		return moves
	}
	require.Len(t, taken(holder, time.Unix(0, 0)), 1, "its own")
	require.Empty(t, taken("replica 2", begun.BegunAt))
	start := w.now()
	require.NoError(t, w.RenewMove(w.ctx, begun.ID, holder))
	require.Empty(t, taken("replica 2", start))
	require.NoError(t, w.ReleaseMove(w.ctx, begun.ID, holder))
	require.Len(t, taken("replica 2", start), 1)
	require.ErrorIs(t, w.RenewMove(w.ctx, begun.ID, holder), catalog.ErrNotFound)
	_, err := w.SwitchMove(w.ctx, begun.ID, holder, catalog.MovedObjects{})
	require.ErrorIs(t, err, catalog.ErrNotFound, "the former holder")
	require.NoError(t, w.RenewMove(w.ctx, begun.ID, "replica 2"))
}

// moveKeys checks idempotency keys of moves.
func moveKeys(t *testing.T, w *world) {
	m := w.moving()
	n := m.newMove("a", "d")
	n.Key = "key"
	first, err := w.BeginMove(w.ctx, n)
	require.NoError(t, err)
	again, err := w.BeginMove(w.ctx, n)
	require.NoError(t, err)
	w.same(first, again)
	found, err := w.MoveByKey(w.ctx, m.org, "key")
	require.NoError(t, err)
	w.same(first, found)
	_, err = w.DiscardMove(w.ctx, first.ID, holder, catalog.OperationProblem{Code: "c"})
	require.NoError(t, err)
	_, err = w.EndMove(w.ctx, first.ID, holder, nil)
	require.NoError(t, err)
	second, err := w.BeginMove(w.ctx, n)
	require.NoError(t, err)
	require.NotEqual(t, first.ID, second.ID, "a failed one is tried again")
	m.switched(second.ID)
	done := m.finish(second.ID)
	again, err = w.BeginMove(w.ctx, n)
	require.NoError(t, err)
	w.same(done, again)
	forgotten, err := w.ForgetMoves(w.ctx, w.now())
	require.NoError(t, err)
	require.EqualValues(t, 2, forgotten)
	_, err = w.MoveByKey(w.ctx, m.org, "key")
	require.ErrorIs(t, err, catalog.ErrNotFound)
}

// replicaReads checks the oldest statements of replicas.
func replicaReads(t *testing.T, w *world) {
	start := w.now()
	_, err := w.OldestReads(w.ctx, start)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	oldest := func(since time.Time) uint64 {
		epoch, err := w.OldestReads(w.ctx, since)
		require.NoError(t, err)
		return epoch
	}
	require.NoError(t, w.ReportReads(w.ctx, "one", 3))
	between := w.now()
	require.NoError(t, w.ReportReads(w.ctx, "two", 5))
	require.EqualValues(t, 3, oldest(start))
	require.EqualValues(t, 5, oldest(between), "a silent replica does not count")
	require.NoError(t, w.ReportReads(w.ctx, "one", 7))
	require.EqualValues(t, 5, oldest(start))
	require.NoError(t, w.ForgetReads(w.ctx, "two", start))
	require.EqualValues(t, 7, oldest(start))
}

// movedReferences checks that domains follow the tables from which they take their values.
func movedReferences(t *testing.T, w *world) {
	d := w.domained()
	source := w.table(d.config, "values")
	d.set("c", from(source, "key", ""))
	to := w.config(d.org, d.owner, w.defaultWorkspace(d.org), "elsewhere")
	place := func() catalog.ConfigID {
		columns := d.domains(d.table).Columns
		require.Len(t, columns, 1)
		return columns[0].Domain.Source.Config
	}
	require.Equal(t, d.config.ID, place())
	n := catalog.NewMove{Org: d.org, User: d.owner, Fingerprint: "f", Holder: holder,
		Source: catalog.Place{Config: d.config.ID, Path: "values"}, Target: catalog.Place{Config: to.ID, Path: "values"}}
	begun, err := w.BeginMove(w.ctx, n)
	require.NoError(t, err)
	_, err = w.SwitchMove(w.ctx, begun.ID, holder, catalog.MovedObjects{})
	require.NoError(t, err)
	require.Equal(t, to.ID, place())
	_, err = w.DiscardMove(w.ctx, begun.ID, holder, catalog.OperationProblem{Code: "c"})
	require.NoError(t, err)
	require.Equal(t, d.config.ID, place())
}
