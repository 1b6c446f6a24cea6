package query_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestRepeatedStatementsRevealNothing asks statements again and again with
// arguments, over tables in which a hidden row decides how many files an argument
// needs, and so how a statement is read from its third run on. Nothing but time
// may tell how: every run gives the same bytes.
func TestRepeatedStatementsRevealNothing(t *testing.T) {
	s := harness.Start(t, func(c *harness.Settings) { c.Threads = 1 })
	columns := []column{{"id", "long"}, {"name", "string"}, {"tenant", "string"}}
	for table, hidden := range map[string]int{"mild": 5432, "wild": 777} {
		dir := s.Table(table, `SELECT 29 AS id, 'x9' AS name, 'a' AS tenant`, nil, columns...)
		harness.AppendRows(t, dir, fmt.Sprintf(`SELECT %d AS id, 'hidden' AS name, 'b' AS tenant`, hidden))
		for i := range 8 {
			harness.AppendRows(t, dir, fmt.Sprintf(`SELECT %d + j AS id, CASE WHEN j %% 3 = 0 AND j > 5 THEN 'y' ELSE CASE WHEN j < 5 THEN '7' `+
				`ELSE 'x' || (j %% 5) END END AS name, 'a' AS tenant FROM range(300) r(j)`, 30+1000*i))
		}
	}
	reader := s.Member("reader@acme.example", "viewer", map[string]string{"tenant": "a"})
	for _, table := range []string{"mild", "wild"} {
		s.Policy(table, "tenant", `{"effect":"permit","subject":{"attribute":"tenant","op":"eq"},"condition":null}`)
	}
	for _, c := range []struct {
		sql  string
		args []any
	}{
		{"SELECT DISTINCT CASE WHEN id = $1 THEN 'z' ELSE name END AS n FROM {t} WHERE id IN ($1, $2, $3, $4)", []any{30, 31, 32, 3000}},
		{"SELECT id FROM {t} WHERE CAST([name] AS INTEGER[])[1] >= 0 AND id IN ($1, $2, $3)", []any{30, 32, 34}},
		{"SELECT chr(CASE WHEN id > 100 THEN -1 ELSE 65 END) FROM {t} WHERE id < $1", []any{90}},
		{"SELECT DISTINCT name FROM {t} WHERE id > $1", []any{40}},
		{"SELECT name, count(*), sum(id * $1) FROM {t} GROUP BY name", []any{2}},
		{"SELECT id, name FROM {t} WHERE id > $1", []any{35}},
		{"SELECT id, name FROM {t} WHERE id = $1", []any{3031}},
		{"SELECT r.range, b.id FROM {t} b JOIN range(50) r ON b.id > r.range WHERE b.id BETWEEN $1 AND $2", []any{31, 40}},
	} {
		for _, accept := range []string{"application/json", "application/vnd.apache.arrow.stream"} {
			for _, table := range []string{"mild", "wild"} {
				var first harness.Answer
				for run := range 5 {
					a := harness.Ask{Method: "POST", Path: "/v1/query", Accept: accept,
						Body: map[string]any{"sql": strings.ReplaceAll(c.sql, "{t}", s.Schema+"."+table), "parameters": c.args}}
					got, err := reader.Answer(1, a)
					require.NoError(t, err)
					if run == 0 {
						first = got
					}
					require.Equal(t, first.Status, got.Status, "%s, run %d over %s", c.sql, run, table)
					require.Equal(t, first.Body, got.Body, "%s, run %d over %s", c.sql, run, table)
				}
			}
		}
	}
}
