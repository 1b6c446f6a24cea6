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

// A copy that is joined with a table in files has no estimates of distinct values, and is another copy
// than one that has them.
func TestCopiesBesideFilesAreUncounted(t *testing.T) {
	w := newWorld(t, shopSetup, shopPredicates)
	const statement = "SELECT count(*) FROM customers c JOIN orders o ON c.id = o.customer_id WHERE c.country = 'x'"
	bind := func(filtered ...bool) []engine.Barrier {
		q, err := parse(t, statement)
		require.NoError(t, err)
		relations := w.relations(t, q, false)
		for i := range relations {
			if filtered[i] {
				relations[i].Filtered, relations[i].Predicate = true, w.predicates[q.Tables()[i].Name]
			}
		}
		plan, err := q.Bind(t.Context(), sharedParser(), relations)
		require.NoError(t, err)
		return plan.Barriers
	}
	both, first := bind(true, true), bind(true, false)
	require.Len(t, both, 2)
	require.Len(t, first, 1)
	require.Empty(t, both[0].Uncounted)
	require.Empty(t, both[1].Uncounted)
	require.Equal(t, both[0].SQL, first[0].SQL)
	require.NotEqual(t, both[0].Name, first[0].Name)
	require.Equal(t, []engine.UncountedColumn{{Name: "id", Type: "INTEGER"}, {Name: "country", Type: "VARCHAR"}}, first[0].Uncounted)
}
