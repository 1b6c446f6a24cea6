package query_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestFilesOutsideTheFilterAreNotRead takes files away that a row filter, or a
// condition of the statement next to it, lets the reader skip. A statement that
// opened one of them would fail.
func TestFilesOutsideTheFilterAreNotRead(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	columns := []column{{"id", "long"}, {"region", "string"}, {"day", "date"}}
	sql := `SELECT i AS id, 'r' || (i // 1000) AS region, DATE '2020-01-01' + (i // 1000)::INTEGER AS day FROM range(4000) t(i)`
	folders := map[string]string{
		"by_partition":  s.Table("by_partition", sql, []string{"region"}, columns...),
		"by_statistics": s.Table("by_statistics", sql, []string{"day"}, columns...),
	}
	ana := s.Member("ana@acme.example", "viewer", map[string]string{"region": "r2"})
	for name, folder := range folders {
		s.Policy(name, "region", `{"effect":"permit","subject":{"attribute":"region","op":"eq"},"condition":null}`)
		before := ana.Rows("SELECT count(*), min(id), max(id) FROM " + s.Schema + "." + name)
		require.Equal(t, []any{[]any{1000.0, 2000.0, 2999.0}}, before, name)
		removed := removeFilesExcept(t, s, name, folder)
		require.Equal(t, 3, removed, name)
	}
	for name := range folders {
		other := s.Member(name+"@acme.example", "viewer", map[string]string{"region": "r2"})
		require.Equal(t, []any{[]any{1000.0, 2000.0, 2999.0}}, other.Rows("SELECT count(*), min(id), max(id) FROM "+s.Schema+"."+name), name)
		require.Equal(t, []any{[]any{0.0}}, other.Rows("SELECT count(*) FROM "+s.Schema+"."+name+" WHERE id < 1000"),
			"a condition beside the filter skips too (%s)", name)

		all := s.Member("all"+name+"@acme.example", "viewer", map[string]string{"region": "r1"})
		r := all.Query("SELECT count(*), max(id) FROM " + s.Schema + "." + name)
		code, _ := r.Problem(t, http.StatusConflict)
		require.Equal(t, "data_file_missing", code, "a file that is needed and gone is said to be so")
		require.NotContains(t, string(r.Body), "part-")
		require.NotContains(t, string(r.Body), s.Root)
	}
}

// removeFilesExcept deletes the data files that do not hold region r2. Each of
// the four files holds one region.
func removeFilesExcept(t *testing.T, s *harness.Server, table, folder string) int {
	t.Helper()
	removed := 0
	entries, err := filepath.Glob(filepath.Join(folder, "*.parquet"))
	require.NoError(t, err)
	require.Len(t, entries, 4)
	for _, path := range entries {
		aside := path + ".aside"
		require.NoError(t, os.Rename(path, aside))
		probe := s.Member(filepath.Base(path)+"@acme.example", "viewer", map[string]string{"region": "r2"})
		r := probe.Query("SELECT count(*) FROM " + s.Schema + "." + table)
		if r.Status == http.StatusOK {
			removed++
			continue
		}
		require.NoError(t, os.Rename(aside, path))
	}
	return removed
}
