package changes_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/analysistest"
	"github.com/lakewarden/lakewarden/engine/analysis/changes"
)

// explain compares version 0 with version 1.
func explain(t *testing.T, lake *analysistest.Lake, key ...string) (changes.Changes, analysis.Answer) {
	t.Helper()
	in := lake.Input(func(in *analysis.Input) {
		in.VersionFrom, in.VersionTo = 0, 1
		in.Table.PrimaryKey = key
	})
	answer, err := changes.Explain(t.Context(), in)
	require.NoError(t, err)
	return answer.Result.(changes.Changes), answer
}

// rows returns a SELECT of random rows of two columns in addition to id.
func rows(random *rand.Rand, ids []int) string {
	list := make([]string, len(ids))
	for i, id := range ids {
		value := []string{"1.5", "'NaN'", "NULL", "0", "'-0'", "2"}[random.IntN(6)]
		text := []string{"'a'", "'b'", "NULL", "''", "'a''b'"}[random.IntN(5)]
		list[i] = fmt.Sprintf("(%d, CAST(%s AS DOUBLE), CAST(%s AS VARCHAR))", id, value, text)
	}
	return "SELECT * FROM (VALUES " + strings.Join(list, ", ") + ") AS v(id, f, s)"
}

// The counts equal those of set operations over the two versions.
func TestCountsAreThoseOfAVersionDiff(t *testing.T) {
	for seed := range uint64(12) {
		random := rand.New(rand.NewPCG(seed, 1))
		var before, after []int
		for id := range 40 {
			if random.IntN(5) > 0 {
				before = append(before, id)
			}
			if random.IntN(5) > 0 {
				after = append(after, id)
			}
		}
		lake := analysistest.New(t, rows(random, before), rows(random, after))
		a, b := `"lake"."sales"."t" AT (VERSION => 0)`, `"lake"."sales"."t" AT (VERSION => 1)`
		added := lake.Count("SELECT count(*) FROM (SELECT * FROM " + b + " EXCEPT ALL SELECT * FROM " + a + ") AS x")
		removed := lake.Count("SELECT count(*) FROM (SELECT * FROM " + a + " EXCEPT ALL SELECT * FROM " + b + ") AS x")
		newIDs := lake.Count("SELECT count(*) FROM (SELECT id FROM " + b + " EXCEPT ALL SELECT id FROM " + a + ") AS x")
		lostIDs := lake.Count("SELECT count(*) FROM (SELECT id FROM " + a + " EXCEPT ALL SELECT id FROM " + b + ") AS x")

		whole, _ := explain(t, lake)
		require.Equal(t, []int64{added, removed, int64(len(after)) - added}, []int64{whole.Inserted, whole.Deleted, whole.Unchanged})
		require.Nil(t, whole.Updated)
		keyed, _ := explain(t, lake, "id")
		require.Equal(t, []int64{newIDs, lostIDs, added - newIDs}, []int64{keyed.Inserted, keyed.Deleted, *keyed.Updated})
		require.Equal(t, keyed.RowsAfter, keyed.Inserted+*keyed.Updated+keyed.Unchanged)
		require.Equal(t, keyed.RowsBefore, keyed.Deleted+*keyed.Updated+keyed.Unchanged)
		for _, c := range keyed.Columns {
			changed := lake.Count("SELECT count(*) FROM " + a + " JOIN (SELECT * FROM " + b + ") AS n USING (id) WHERE t.\"" + c.Column +
				"\" IS DISTINCT FROM n.\"" + c.Column + "\"")
			if c.Column != "id" {
				require.Equal(t, changed, *c.Changed, c.Column)
			}
		}
	}
}

func TestChangedColumnsAreNamed(t *testing.T) {
	lake := analysistest.New(t, `SELECT range AS id, range AS n, 'x' AS gone, {'a': range} AS deep FROM range(10)`,
		`SELECT range AS id, CAST(range AS DOUBLE) AS n, 'y' AS added, {'a': CASE WHEN range = 3 THEN 99 ELSE range END} AS deep FROM range(10)`)
	r, answer := explain(t, lake, "id")
	require.Equal(t, []string{"added"}, r.AddedColumns)
	require.Equal(t, []string{"gone"}, r.RemovedColumns)
	require.Equal(t, []changes.TypeChange{{Column: "n", From: "BIGINT", To: "DOUBLE"}}, r.ChangedTypes)
	byName := map[string]changes.ColumnChange{}
	for _, c := range r.Columns {
		byName[c.Column] = c
	}
	require.Equal(t, int64(1), *byName["deep"].Changed)
	require.Len(t, byName["deep"].Transitions, 1)
	require.Equal(t, "{'a': 99}", *byName["deep"].Transitions[0].To)
	require.Contains(t, answer.Text, "The type of n changed from BIGINT to DOUBLE.")
}

func TestExamplesShowWhatChanged(t *testing.T) {
	lake := analysistest.New(t, `SELECT range AS id, 'a' AS x, 'b' AS y FROM range(6)`,
		`SELECT range AS id, CASE WHEN range = 2 THEN repeat('z', 5000) ELSE 'a' END AS x, 'b' AS y FROM range(1, 8)`)
	r, answer := explain(t, lake, "id")
	kinds := map[string]int{}
	for _, e := range r.Examples {
		kinds[e.Change]++
		if e.Change == "updated" {
			require.Equal(t, "2", *e.Key["id"])
			require.Equal(t, map[string]*string{"x": e.Before["x"]}, e.Before, "columns that did not change are left out")
			require.Len(t, *e.After["x"], analysis.MaxText)
		}
	}
	require.Equal(t, map[string]int{"inserted": 2, "deleted": 1, "updated": 1}, kinds)
	require.Len(t, answer.References, 1)
	require.Contains(t, answer.Text, answer.References[0].Tag())
}

func TestAKeyThatRepeatsIsNotUsed(t *testing.T) {
	lake := analysistest.New(t, `SELECT 1 AS id, range AS n FROM range(3)`, `SELECT 1 AS id, range AS n FROM range(4)`)
	r, answer := explain(t, lake, "id")
	require.Nil(t, r.Updated)
	require.Equal(t, []int64{1, 0, 3}, []int64{r.Inserted, r.Deleted, r.Unchanged})
	require.Len(t, answer.Warnings, 1)
}

func TestEmptyVersionsAreCompared(t *testing.T) {
	lake := analysistest.New(t, `SELECT 1 AS id FROM range(0)`, `SELECT 1 AS other FROM range(2)`)
	r, _ := explain(t, lake)
	require.Equal(t, []int64{0, 2}, []int64{r.RowsBefore, r.RowsAfter})
	require.Equal(t, []string{"other"}, r.AddedColumns)
}
