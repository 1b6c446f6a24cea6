package sqlguard_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
)

func copyOf(t *testing.T, statement string, r sqlguard.Relation) engine.Barrier {
	t.Helper()
	q, err := parse(t, statement)
	require.NoError(t, err)
	plan, err := q.Bind(t.Context(), sharedParser(), []sqlguard.Relation{r})
	require.NoError(t, err)
	require.Len(t, plan.Barriers, 1)
	return plan.Barriers[0]
}

// TestSecretsOfMasksStandInNoSQL: they reach the copies that need them as
// parameters, and tell copies apart.
func TestSecretsOfMasksStandInNoSQL(t *testing.T) {
	w := newWorld(t, shopSetup, shopPredicates)
	r := sqlguard.Relation{
		Columns: w.columns["customers"], Source: source("customers"),
		ColumnExpr: map[string]string{"name": `md5($key || "t"."name")`, "country": "NULL"},
		Secrets:    map[string]string{"key": "hush", "other": "quiet"},
	}
	with := copyOf(t, "SELECT name, country FROM customers", r)
	require.Equal(t, map[string]any{"key": "hush"}, with.Args.Named)
	require.NotContains(t, with.SQL, "hush")
	require.Empty(t, copyOf(t, "SELECT country FROM customers", r).Args.Named, "a copy without the column needs no secret")
	r.Secrets = map[string]string{"key": "psst"}
	require.NotEqual(t, with.Name, copyOf(t, "SELECT name, country FROM customers", r).Name)
}

// TestRowsInTheOrderOfTheirValues: the copy is sorted by what is seen of it.
func TestRowsInTheOrderOfTheirValues(t *testing.T) {
	w := newWorld(t, shopSetup, shopPredicates)
	r := sqlguard.Relation{Columns: w.columns["customers"][:2], Source: source("customers"), Filtered: true, Sorted: true}
	require.Regexp(t, `^SELECT "t"\."id" AS "id" FROM .* ORDER BY ALL$`, copyOf(t, "SELECT id FROM customers", r).SQL)
	q := parsePlain(t, "SELECT count(*) FROM customers")
	_, ok := q.LeakProof([]sqlguard.Relation{r}, engine.Args{})
	require.False(t, ok, "no reading where it stands: that order is not the files'")
}
