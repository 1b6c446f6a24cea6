package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHiddenFilesDoNotMoveRows: two tables with the same visible rows, one with
// more files of hidden rows than a list has room for otherwise.
func TestHiddenFilesDoNotMoveRows(t *testing.T) {
	s := startServer(t, nil)
	columns := []column{{"k", "long"}, {"p", "long"}, {"tenant", "string"}}
	visible := `SELECT * FROM (VALUES (1, 7, 'a'), (3, 5, 'a'), (2, 6, 'a'), (4, 5, 'a')) v(k, p, tenant)`
	s.table("few", visible, []string{"p"}, columns...)
	s.table("many", visible+` UNION ALL SELECT i, CASE WHEN i < 80 THEN i - 80 ELSE i END, 'b' FROM range(160) r(i)`, []string{"p"}, columns...)
	reader := s.member("reader@acme.example", "viewer", map[string]string{"tenant": "a"})
	for _, table := range []string{"few", "many"} {
		s.policy(table, "tenant", `{"effect":"permit","subject":{"attribute":"tenant","op":"eq"},"condition":null}`)
	}
	for _, sql := range []string{
		"SELECT k FROM {t}", "SELECT k FROM {t} LIMIT 1", "SELECT list(k) FROM {t}", "SELECT k, p FROM {t} WHERE p > 4", "SELECT first(p) FROM {t}",
		"SELECT p, count(*) FROM {t} GROUP BY p",
	} {
		few, many := reader.rows(strings.ReplaceAll(sql, "{t}", s.schema+".few")), reader.rows(strings.ReplaceAll(sql, "{t}", s.schema+".many"))
		require.NotEmpty(t, few)
		require.Equal(t, few, many, sql)
	}
}
