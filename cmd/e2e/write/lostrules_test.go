package write_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// mergedSchema writes a row to a table with delta-rs. If it merges schemas, the marks of fields become
// texts, and numbers are not NOT NULL any more; if it overwrites them, all of that is lost.
const mergedSchema = `
import sys, json, pyarrow as pa, deltalake
columns = {k: pa.array([v], pa.int64() if isinstance(v, int) else pa.string()) for k, v in json.loads(sys.argv[2]).items()}
deltalake.write_deltalake(sys.argv[1], pa.table(columns), mode=sys.argv[3], schema_mode=sys.argv[4])
`

// refusedWith checks the status and the code of a refusal.
func refusedWith(t *testing.T, r harness.Reply, status int, code string) {
	t.Helper()
	got, _ := r.Problem(t, status)
	require.Equal(t, code, got, "%s", r.Body)
}

// state returns the state of a rule among those of GET …/violations.
func state(t *testing.T, c *harness.Client, path, kind, name string) object {
	t.Helper()
	for _, rule := range c.OK("GET", path+"/violations", nil)["rules"].(list) {
		if rule := rule.(object); rule["kind"] == kind && rule["name"] == name {
			return rule
		}
	}
	return nil
}

// Rules that another writer loses with the metadata of fields hold on, and are written again if
// the rows satisfy them; rules that it drops by name are reported.
func TestLostRulesHoldOn(t *testing.T) {
	t.Parallel()
	python := harness.DeltaPython(t)
	s := harness.Start(t, func(c *harness.Settings) { c.MetricsAddr = "127.0.0.1:0" })
	lost := func(outcome string) float64 {
		return s.Metric(t, `lakewarden_foreign_lost_rules_total{outcome="`+outcome+`"}`)
	}
	foreign := func(name, mode, merge string, row object) {
		t.Helper()
		text, err := json.Marshal(row)
		require.NoError(t, err)
		python(mergedSchema, filepath.Join(s.Root, name), string(text), mode, merge)
	}
	create := func(name string) string {
		return s.Create(name, nil, harness.Col("id", "long", "isPrimaryKey", true, "nullable", false),
			harness.Col("mail", "string", "isUnique", true), harness.Col("note", "string", "nullable", false))
	}
	row := func(id, mail, note any) object { return harness.RowsOf(object{"id": id, "mail": mail, "note": note}) }

	t.Run("merged schema", func(t *testing.T) {
		path := create("merged")
		s.Admin.Write(path+"/rows", row(1, "a", "x"))
		foreign("merged", "append", "merge", object{"id": 2, "mail": "b", "note": "y", "more": "z"})
		for _, body := range []object{row(3, "a", "x"), row(1, "c", "x")} {
			refusedWith(t, s.Admin.Call("POST", path+"/rows", body), 409, "key_conflict")
		}
		refusedWith(t, s.Admin.Call("POST", path+"/rows", row(nil, "c", "x")), 422, "rule_violation")
		harness.Within(t, "NOT NULL is written again", func() bool { _, _, nullable := s.Admin.Flags(path, "id"); return !nullable })
		_, unique, _ := s.Admin.Flags(path, "mail")
		require.True(t, unique)
		refusedWith(t, s.Admin.Call("POST", path+"/rows", row(nil, "c", "x")), 422, "rule_violation")
		require.Equal(t, "RESTORE RULES", s.Admin.OK("GET", path+"/history", nil)["versions"].(list)[0].(object)["operation"])
		require.Nil(t, state(t, s.Admin, path, "not_null", "id")["lost"])
	})

	t.Run("overwritten schema", func(t *testing.T) {
		path := create("replaced")
		foreign("replaced", "overwrite", "overwrite", object{"id": 2, "mail": "b", "note": "y"})
		refusedWith(t, s.Admin.Call("POST", path+"/rows", row(3, "b", "x")), 409, "key_conflict")
		harness.Within(t, "the rules are written again", func() bool { _, unique, _ := s.Admin.Flags(path, "mail"); return unique })
		primary, _, _ := s.Admin.Flags(path, "id")
		require.True(t, primary)
		refusedWith(t, s.Admin.Call("POST", path+"/rows", row(3, "b", "x")), 409, "key_conflict")
	})

	t.Run("broken rules", func(t *testing.T) {
		path := create("broken")
		s.Admin.Write(path+"/rows", row(1, "a", "x"))
		foreign("broken", "overwrite", "overwrite", object{"id": 2, "mail": "b", "note": "y"})
		foreign("broken", "append", "merge", object{"id": 3, "mail": "b", "note": nil, "more": "z"})
		before := lost("kept")
		require.Equal(t, object{"kind": "unique", "name": "mail", "columns": list{"mail"}, "holds": false, "violations": 1.0, "lost": "field"},
			state(t, s.Admin, path, "unique", "mail"))
		harness.Within(t, "the broken rules are kept", func() bool { return lost("kept") > before })
		refusedWith(t, s.Admin.Call("POST", path+"/rows", row(4, "b", "x")), 409, "key_conflict")
		refusedWith(t, s.Admin.Call("POST", path+"/rows", row(4, "c", nil)), 422, "rule_violation")
		s.Admin.Write(path+"/rows", row(4, "c", "x"))
		require.Equal(t, "field", state(t, s.Admin, path, "not_null", "note")["lost"])

		// An owner sets the rule again, or gives it up.
		s.Admin.Write(path+"/rows/delete", object{"where": "id = 3"})
		s.Admin.OK("PUT", path+"/columns/mail/settings", object{"isUnique": true})
		require.Nil(t, state(t, s.Admin, path, "unique", "mail")["lost"])
		s.Admin.OK("PUT", path+"/columns/note/settings", object{"isNullable": true})
		require.Nil(t, state(t, s.Admin, path, "not_null", "note"))
		s.Admin.Write(path+"/rows", row(5, "d", nil))
	})

	t.Run("rules dropped by name", func(t *testing.T) {
		path := create("dropped")
		s.Admin.OK("POST", path+"/constraints", object{"constraints": list{object{"name": "positive", "expr": "id > 0"}}})
		s.Admin.Write(path+"/rows", row(1, "a", "x"))
		before := lost("dropped")
		python(`
import sys, deltalake
deltalake.DeltaTable(sys.argv[1]).alter.drop_constraint("positive")
deltalake.DeltaTable(sys.argv[1]).alter.drop_column_not_null("note")
`, filepath.Join(s.Root, "dropped"))
		s.Admin.Write(path+"/rows", row(-1, "b", nil))
		for i := range 2 {
			require.Equal(t, object{"kind": "check", "name": "positive", "columns": list{}, "holds": false, "violations": nil, "lost": "name"},
				state(t, s.Admin, path, "check", "positive"), "%d", i)
			require.Equal(t, "name", state(t, s.Admin, path, "not_null", "note")["lost"])
			harness.Within(t, "the dropped rules are noted", func() bool { return lost("dropped") >= before+2 })
		}
		_, _, nullable := s.Admin.Flags(path, "note")
		require.True(t, nullable)
		require.Contains(t, s.Log.String(), "another writer dropped rules by name")
		s.Admin.OK("POST", path+"/columns", object{"name": "later", "type": "long"})
		require.Nil(t, state(t, s.Admin, path, "check", "positive"))
		_, unique, _ := s.Admin.Flags(path, "mail")
		require.True(t, unique)
	})

	t.Run("rules that this server removes", func(t *testing.T) {
		path := create("removed")
		s.Admin.Write(path+"/rows", row(1, "a", "x"))
		s.Admin.OK("PUT", path+"/columns/mail/settings", object{"isUnique": false})
		s.Admin.OK("PUT", path+"/primary-key", object{"columns": list{}})
		for _, column := range []string{"id", "note"} {
			s.Admin.OK("PUT", path+"/columns/"+column+"/settings", object{"isNullable": true})
		}
		foreign("removed", "append", "merge", object{"id": 2, "mail": "b", "note": "y", "more": "z"})
		s.Admin.Write(path+"/rows", row(1, "a", nil))
		for _, rule := range s.Admin.OK("GET", path+"/violations", nil)["rules"].(list) {
			require.Nil(t, rule.(object)["lost"], "%v", rule)
		}
	})
}
