package bench

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/oracletest"
)

// generate runs a generator with a seed and returns its truth and the path of its tables.
func generate(t *testing.T, measure string, rows, seed int) (*planted, string) {
	t.Helper()
	python := oracletest.Python(t)
	text, err := plantedScript("folder", measures[measure])
	require.NoError(t, err)
	folder := filepath.Join(t.TempDir(), measure)
	args := []string{"-c", text, folder, strconv.Itoa(rows), strconv.Itoa(seed)}
	switch measure {
	case "anomalies":
		flights, err := filepath.Abs("../cmd/lakewarden/command/demodata/flights.parquet")
		require.NoError(t, err)
		args = append(args, flights)
	case "clean":
		args = append(args, folder+"-whole")
	}
	out, err := exec.CommandContext(t.Context(), python, args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	truth, err := os.ReadFile(folder + ".json")
	require.NoError(t, err)
	p := &planted{}
	require.NoError(t, json.Unmarshal(truth, p))
	return p, folder
}

func TestGeneratorsPlantWhatTheyShould(t *testing.T) {
	people, folder := generate(t, "duplicates", 300, 3)
	require.Len(t, people.Entities, 300)
	different := map[int]bool{}
	for _, entity := range people.Entities {
		different[entity] = true
	}
	require.Len(t, different, 180, "six of ten rows are originals")
	require.Equal(t, map[string][]string{"people": {"id"}}, people.Keys)
	require.DirExists(t, filepath.Join(folder, "people", "_delta_log"))
	again, _ := generate(t, "duplicates", 300, 3)
	require.Equal(t, people, again, "a seed determines the tables")
	other, _ := generate(t, "duplicates", 300, 4)
	require.NotEqual(t, people.Entities, other.Entities)

	keyed, _ := generate(t, "standardize", 2000, 3)
	require.Greater(t, len(keyed.Clusters), 100)

	flights, _ := generate(t, "anomalies", 2, 3)
	kinds := map[string]int{}
	for _, d := range flights.Defects {
		kinds[d.Kind]++
	}
	require.Len(t, kinds, 17)
	require.Len(t, flights.Defects, 34)

	missing, _ := generate(t, "placeholders", 1000, 3)
	require.Len(t, missing.Placeholders, 22)

	typed, _ := generate(t, "classify", 50, 3)
	require.Len(t, typed.Columns, 60)

	mapping, _ := generate(t, "mapping", 20, 3)
	pairs, bare := 0, 0
	for _, request := range mapping.Requests {
		require.Len(t, request.Targets, len(request.Headers))
		for _, header := range request.Headers {
			pairs, bare = pairs+1, bare+count(len(header.Values) == 0)
		}
	}
	require.Equal(t, []int{50, 25}, []int{pairs, bare})
}

func TestGeneratedVersionsDiffer(t *testing.T) {
	versions, _ := generate(t, "changes", 100, 3)
	require.Len(t, versions.Differences, 12)
	for _, d := range versions.Differences {
		require.Equal(t, *d.RowsAfter-*d.RowsBefore, *d.Inserted-*d.Deleted)
		require.Equal(t, *d.RowsBefore, *d.Deleted+*d.Updated+*d.Unchanged)
		require.Equal(t, d.Table == "ledger", *d.Updated > 0, "only a key tells which row was updated")
	}
}

// TestRulesAreJudged has plain DuckDB count the violations of rules, on a tenth of the rows and
// on all of them.
func TestRulesAreJudged(t *testing.T) {
	clean, folder := generate(t, "clean", 20, 3)
	require.Len(t, clean.Tables, 20)
	require.Len(t, clean.Keys, 11)
	r := &runner{server: &server{dir: t.TempDir()}, cfg: Config{Python: oracletest.Python(t), Env: os.Environ()}}
	no := false
	rules := []rule{
		{Table: "orders", Kind: "check", Expr: `"total" = "quantity" * "price"`},
		{Table: "orders", Kind: "check", Expr: "delivered > ordered"}, // NULL violates a CHECK
		{Table: "orders", Kind: "check", Expr: "no_such_column > 0"},
		{Table: "orders", Kind: "unique", Columns: []string{"id"}},
		{Table: "orders", Kind: "unique", Columns: []string{"status"}},
		{Table: "orders", Kind: "primary_key", Columns: []string{"id", "status"}},
		{Table: "orders", Kind: "not_null", Columns: []string{"delivered"}},
		{Table: "survey", Kind: "list", Columns: []string{"price"}, Values: []string{"1", "2", "3", "4", "05"}},
		{Table: "survey", Kind: "list", Columns: []string{"area"}, Values: []string{"urban"}},
		{Table: "survey", Kind: "range", Columns: []string{"age"}, Min: "18"},
		{Table: "survey", Kind: "range", Columns: []string{"age"}, Min: "18", Max: "84", Inclusive: &no},
		{Table: "orders", Kind: "range", Columns: []string{"ordered"}, Min: "2024-01-01 00:00:00+00", Max: "2024-12-31 23:59:59+00"},
	}
	want := []bool{false, true, true, false, true, false, true, false, true, false, true, false} // violated, or an error
	rulings, err := r.rulings(t.Context(), folder+"-whole", rules)
	require.NoError(t, err)
	for i, said := range rulings {
		require.Equal(t, want[i], said.Violations > 0 || said.Error != "", "%s: %v", rules[i], said)
	}
	require.Contains(t, rulings[2].Error, "BinderException")
	part, err := r.rulings(t.Context(), folder, rules[4:5])
	require.NoError(t, err)
	require.Equal(t, []int64{200, 20}, []int64{rulings[4].Violations, part[0].Violations})
}
