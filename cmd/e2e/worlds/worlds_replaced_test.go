package worlds_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
)

// replacedWorld is a table that was replaced by one that is the same in both worlds.
type replacedWorld struct{ worldTable }

// replacedWorlds returns tables whose versions 0 to 2 are closed to the callers and have
// other rows, files and columns in the wild world. Version 3 is the table that replaced
// them.
func replacedWorlds(wild bool) []replacedWorld {
	t := worldTable{columns: []column{{"id", "long"}, {"tenant", "string"}, {"word", "string"}}}
	t.commits = [][]worldFile{
		{{sql: "SELECT i AS id, 'b' AS tenant, 'w' || i AS word FROM range(20) r(i)"}},
		{{sql: "SELECT 100 + i AS id, 'a' AS tenant, 'w' AS word FROM range(5) r(i)"}},
	}
	if wild {
		t.columns = append(t.columns, column{"secret_column", "map<string,integer>"})
		rows := "SELECT -i AS id, '" + harness.Canary + "' || i AS tenant, CASE WHEN i <> 3 THEN repeat('" + harness.Canary +
			"', 9) END AS word, MAP {'" + harness.Canary + "': 1} AS secret_column FROM range(%d) r(i)"
		t.commits = [][]worldFile{
			{{sql: fmt.Sprintf(rows, 3000), rowGroup: 2048}, {sql: fmt.Sprintf(rows, 1)}, {sql: fmt.Sprintf(rows, 7), gone: true}},
			{{sql: fmt.Sprintf(rows, 900)}},
		}
	}
	var out []replacedWorld
	for _, name := range []string{"byrows", "byhidden", "bymask", "bydeleted", "bycurrent"} {
		t.name = name
		out = append(out, replacedWorld{t})
	}
	return out
}

// replace commits the replacement of the table.
func (w replacedWorld) replace(t testing.TB, root string) {
	t.Helper()
	dir := filepath.Join(root, w.name)
	version := harness.ReplaceTable(t, dir, uuid.NewSHA1(uuid.Nil, []byte(w.name)).String(),
		"SELECT i AS id, 'n' || i AS name FROM range(4) r(i)", column{"id", "long"}, column{"name", "string"})
	at := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	require.NoError(t, os.Chtimes(filepath.Join(dir, logpath.CommitName(version)), at, at))
}

var closedVersion = regexp.MustCompile(`VERSION => [012]\)|2026-01-02`)

// isClosed reports whether a statement reads a version of the table that was replaced.
func isClosed(a harness.Ask) bool { return closedVersion.MatchString(fmt.Sprint(a.Body)) }

// asks returns the requests that could reveal something about the closed versions.
func (w replacedWorld) asks(worlds *worlds) []harness.Ask {
	from, base := worlds.Table(w.name), "/v1/tables/lake/"+worlds.server.Schema+"/"+w.name
	var out []harness.Ask
	for _, at := range []string{"VERSION => 0", "VERSION => 1", "VERSION => 2", "VERSION => 3", "VERSION => 4",
		"TIMESTAMP => '2026-01-02 05:04:05'", "TIMESTAMP => '2020-01-01'", "TIMESTAMP => '2026-12-01'"} {
		for _, statement := range []string{
			"SELECT * FROM %s", "SELECT count(*) FROM %s", "SELECT 1 FROM %s LIMIT 0", "SELECT id FROM %s WHERE false", "SELECT max(word) FROM %s",
			"DESCRIBE SELECT * FROM %s", "SUMMARIZE SELECT * FROM %s",
			"EXPLAIN SELECT * FROM %s", "EXPLAIN ANALYZE SELECT * FROM %s", "SELECT secret_column FROM %s", "SELECT wrod FROM %s",
			"SELECT CAST(word AS INT) FROM %s",
			"SELECT EXISTS (FROM %s)", "SELECT (SELECT word FROM %s)", "WITH c AS (FROM %s) SELECT count(*) FROM c", "SELECT count(*) FROM " + from +
				" n JOIN %s USING (id)", "SELECT * FROM %s UNION ALL BY NAME FROM " + from,
			"SELECT id FROM " + from + " WHERE id IN (SELECT id FROM %s)",
		} {
			a := harness.SQLAsk(fmt.Sprintf(statement, from+" AS o AT ("+at+")"))
			if len(out)%7 == 3 {
				a.Accept = "application/vnd.apache.arrow.stream"
			}
			if !strings.HasPrefix(statement, "EXPLAIN ANALYZE") || isClosed(a) { // it tells times of what is open
				out = append(out, a)
			}
		}
	}
	for _, tail := range []string{"", "/columns", "/details", "/history", "/history?page_size=1", "/history?page_size=2",
		"/effective-policies", "/rows", "/violations", "/constraints",
		"/rows?order_by=word", "/rows?where=" + url.QueryEscape("word = 'w'")} {
		out = append(out, harness.Ask{Method: "GET", Path: base + tail})
	}
	for _, to := range []map[string]any{{"version": 0}, {"version": 1}, {"version": 2}, {"timestamp": "2026-01-02T05:04:05Z"}} {
		out = append(out, harness.Ask{Method: "POST", Path: base + "/restore", Body: to})
	}
	return out
}

// TestTwoWorldsOfReplacedTables compares two worlds that differ in a table that was
// replaced. Callers from whom a policy about it or about the current table hides anything
// must get the same answers, names and errors included.
func TestTwoWorldsOfReplacedTables(t *testing.T) {
	t.Parallel()
	replaced := false
	w := openWorlds(t, 1, func(wild bool) (out []worldTable) {
		for _, table := range replacedWorlds(wild) {
			out = append(out, table.worldTable)
		}
		return out
	})
	s := w.server
	w.replace = func() {
		for _, table := range replacedWorlds(false) {
			if replaced {
				table.replace(t, s.Root)
			}
		}
	}
	// Builders can restore; here they see no more than viewers.
	w.users = append(w.users[:1], s.Member("ben@acme.example", "builder", map[string]string{"tenant": "a"}))
	const own, not = `{"effect":"permit","subject":{"attribute":"tenant","op":"eq"},"condition":null}`,
		`{"effect":"permit","subject":{"role":"admin"}}`
	s.Policy("byrows", "tenant", own)
	s.Rule("cls", "byhidden", "word", not)
	s.Rule("mask", "bymask", "word", not)
	deleted := s.Policy("bydeleted", "tenant", own)
	for _, name := range []string{"byrows", "bydeleted"} {
		s.Policy(name, "", `{"effect":"permit","subject":{"role":"admin"},"condition":null}`)
	}
	pages := map[string]string{}
	for _, u := range w.users {
		for _, table := range replacedWorlds(false) {
			token, ok := u.OK("GET", s.TablePath(table.name)+"/rows?page_size=2", nil)["next_page_token"].(string)
			require.True(t, ok, table.name)
			pages[table.name] = token
		}
	}

	replaced = true
	w.furnish(false)
	for _, table := range replacedWorlds(false) {
		s.Discover()
		if table.name != "bycurrent" {
			s.Adopt(table.name, false)
		}
	}
	s.Policy("bycurrent", "", `{"effect":"permit","subject":{"role":"admin"},"condition":null}`)
	require.Less(t, s.Admin.Call("DELETE", "/v1/organisations/"+s.Boot.OrganisationID+"/policies/"+deleted["id"].(string)+"?expectedVersion=1",
		nil).Status, 300)
	s.Stop()

	var asks []harness.Ask
	for _, table := range replacedWorlds(false) {
		for _, a := range append(table.asks(w), harness.Ask{Method: "GET", Path: s.TablePath(table.name) + "/rows?page_size=2&page_token=" +
			pages[table.name]}) {
			for range w.users { // everybody asks everything
				asks = append(asks, a)
			}
		}
	}
	var answers [2][]harness.Answer
	var naked [2]string
	for i, wild := range []bool{false, true} {
		w.visit(wild, func() {
			answers[i] = w.askAll(asks)
			s.Admin.URL = s.URL
			naked[i] = fmt.Sprint(s.Admin.Rows("SELECT * FROM " + w.Table("byhidden") + " AT (VERSION => 2) ORDER BY ALL"))
		})
	}
	w.compare(asks, answers)
	count := map[int]int{}
	for i, a := range answers[1] {
		count[a.Status]++
		if asks[i].Path == "/v1/query" && isClosed(asks[i]) {
			require.Equal(t, 403, a.Status, "%s: %s", asks[i], a.Body)
		}
	}
	t.Logf("%v", count)
	require.Zero(t, count[500])
	require.Greater(t, count[200], len(asks)/10)
	require.NotEqual(t, naked[0], naked[1], "the worlds differ for those who may see it")
}
