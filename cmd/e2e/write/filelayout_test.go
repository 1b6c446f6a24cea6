package write_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestHiddenFilesDoNotMoveRows compares two tables with the same visible rows, one of
// which has more files of hidden rows than a list usually has room for.
func TestHiddenFilesDoNotMoveRows(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	columns := []column{{"k", "long"}, {"p", "long"}, {"tenant", "string"}}
	for _, table := range []string{"few", "many"} {
		// The log reads the newest commit first, a list the smallest partition.
		// Files that are appended have no statistics, so none is left out.
		dir := s.Table(table, `SELECT 1 AS k, 5 AS p, 'a' AS tenant`, []string{"p"}, columns...)
		if table == "many" {
			harness.AppendRows(t, dir, `SELECT i AS k, CASE WHEN i < 80 THEN i - 80 ELSE i END AS p, 'b' AS tenant FROM range(160) r(i)`)
		}
		harness.AppendRows(t, dir, `SELECT 3 AS k, 7 AS p, 'a' AS tenant`)
		harness.AppendRows(t, dir, `SELECT 2 AS k, 6 AS p, 'a' AS tenant`)
	}
	reader := s.Member("reader@acme.example", "viewer", map[string]string{"tenant": "a"})
	for _, table := range []string{"few", "many"} {
		s.Policy(table, "tenant", `{"effect":"permit","subject":{"attribute":"tenant","op":"eq"},"condition":null}`)
	}
	for _, sql := range []string{
		"SELECT k FROM {t}", "SELECT k FROM {t} LIMIT 1", "SELECT list(k) FROM {t}", "SELECT k, p FROM {t} WHERE p > 4",
		"SELECT first(p) FROM {t}",
		"SELECT p, count(*) FROM {t} GROUP BY p",
	} {
		few, many := reader.Rows(strings.ReplaceAll(sql, "{t}", s.Schema+".few")), reader.Rows(strings.ReplaceAll(sql, "{t}", s.Schema+".many"))
		require.NotEmpty(t, few)
		require.Equal(t, few, many, sql)
	}
}
