package catalogtest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

func constraints(t *testing.T, w *world) {
	org, owner := w.org()
	config := w.config(org, owner, w.defaultWorkspace(org), "c")
	table, second := w.table(config, "t"), w.table(config, "u")
	v := catalog.MemberViewer(org, owner)
	add := func(v catalog.Viewer, constraints ...catalog.NewConstraint) error {
		return w.AddConstraints(w.ctx, v, table.ID, constraints, owner)
	}
	names := func(org catalog.OrgID, id catalog.DeltaID) []string {
		t.Helper()
		list, err := w.Constraints(w.ctx, org, id)
		require.NoError(t, err)
		out := []string{}
		for _, c := range list {
			require.Equal(t, id, c.Table)
			require.Equal(t, owner, c.CreatedBy)
			require.False(t, c.CreatedAt.IsZero())
			out = append(out, c.Name+": "+c.Expression)
		}
		return out
	}
	before := w.epochNow()
	require.NoError(t, add(v, catalog.NewConstraint{Name: "positive", Expression: "é > 0"},
		catalog.NewConstraint{Name: "Known", Expression: "b IS NOT NULL"}))
	require.Equal(t, before+1, w.epochNow())
	all := []string{"Known: b IS NOT NULL", "positive: é > 0"}
	require.Equal(t, all, names(org, table.DeltaID))
	require.Empty(t, names(org, second.DeltaID))
	other, _ := w.org()
	require.Empty(t, names(other, table.DeltaID), "another organisation's table of the same id")

	// AddConstraints adds all or none, and compares names regardless of case.
	err := add(v, catalog.NewConstraint{Name: "fine", Expression: "a"}, catalog.NewConstraint{Name: "POSITIVE", Expression: "a"})
	var exists *catalog.ExistsError
	require.ErrorAs(t, err, &exists)
	require.Equal(t, "constraints[1].name", exists.Field)
	require.Equal(t, all, names(org, table.DeltaID))
	for field, c := range map[string]catalog.NewConstraint{
		"constraints[0].name": {Name: "a b", Expression: "a"},
		"constraints[0].expr": {Name: "a", Expression: strings.Repeat("x", catalog.MaxConstraintBytes+1)},
	} {
		require.Equal(t, []string{field}, fieldsOf(w, add(v, c)))
	}
	twice := catalog.NewConstraint{Name: "twice", Expression: "a"}
	require.Equal(t, []string{"constraints[1].name"}, fieldsOf(w, add(v, twice, twice)))
	require.ErrorIs(t, add(catalog.MemberViewer(org, w.user()), twice), catalog.ErrNotFound)

	require.ErrorIs(t, w.DeleteConstraint(w.ctx, catalog.MemberViewer(org, w.user()), table.ID, "known"), catalog.ErrNotFound)
	require.ErrorIs(t, w.DeleteConstraint(w.ctx, v, second.ID, "known"), catalog.ErrNotFound)
	require.NoError(t, w.DeleteConstraint(w.ctx, v, table.ID, "KNOWN"))
	require.ErrorIs(t, w.DeleteConstraint(w.ctx, v, table.ID, "known"), catalog.ErrNotFound)
	require.Equal(t, all[1:], names(org, table.DeltaID))

	// Constraints refer to the Delta id of the table.
	require.NoError(t, w.DropTable(w.ctx, v, table.ID, catalog.AnyVersion))
	require.Equal(t, all[1:], names(org, table.DeltaID))
}

// governedByConstraints checks that a table that only has constraints is governed too,
// and that they can be copied to a new identity.
func governedByConstraints(t *testing.T, w *world) {
	for _, keep := range []bool{true, false} {
		org, owner := w.org()
		config := w.config(org, owner, w.defaultWorkspace(org), "c")
		table := w.table(config, "t")
		v := catalog.MemberViewer(org, owner)
		require.NoError(t, w.AddConstraints(w.ctx, v, table.ID, []catalog.NewConstraint{{Name: "c", Expression: "a > 0"}}, owner))
		stranger := w.delta()
		w.sync(config, at("t", stranger))
		now := w.reload(table)
		require.Equal(t, catalog.TableIdentityChanged, now.State)
		adopter := w.member(org, catalog.RoleAdmin)
		_, err := w.AdoptIdentity(w.ctx, v, table.ID, now.Version, keep, adopter)
		require.NoError(t, err)
		list, err := w.Constraints(w.ctx, org, stranger)
		require.NoError(t, err)
		if !keep {
			require.Empty(t, list)
			continue
		}
		require.Len(t, list, 1)
		require.Equal(t, "a > 0", list[0].Expression)
		require.Equal(t, adopter, list[0].CreatedBy)
		list, err = w.Constraints(w.ctx, org, table.DeltaID)
		require.NoError(t, err)
		require.Len(t, list, 1, "the previous table is still governed")
	}
}

// rememberedRules checks that the rules of the newest known version of a registration are
// remembered, with the table's own id.
func rememberedRules(t *testing.T, w *world) {
	org, owner := w.org()
	config := w.config(org, owner, w.defaultWorkspace(org), "c")
	table, second := w.table(config, "t"), w.table(config, "u")
	known := func(id catalog.TableID, delta catalog.DeltaID) catalog.RememberedRules {
		t.Helper()
		found, err := w.RememberedRules(w.ctx, id, delta)
		require.NoError(t, err)
		return found
	}
	remember := func(version int64, stated catalog.StatedRules, dropped ...catalog.DroppedRule) catalog.RememberedRules {
		t.Helper()
		k := catalog.RememberedRules{Table: table.ID, DeltaID: table.DeltaID, Version: version, Stated: stated, Dropped: dropped}
		require.NoError(t, w.RememberRules(w.ctx, k))
		return k
	}
	nothing := catalog.RememberedRules{}
	w.same(nothing, known(table.ID, table.DeltaID))
	epoch := w.epochNow()
	stated := catalog.StatedRules{Primary: []string{"é", "b"}, Unique: []string{"c"}, Required: []string{"b"},
		Checks: map[string]string{"pos": "b > '0'"}}
	first := remember(5, stated, catalog.DroppedRule{Kind: "check", Name: "x"})
	w.same(first, known(table.ID, table.DeltaID))
	w.same(nothing, known(second.ID, table.DeltaID))
	w.same(nothing, known(table.ID, second.DeltaID))
	remember(4, catalog.StatedRules{})
	w.same(first, known(table.ID, table.DeltaID))
	w.same(remember(5, catalog.StatedRules{Unique: []string{"c"}}), known(table.ID, table.DeltaID))
	require.Equal(t, epoch, w.epochNow())
	require.NoError(t, w.RememberRules(w.ctx, catalog.RememberedRules{Table: catalog.NewID[catalog.TableID](), DeltaID: table.DeltaID}))

	// Another table at the place has its own rules, and a registration that is gone has none.
	other := first
	other.DeltaID, other.Version = w.delta(), 1
	require.NoError(t, w.RememberRules(w.ctx, other))
	w.same(other, known(table.ID, other.DeltaID))
	w.same(nothing, known(table.ID, table.DeltaID))
	require.NoError(t, w.DeleteStorageConfig(w.ctx, catalog.SystemViewer(org), config.ID, catalog.AnyVersion))
	w.same(nothing, known(table.ID, other.DeltaID))
}
