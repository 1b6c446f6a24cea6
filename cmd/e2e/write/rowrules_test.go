package write_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

func TestRulesHoldForEveryWrite(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("id", "long", "isPrimaryKey", true), harness.Col("mail", "string", "isUnique", true),
		harness.Col("n", "integer", "nullable", false))
	post := func(to string, body any, status int, code string) []string {
		t.Helper()
		got, fields := s.Admin.Call("POST", path+to, body).Problem(t, status)
		require.Equal(t, code, got)
		return fields
	}
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 1, "mail": "a", "n": 1}, object{"id": 2, "n": 2}, object{"id": 3, "n": 3},
		object{"id": nil, "n": 4}))
	require.Equal(t, []string{"rows[0].n", "rows[2].n"}, post("/rows", harness.RowsOf(object{"id": 8}, object{"id": 8, "n": 1},
		object{"id": 1}), 422, "rule_violation"))
	require.Equal(t, []string{"rows[1].id"}, post("/rows", harness.RowsOf(object{"id": 9, "n": 1}, object{"id": 2, "n": 1}), 409,
		"key_conflict"))
	require.Equal(t, []string{"rows[0].id"}, post("/rows", harness.RowsOf(object{"n": 1}), 409, "key_conflict"),
		"NULL is a value of a primary key")
	require.Equal(t, []string{"rows[0].mail"}, post("/rows", harness.RowsOf(object{"id": 9, "mail": "a", "n": 1}), 409, "key_conflict"))
	require.Equal(t, []string{"rows[1].id"}, post("/rows", harness.RowsOf(object{"id": 9, "n": 1}, object{"id": 9, "n": 1}), 422,
		"duplicate_key"))
	require.Equal(t, []string{"rows[1].id"}, post("/rows/merge", harness.RowsOf(object{"id": 9, "n": 1}, object{"id": 9, "n": 2}), 422,
		"duplicate_key"))
	require.Equal(t, []string{"set.n"}, post("/rows/update", object{"where": "id = 1", "set": object{"n": "NULL"}}, 422, "rule_violation")[:1])
	post("/rows/update", object{"where": "id = 1", "set": object{"id": "2"}}, 409, "key_conflict")
	post("/rows/update", object{"where": "id > 1", "set": object{"id": "7"}}, 422, "duplicate_key")
	post("/rows/merge", object{"on": list{"id"}, "rows": list{object{"id": 2, "mail": "a"}}}, 409, "key_conflict")
	require.Equal(t, 1.0, s.Admin.OK("GET", path, nil)["version"], "nothing was written")

	_, updated, _ := s.Admin.Write(path+"/rows/update", object{"where": "id IS NOT NULL", "set": object{"id": "id + 1"}})
	require.Equal(t, 3.0, updated, "an update that shifts all keys violates no key")
	inserted, updated, _ := s.Admin.Write(path+"/rows/merge", harness.RowsOf(object{"id": nil, "n": 40},
		object{"id": 1, "n": 10, "mail": "b"}))
	require.Equal(t, []float64{1, 1}, []float64{inserted, updated})
	_, _, deleted := s.Admin.Write(path+"/rows/merge", object{"rows": list{object{"id": 4}, object{"id": 99}}, "when_matched": "delete",
		"when_not_matched": "ignore"})
	require.Equal(t, 1.0, deleted)
	require.Equal(t, list{list{1.0, "b", 10.0}, list{2.0, "a", 1.0}, list{3.0, nil, 2.0}, list{nil, nil, 40.0}},
		s.Admin.Rows("SELECT * FROM "+s.Schema+".t ORDER BY id"))

	dry := s.Admin.OK("POST", path+"/rows?dry_run=true", harness.RowsOf(object{"id": 50, "n": 1}))
	require.Equal(t, 1.0, dry["inserted"])
	require.Equal(t, 4.0, s.Admin.Count(s.Schema+".t"))
}

func TestKeysAreCheckedInTheFilesThatCanHoldThem(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, func(c *harness.Settings) { c.LogLevel = "debug" })
	path := s.Create("t", nil, harness.Col("id", "long", "isPrimaryKey", true))
	for _, first := range []int{0, 10, 20} { // no file can hold one of these keys
		s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": first}, object{"id": first + 5}))
	}
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 11}))
	s.Admin.Call("POST", path+"/rows", harness.RowsOf(object{"id": 1}, object{"id": 20})).Problem(t, 409)
	figures := string(s.Admin.Call("GET", "/metrics", nil).Body)
	require.Contains(t, figures, `lakewarden_delta_commits_total{op="rows.insert",outcome="committed"} 4`)
	require.NotContains(t, figures, "key_check", "it would tell everybody where hidden keys lie")

	s.Stop() // so that nobody writes to the log
	var read []float64
	for line := range strings.Lines(s.Log.String()) {
		var entry struct {
			Msg, Op string
			Files   float64
		}
		require.NoError(t, json.Unmarshal([]byte(line), &entry))
		if entry.Msg == "keys checked" {
			require.Equal(t, "rows.insert", entry.Op)
			read = append(read, entry.Files)
		}
	}
	require.Equal(t, []float64{1, 2}, read)
}

func TestWritesKeepToTheRowFilter(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("id", "long", "isPrimaryKey", true), harness.Col("region", "string"),
		harness.Col("secret", "string"), harness.Col("n", "integer"))
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 1, "region": "eu", "secret": "s1", "n": 1},
		object{"id": 2, "region": "us", "secret": "s2", "n": 2}, object{"id": 3, "region": "eu", "n": 3}))
	s.Policy("t", "region", `{"effect":"permit","subject":{"role":"admin"},"condition":null}`)
	s.Policy("t", "region", `{"effect":"permit","subject":{"attribute":"region","op":"eq"},"condition":null}`)
	hidden := s.Admin.OK("POST", "/v1/organisations/"+s.Boot.OrganisationID+"/policies", object{
		"kind": "cls", "tableFqn": "lake." + s.Schema + ".t", "columnName": "secret",
		"definition": object{"effect": "permit", "subject": object{"role": "admin"}},
	})
	require.NotEmpty(t, hidden)
	eu := s.Member("eu@acme.example", "editor", map[string]string{"region": "eu"})
	all := func() list {
		return s.Admin.Rows("SELECT id, region, secret, n FROM " + s.Schema + ".t ORDER BY id")
	}
	before := all()
	deny := func(to string, body any, status int, code string) []string {
		t.Helper()
		r := eu.Call("POST", path+to, body)
		got, fields := r.Problem(t, status)
		require.Equal(t, code, got, "%s", r.Body)
		require.NotContains(t, string(r.Body), "secret")
		return fields
	}
	require.Equal(t, []string{"rows[1]"}, deny("/rows", harness.RowsOf(object{"id": 10, "region": "eu"}, object{"id": 11, "region": "us"}),
		403, "rls_violation"))
	require.Equal(t, []string{"rows[0]"}, deny("/rows", harness.RowsOf(object{"id": 10}), 403, "rls_violation"), "NULL is not visible")
	require.Empty(t, deny("/rows", harness.RowsOf(object{"id": 2, "region": "eu"}), 409, "key_conflict"),
		"of hidden rows only yes or no is told")
	deny("/rows/update", object{"where": "id = 1", "set": object{"region": "'us'"}}, 403, "rls_violation")
	deny("/rows/merge", harness.RowsOf(object{"id": 2, "region": "eu", "n": 9}), 403, "rls_violation")
	_, _, none := eu.Write(path+"/rows/merge", object{"rows": list{object{"id": 2, "region": "eu"}}, "when_matched": "delete",
		"when_not_matched": "ignore"})
	require.Zero(t, none, "a row that is not inserted meets no hidden row")
	deny("/rows/merge", harness.RowsOf(object{"id": 1, "region": "us"}), 403, "rls_violation")
	require.Equal(t, before, all())

	_, updated, _ := eu.Write(path+"/rows/update", object{"where": "true", "set": object{"n": "n + 100"}})
	require.Equal(t, 2.0, updated)
	_, updated, _ = eu.Write(path+"/rows/update", object{"where": "region = 'us'", "set": object{"n": "0"}})
	require.Equal(t, 0.0, updated, "hidden rows are not met")
	inserted, updated, _ := eu.Write(path+"/rows/merge", harness.RowsOf(object{"id": 1, "n": 7}, object{"id": 4, "region": "eu"}))
	require.Equal(t, []float64{1, 1}, []float64{inserted, updated})
	// On columns that are not a key, hidden rows do not match.
	_, updated, _ = eu.Write(path+"/rows/merge", object{"on": list{"region"}, "rows": list{object{"region": "us", "n": 5}},
		"when_not_matched": "ignore"})
	require.Equal(t, 0.0, updated)
	_, _, deleted := eu.Write(path+"/rows/delete", object{"where": "id IN (2, 3)"})
	require.Equal(t, 1.0, deleted)
	require.Equal(t, list{list{1.0, "eu", "s1", 7.0}, list{2.0, "us", "s2", 2.0}, list{4.0, "eu", nil, nil}}, all(),
		"hidden columns keep their values")
	deny("/rows", harness.RowsOf(object{"id": 20, "region": "eu", "no_such": 1}), 422, "invalid_value")

	s.Member("viewer@acme.example", "viewer", map[string]string{"region": "eu"}).Call("POST", path+"/rows",
		harness.RowsOf(object{"id": 30, "region": "eu"})).Problem(t, 403)
	s.Admin.OK("DELETE", path, nil)
	eu.Call("POST", path+"/rows", harness.RowsOf(object{"id": 30, "region": "eu"})).Problem(t, 404)
}
