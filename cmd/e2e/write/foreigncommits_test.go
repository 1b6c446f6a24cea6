package write_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestForeignCommitsAreChecked checks that violations of keys, constraints and domains by
// another writer are found without a request.
func TestForeignCommitsAreChecked(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, func(c *harness.Settings) { c.MetricsAddr = "127.0.0.1:0" })
	const rows = `SELECT i AS id, 'n' || i AS name FROM range(3) t(i)`
	columns := []column{{"id", "long"}, {"name", "string"}}
	keyed, plain := s.Table("keyed", rows, nil, columns...), s.Table("plain", rows, nil, columns...)
	s.Admin.OK("PUT", s.TablePath("keyed")+"/primary-key", object{"columns": list{"id"}})
	s.Admin.OK("PUT", s.TablePath("keyed")+"/columns/name/settings", object{"isUnique": true})
	checked := func(outcome string) float64 {
		return s.Metric(t, `lakewarden_foreign_commits_checked_total{outcome="`+outcome+`"}`)
	}
	broken := func(kind string) float64 { return s.Metric(t, `lakewarden_foreign_violations_total{kind="`+kind+`"}`) }
	for _, outcome := range []string{"held", "broken", "failed", "dropped"} {
		require.Zero(t, checked(outcome), "the commits of the table itself were made by this server's kind of writer")
	}
	count := func(table string) any { return s.Admin.Count(s.Schema + "." + table) }

	// Rows that were only moved violate nothing, nor do rows of the server itself, and a
	// table without rules is not checked.
	harness.CommitFirstFileAgain(t, plain, "Apache-Spark/4.0.0", true)
	require.Equal(t, 6.0, count("plain"))
	harness.CommitFirstFileAgain(t, keyed, "Lakewarden/0.0.1", true)
	require.Equal(t, 6.0, count("keyed"))
	harness.CommitFirstFileAgain(t, keyed, "Apache-Spark/4.0.0", false)
	require.Equal(t, 9.0, count("keyed"))

	harness.CommitFirstFileAgain(t, keyed, "Apache-Spark/4.0.0", true)
	require.Equal(t, 12.0, count("keyed"), "the statement that sees it does not wait")
	require.Eventually(t, func() bool { return checked("broken") == 1 }, time.Minute, 20*time.Millisecond)
	require.Equal(t, []float64{1, 1, 0}, []float64{broken("primary_key"), broken("unique"), broken("check")})
	require.Equal(t, []float64{0, 0, 0}, []float64{checked("held"), checked("failed"), checked("dropped")})
	id := s.Admin.OK("GET", s.TablePath("keyed"), nil)["tableId"].(string)
	require.Regexp(t, `"msg":"another writer broke rules of a table","table_id":"`+id+`"`, s.Log.String())
	operator := &harness.Client{T: t, URL: s.MetricsURL(t)}
	for _, name := range []string{"keyed", id} {
		require.NotContains(t, string(operator.Call("GET", "/metrics", nil).Body), name)
	}

	// A table that keeps its rules is checked too.
	fine := s.Table("fine", rows, nil, columns...)
	s.Admin.OK("POST", s.TablePath("fine")+"/constraints", object{"constraints": list{object{"name": "shape",
		"expr": "regexp_matches(name, '^n')"}}})
	harness.CommitFirstFileAgain(t, fine, "Apache-Spark/4.0.0", true)
	require.Equal(t, 6.0, count("fine"))
	require.Eventually(t, func() bool { return checked("held") == 1 }, time.Minute, 20*time.Millisecond)
	require.Equal(t, []float64{1, 0, 0}, []float64{checked("broken"), checked("failed"), checked("dropped")})

	// So is one that has domains only.
	domains := s.Table("domains", rows, nil, columns...)
	at := s.TablePath("domains") + "/columns/"
	s.Admin.OK("PUT", at+"id/domain/reference", object{"table_path": "lake." + s.Schema + ".plain", "table_name": "plain", "column": "id"})
	s.Admin.OK("PUT", at+"name/domain/fixed", object{"values": list{"n0", "n1", "n2"}})
	harness.CommitFirstFileAgain(t, domains, "Apache-Spark/4.0.0", true)
	require.Equal(t, 6.0, count("domains"))
	require.Eventually(t, func() bool { return checked("held") == 2 }, time.Minute, 20*time.Millisecond)
	outside := s.Table("outside", rows, nil, columns...)
	at = s.TablePath("outside") + "/columns/"
	s.Admin.OK("PUT", at+"id/domain/reference", object{"table_path": "lake." + s.Schema + ".plain", "table_name": "plain", "column": "id"})
	s.Admin.OK("PUT", at+"name/domain/fixed", object{"values": list{"n0", "n1"}})
	harness.CommitFirstFileAgain(t, outside, "Apache-Spark/4.0.0", true)
	require.Equal(t, 6.0, count("outside"))
	require.Eventually(t, func() bool { return checked("broken") == 2 }, time.Minute, 20*time.Millisecond)
	require.Equal(t, []float64{1, 1, 0, 1}, []float64{broken("primary_key"), broken("unique"), broken("check"), broken("domain")})
	require.Equal(t, []float64{2, 0, 0}, []float64{checked("held"), checked("failed"), checked("dropped")})
}

// TestMetricsForEverybodySayNothingOfRows checks that /metrics at the address of the API, which
// needs no credential, does not tell what checks after commits of other writers found: a person who
// may write to a bucket could ask for values of hidden rows with them.
func TestMetricsForEverybodySayNothingOfRows(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	const rows = `SELECT i AS id FROM range(3) t(i)`
	s.Table("secret", rows, nil, column{"id", "long"})
	guess := s.Table("guess", rows, nil, column{"id", "long"})
	s.Admin.OK("PUT", s.TablePath("guess")+"/columns/id/domain/reference",
		object{"table_path": "lake." + s.Schema + ".secret", "table_name": "secret", "column": "id"})
	s.Admin.OK("PUT", s.TablePath("guess")+"/columns/id/settings", object{"isUnique": true})
	harness.CommitFirstFileAgain(t, guess, "Apache-Spark/4.0.0", true)
	require.Equal(t, 6.0, s.Admin.Count(s.Schema+".guess"))
	require.Eventually(t, func() bool { return strings.Contains(s.Log.String(), "another writer broke rules of a table") },
		time.Minute, 20*time.Millisecond)
	reply := s.Admin.Call("GET", "/metrics", nil)
	require.Equal(t, 200, reply.Status)
	require.False(t, strings.Contains(string(reply.Body), "lakewarden_foreign_"))
}
