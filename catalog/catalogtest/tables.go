package catalogtest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

func resolveNames(t *testing.T, w *world) {
	org, owner := w.org()
	base := w.defaultWorkspace(org)
	sales := w.config(org, owner, base, "Sales")
	twin := w.config(org, owner, "", "sales") // personal, same slug
	table := w.table(sales, "eu/orders")
	user := catalog.MemberViewer(org, w.member(org, catalog.RoleViewer))
	ownerEye := catalog.MemberViewer(org, owner)

	dashed := "cfg_" + string(sales.ID)
	answers, err := w.ResolveTables(w.ctx, user, []catalog.TableName{
		{Schema: "sales", Table: "eu__orders"},
		{Schema: "SALES", Table: "EU__Orders"},
		{Schema: sales.Schema(), Table: "eu__orders"},
		{Schema: strings.ToUpper(dashed), Table: "eu__orders"},
		{Schema: "sales", Table: "nope"},
		{Schema: "", Table: ""},
		{Schema: twin.Schema(), Table: "eu__orders"},
		{Schema: "sales", Table: "eu__orders"},
	})
	require.NoError(t, err)
	for _, i := range []int{0, 1, 2, 3, 7} {
		require.NoError(t, answers[i].Err, i)
		w.same(table, answers[i].Table.Table)
		w.same(sales, answers[i].Table.StorageConfig)
		require.Equal(t, "lake."+sales.Schema()+".eu__orders", answers[i].Table.FQN())
	}
	for _, i := range []int{4, 5, 6} {
		require.ErrorIs(t, answers[i].Err, catalog.ErrNotFound, i)
	}

	answers, err = w.ResolveTables(w.ctx, ownerEye, []catalog.TableName{
		{Schema: "sales", Table: "eu__orders"}, {Schema: sales.Schema(), Table: "eu__orders"},
	})
	require.NoError(t, err)
	require.ErrorIs(t, answers[0].Err, catalog.ErrAmbiguous, "the slug is ambiguous even if only one configuration has the table")
	require.NoError(t, answers[1].Err)

	answers, err = w.ResolveTables(w.ctx, ownerEye, nil)
	require.NoError(t, err)
	require.Empty(t, answers)

	// A configuration whose name is another one's schema cannot replace it.
	w.config(org, owner, base, sales.Schema())
	answers, err = w.ResolveTables(w.ctx, user, []catalog.TableName{{Schema: sales.Schema(), Table: "eu__orders"}})
	require.NoError(t, err)
	require.Equal(t, table.ID, answers[0].Table.ID)
}

func resolveDelta(t *testing.T, w *world) {
	org, owner := w.org()
	other, stranger := w.org()
	shared := w.config(org, owner, w.defaultWorkspace(org), "shared")
	table := w.table(shared, "t")
	userID := w.member(org, catalog.RoleViewer)
	user, ownerEye := catalog.MemberViewer(org, userID), catalog.MemberViewer(org, owner)

	copyOf := func(config catalog.StorageConfig, path string) catalog.Table {
		registered, err := w.RegisterTable(w.ctx, catalog.SystemViewer(config.Org),
			catalog.NewTable{Config: config.ID, DeltaID: table.DeltaID, Path: path})
		require.NoError(t, err)
		return registered
	}
	copyOf(w.config(org, owner, "", "private"), "copy")
	copyOf(w.config(other, stranger, w.defaultWorkspace(other), "theirs"), "copy")

	found, err := w.ResolveDelta(w.ctx, user, table.DeltaID)
	require.NoError(t, err, "invisible copies neither match nor conflict")
	require.Equal(t, table.ID, found.Table.ID)
	_, err = w.ResolveDelta(w.ctx, ownerEye, table.DeltaID)
	require.ErrorIs(t, err, catalog.ErrAmbiguous)
	_, err = w.ResolveDelta(w.ctx, user, w.delta())
	require.ErrorIs(t, err, catalog.ErrNotFound)

	second := copyOf(shared, "second")
	_, err = w.ResolveDelta(w.ctx, user, table.DeltaID)
	require.ErrorIs(t, err, catalog.ErrAmbiguous)
	require.NoError(t, w.DropTable(w.ctx, user, second.ID, second.Version))
	found, err = w.ResolveDelta(w.ctx, user, table.DeltaID)
	require.NoError(t, err, "only live ones count")
	require.Equal(t, table.ID, found.Table.ID)
}

func registerAndRename(t *testing.T, w *world) {
	org, owner := w.org()
	config := w.config(org, owner, w.defaultWorkspace(org), "c")
	v := catalog.MemberViewer(org, owner)
	register := func(path, name string) (catalog.Table, error) {
		return w.RegisterTable(w.ctx, v, catalog.NewTable{Config: config.ID, DeltaID: w.delta(), Path: path, Name: name})
	}
	a, err := register("a", "")
	require.NoError(t, err)
	require.Equal(t, "a", a.Name)
	require.False(t, a.NameIsCustom)
	require.Equal(t, catalog.TableLive, a.State)
	w.same(a, w.reload(a))
	_, err = register("a", "")
	existing(w, err, "path")
	_, err = register("b", "A")
	existing(w, err, "name")
	b, err := register("b", "Chosen")
	require.NoError(t, err)
	require.True(t, b.NameIsCustom)
	for _, bad := range []string{"1a", "a-b", "a b", "ä", strings.Repeat("a", catalog.MaxTableNameLength+1)} {
		_, err = register("c", bad)
		require.Equal(t, []string{"name"}, fieldsOf(w, err), bad)
	}
	for _, bad := range []string{"/a", "a/", "a//b", "../a", "a/./b", "a\x00b"} {
		_, err = register(bad, "")
		require.Equal(t, []string{"path"}, fieldsOf(w, err), bad)
	}

	_, err = w.RenameTable(w.ctx, v, b.ID, b.Version, "a")
	existing(w, err, "name")
	renamed, err := w.RenameTable(w.ctx, v, b.ID, b.Version, "CHOSEN")
	require.NoError(t, err, "another case of its own name is free")
	require.Equal(t, "CHOSEN", renamed.Name)
	w.same(renamed.Table, w.reload(b))
	_, err = w.RenameTable(w.ctx, v, b.ID, b.Version, "late")
	stale(w, err, b.Version+1)
	_, err = w.RenameTable(w.ctx, v, b.ID, catalog.AnyVersion, "no way")
	require.Equal(t, []string{"name"}, fieldsOf(w, err))

	blind := catalog.MemberViewer(org, catalog.NewID[catalog.UserID]())
	_, err = w.RenameTable(w.ctx, blind, b.ID, catalog.AnyVersion, "x")
	require.ErrorIs(t, err, catalog.ErrNotFound)
	require.ErrorIs(t, w.DropTable(w.ctx, blind, b.ID, catalog.AnyVersion), catalog.ErrNotFound)
	_, err = w.RegisterTable(w.ctx, blind, catalog.NewTable{Config: config.ID, DeltaID: w.delta(), Path: "x"})
	require.ErrorIs(t, err, catalog.ErrNotFound)

	stale(w, w.DropTable(w.ctx, v, b.ID, 1), 2)
	require.NoError(t, w.DropTable(w.ctx, v, b.ID, 2))
	require.ErrorIs(t, w.DropTable(w.ctx, v, b.ID, catalog.AnyVersion), catalog.ErrNotFound)
	_, err = w.RenameTable(w.ctx, v, b.ID, catalog.AnyVersion, "x")
	require.ErrorIs(t, err, catalog.ErrTableState)
	_, err = w.RenameTable(w.ctx, v, a.ID, a.Version, "chosen")
	require.NoError(t, err, "the name of a dropped table is free")

	again, err := register("b", "")
	require.NoError(t, err, "a created table takes the place of a tombstone")
	require.Equal(t, b.ID, again.ID)
	require.Equal(t, "b", again.Name)
	require.NotEqual(t, b.DeltaID, again.DeltaID)
	w.same(again, w.reload(b))
}

func namesFromPaths(t *testing.T, w *world) {
	org, owner := w.org()
	config := w.config(org, owner, "", "My Lake")
	delta := catalog.DeltaID("ABCDEF12-0000-4000-8000-000000000000")
	odd := catalog.DeltaID("not a uuid")
	found := []catalog.FoundTable{
		{Path: "", DeltaID: w.delta()},
		{Path: "sales/eu", DeltaID: w.delta()},
		{Path: "sales__eu", DeltaID: delta},
		{Path: "sales__EU", DeltaID: delta}, // same name, same 8 digits
		{Path: "Sales/EU", DeltaID: odd},
		{Path: "2024/über uns", DeltaID: w.delta()},
	}
	result := w.sync(config, catalog.Discovery{Found: found, Complete: true})
	require.Equal(t, len(found), result.Found)
	byPath := map[string]catalog.Table{}
	folded := map[string]bool{}
	for _, table := range result.Added {
		byPath[table.Path] = table
		require.NoError(t, catalog.ValidateTableName("name", table.Name))
		require.False(t, folded[catalog.FoldName(table.Name)], table.Name)
		folded[catalog.FoldName(table.Name)] = true
	}
	require.Equal(t, "my_lake", byPath[""].Name)
	require.Equal(t, "sales__eu", byPath["sales/eu"].Name)
	require.Equal(t, "sales__eu_abcdef12", byPath["sales__eu"].Name)
	own := strings.ReplaceAll(string(byPath["sales__EU"].ID), "-", "")
	require.Equal(t, "sales__EU_"+own[:8], byPath["sales__EU"].Name)
	require.Regexp(t, "^Sales__EU_[0-9a-f]{8}$", byPath["Sales/EU"].Name)
	require.Equal(t, "_2024___ber_uns", byPath["2024/über uns"].Name)
}
