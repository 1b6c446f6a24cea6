package worlds_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// writeWorlds are tables that differ in what one caller does not see.
type writeWorlds struct {
	*harness.Server
	tables []string
	caller *harness.Client
}

// newWriteWorlds makes one table for each list of hidden rows, with the same
// visible rows of region eu. Only administrators see the rows of other regions.
func newWriteWorlds(t *testing.T, s *harness.Server, more object, columns []object, visible list, hidden ...list) *writeWorlds {
	w := &writeWorlds{Server: s}
	for i, rows := range hidden {
		name := fmt.Sprintf("w%d", i)
		path := s.Create(name, more, columns...)
		s.Admin.Write(path+"/rows", harness.RowsOf(append(slices.Clone(visible), rows...)...))
		s.Policy(name, "region", harness.AdminsSee)
		s.Policy(name, "region", `{"effect":"permit","subject":{"attribute":"region","op":"eq"},"condition":null}`)
		w.tables = append(w.tables, path)
	}
	w.caller = s.Member("eu@acme.example", "editor", map[string]string{"region": "eu"})
	return w
}

// same sends a dry run to every world and returns the answer that they share.
func (w *writeWorlds) same(to string, body any) (status int, code, text string) {
	w.T.Helper()
	return w.sameAnswer(to+"?dry_run=true", body)
}

// sameAnswer sends a request to every world and returns the answer that they share.
func (w *writeWorlds) sameAnswer(to string, body any) (status int, code, text string) {
	w.T.Helper()
	var first object
	for i, path := range w.tables {
		r := w.caller.Call("POST", path+to, body)
		got := r.JSON(w.T)
		delete(got, "request_id")
		got["status"] = r.Status
		if i == 0 {
			first, status = got, r.Status
		}
		require.Equal(w.T, first, got, "%s %v", to, body)
	}
	code, _ = first["code"].(string)
	raw, err := json.Marshal(first)
	require.NoError(w.T, err)
	return status, code, string(raw)
}

func people() []object {
	return []object{harness.Col("id", "long", "isPrimaryKey", true), harness.Col("region", "string"), harness.Col("name", "string"),
		harness.Col("mail", "string", "isUnique", true)}
}

// TestAMergeOnMoreThanAKeyDoesNotReadHiddenRows checks that a merge does not confirm a guess
// of a hidden row's other values. A dry run does not tell that the key exists, either.
func TestAMergeOnMoreThanAKeyDoesNotReadHiddenRows(t *testing.T) {
	t.Parallel()
	w := newWriteWorlds(t, harness.Shared(t), nil, people(), list{object{"id": 1, "region": "eu", "name": "Ann", "mail": "a"}},
		list{object{"id": 100, "region": "us", "name": "Bob"}}, list{object{"id": 100, "region": "us", "name": "Eve"}})
	for _, on := range []list{{"id", "name"}, {"name", "id"}, {"id", "region", "name"}} {
		for _, matched := range []string{"update", "delete"} {
			_, _, _ = w.same("/rows/merge", object{"on": on, "rows": list{object{"id": 100, "region": "us", "name": "Bob"}}, "when_matched": matched,
				"when_not_matched": "ignore"})
		}
	}
	for _, name := range []string{"Bob", "Eve", "Zoe"} {
		rows := list{object{"id": 100, "region": "eu", "name": name}}
		several, key := object{"on": list{"id", "name"}, "rows": rows}, object{"rows": rows}
		for _, body := range []object{several, key} {
			status, _, text := w.same("/rows/merge", body)
			require.Equal(t, 200, status, text)
			require.Contains(t, text, `"inserted":1,"keysChecked":false`)
		}
		status, code, text := w.sameAnswer("/rows/merge", several)
		require.Equal(t, []any{409, "key_conflict"}, []any{status, code}, text)
		status, code, text = w.sameAnswer("/rows/merge", key)
		require.Equal(t, []any{403, "rls_violation"}, []any{status, code}, "that the key exists is told: %s", text)
	}
	// A unique column allows any number of NULLs, so no hidden row prevents one.
	status, _, text := w.same("/rows/merge", object{"on": list{"mail"}, "rows": list{object{"id": 5, "region": "eu", "mail": nil}}})
	require.Equal(t, 200, status, text)
}

// TestAMergeThatDeletesDoesNotTellHiddenKeysFromMissingOnes checks that who names the keys of
// hidden rows to delete learns nothing about them.
func TestAMergeThatDeletesDoesNotTellHiddenKeysFromMissingOnes(t *testing.T) {
	t.Parallel()
	w := newWriteWorlds(t, harness.Shared(t), nil, people(),
		list{object{"id": 1, "region": "eu", "name": "Ann", "mail": "a"}, object{"id": 2, "region": "eu", "name": "Bea", "mail": "b"}},
		nil, list{object{"id": 100, "region": "us", "name": "Bob"}}, list{object{"id": 100, "region": "us", "name": "Eve", "mail": "e"},
			object{"id": 101, "region": "us", "name": "Bob"}})
	for _, keys := range []list{{object{"id": 100}}, {object{"id": 100}, object{"id": 101}, object{"id": 2}},
		{object{"id": 2}, object{"id": 7}}} {
		for _, rows := range []list{{}, {object{"id": 1, "mail": "b"}}, {object{"id": 5, "region": "eu"}}, {object{"id": 5, "region": "us"}}} {
			for _, matched := range []string{"update", "delete", "ignore"} {
				_, _, _ = w.same("/rows/merge", object{"rows": rows, "delete": keys, "when_matched": matched})
			}
		}
	}
	status, _, text := w.same("/rows/merge", object{"rows": list{}, "delete": list{object{"id": 100}, object{"id": 2}}})
	require.Equal(t, 200, status, text)
	require.Contains(t, text, `"deleted":1`)
	for _, on := range []list{{"id", "name"}, {"name"}, {"id", "region"}} {
		key := object{"id": 100, "name": "Bob", "region": "us"}
		for name := range key {
			if !slices.Contains(on, any(name)) {
				delete(key, name)
			}
		}
		status, _, text := w.same("/rows/merge", object{"rows": list{}, "delete": list{key}, "on": on})
		require.Equal(t, 200, status, text)
		require.Contains(t, text, `"deleted":0`)
	}
	status, code, text := w.same("/rows/merge", object{"rows": harness.RowsOf(object{"id": 100, "region": "eu"})["rows"],
		"delete": list{object{"id": 100}}})
	require.Equal(t, []any{422, "duplicate_key"}, []any{status, code}, text)
}

// TestHiddenPartitionsDoNotDecideWhetherAMergeIsMade checks that whether a filtered caller
// can change a table does not depend on hidden rows and files.
func TestHiddenPartitionsDoNotDecideWhetherAMergeIsMade(t *testing.T) {
	t.Parallel()
	tame, wild := list{}, list{}
	for i := range 70 {
		tame = append(tame, object{"id": 100 + i, "region": "us", "p": i, "n": 1000 + i})
		wild = append(wild, object{"id": 100 + i, "region": "us", "p": i, "n": i})
	}
	asked := list{}
	for i := range 70 {
		asked = append(asked, object{"n": i, "tags": list{"x"}})
	}
	columns := []object{harness.Col("id", "long", "isPrimaryKey", true), harness.Col("region", "string"), harness.Col("p", "integer"),
		harness.Col("n", "integer"), harness.Col("tags", "array<string>")}
	w := newWriteWorlds(t, harness.Shared(t), object{"partition_by": list{"p"}}, columns,
		list{object{"id": 1, "region": "eu", "p": 0, "n": 5000}}, tame, wild)
	status, code, text := w.same("/rows/merge", object{"on": list{"n"}, "rows": asked, "when_not_matched": "ignore"})
	require.Equal(t, []any{200, ""}, []any{status, code}, text)
	require.Contains(t, text, `"updated":0`, "the rows that it names are hidden")
	inserted := list{}
	for i := range 70 {
		inserted = append(inserted, object{"id": 200 + i, "region": "eu", "tags": list{"x"}})
	}
	status, _, text = w.same("/rows", harness.RowsOf(inserted...))
	require.Equal(t, 200, status, text)
	got := w.Admin.OK("POST", w.tables[1]+"/rows/merge?dry_run=true", object{"on": list{"id"}, "rows": list{object{"id": 100, "n": 7}}})
	require.Equal(t, 1.0, got["updated"], "who sees every row changes it")
	got = w.Admin.OK("POST", w.tables[1]+"/rows/update?dry_run=true", object{"where": "id > 0", "set": object{"n": "n + 1"}})
	require.Equal(t, 71.0, got["updated"])
}

// TestHiddenPartitionValuesDoNotDecideWhetherRowsAreChanged uses a hidden partition value
// that the text of a statement cannot hold. A caller who writes such a row must not keep all
// others from changing the table.
func TestHiddenPartitionValuesDoNotDecideWhetherRowsAreChanged(t *testing.T) {
	t.Parallel()
	for value := range strings.SplitSeq("\x00|a\x00'b|a*?[c]#%|a\\*| |../x", "|") {
		columns := []object{harness.Col("id", "long"), harness.Col("region", "string"), harness.Col("p", "string")}
		w := newWriteWorlds(t, harness.Shared(t), object{"partition_by": list{"region", "p"}}, columns,
			list{object{"id": 1, "region": "eu", "p": "x"}},
			list{object{"id": 2, "region": "us", "p": "x"}}, list{object{"id": 2, "region": "us", "p": value}})
		status, _, text := w.same("/rows/update", object{"where": "id < 9", "set": object{"id": "id + 10"}})
		require.Equal(t, 200, status, "%q: %s", value, text)
		status, _, text = w.same("/rows/merge", object{"on": list{"id"}, "rows": list{object{"id": 1, "region": "eu", "p": value}}})
		require.Equal(t, 200, status, "%q: %s", value, text)
		require.Equal(t, list{list{1.0, "eu", "x"}, list{2.0, "us", value}}, w.Admin.Rows("SELECT * FROM "+w.Schema+".w1 ORDER BY id"))
	}
}

// TestMaskedColumnsAreNeitherWrittenNorGuessed checks that callers for whom a column is
// masked neither learn its values nor choose the values that its mask shows.
func TestMaskedColumnsAreNeitherWrittenNorGuessed(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("id", "long", "isPrimaryKey", true), harness.Col("ssn", "string", "isUnique", true),
		harness.Col("n", "integer"))
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 1, "ssn": "s1", "n": 1}, object{"id": 2, "ssn": "s2", "n": 2}))
	s.Rule("mask", "t", "ssn", `{"effect":"permit","subject":{"role":"admin"},"mask":"hash"}`)
	caller := s.Member("m@acme.example", "editor", nil)
	refuse := func(to string, body any, field string, header ...string) {
		t.Helper()
		r := caller.Call("POST", path+to, body, header...)
		_, fields := r.Problem(t, 422)
		require.Equal(t, []string{field}, fields, "%s", r.Body)
		require.Contains(t, string(r.Body), "is masked for the caller")
	}
	guesses := list{}
	for i := range 200 {
		guesses = append(guesses, object{"id": 100 + i, "ssn": fmt.Sprintf("s%d", i)})
	}
	refuse("/rows?dry_run=true", harness.RowsOf(guesses...), "rows.ssn")
	refuse("/rows", harness.RowsOf(object{"id": 9}, object{"id": 10, "SSN": nil}), "rows.ssn")
	refuse("/rows", "id,ssn\n9,x\n", "rows.ssn", "Content-Type", "text/csv")
	refuse("/rows/merge", harness.RowsOf(object{"id": 1, "ssn": "x"}), "rows.ssn")
	refuse("/rows/update", object{"where": "id = 1", "set": object{"ssn": "'x'"}}, "set.ssn")
	_, fields := caller.Call("POST", path+"/rows", harness.RowsOf(object{"id": 9}, object{"id": 1}, object{"id": 2})).Problem(t, 409)
	require.Empty(t, fields, "only yes or no is told")
	_, fields = caller.Call("POST", path+"/rows/update", object{"where": "id = 1", "set": object{"id": "2"}}).Problem(t, 409)
	require.Empty(t, fields)

	inserted, updated, _ := caller.Write(path+"/rows/merge", harness.RowsOf(object{"id": 1, "n": 7}, object{"id": 3, "n": 3}))
	require.Equal(t, []float64{1, 1}, []float64{inserted, updated})
	caller.Write(path+"/rows/update", object{"where": "id = 2", "set": object{"n": "9"}})
	require.Equal(t, list{list{1.0, "s1", 7.0}, list{2.0, "s2", 9.0}, list{3.0, nil, 3.0}},
		s.Admin.Rows("SELECT * FROM "+s.Schema+".t ORDER BY id"))
}

// TestRulesOverUnseenColumnsAreNotAsked checks that a caller cannot find the values of a column that it
// does not see by changes of another column that a rule checks together with it: a constraint, a key or
// a domain. The answers are alike whether all, some or none of the rows would satisfy the rule.
func TestRulesOverUnseenColumnsAreNotAsked(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("pairs", `SELECT 50 AS pay, i::INTEGER AS n FROM range(20) t(i) UNION ALL SELECT 5, i FROM range(2) t(i)`, nil,
		harness.Column{"pay", "integer"}, harness.Column{"n", "integer"})
	rules := map[string]func(path string){
		"constraint": func(path string) {
			s.Admin.OK("POST", path+"/constraints", object{"constraints": list{object{"name": "below", "expr": "coalesce(n < pay, true)"}}})
		},
		"key": func(path string) { s.Admin.OK("PUT", path+"/primary-key", object{"columns": list{"n", "pay"}}) },
		"filter": func(path string) {
			table := "lake." + s.Schema + "." + path[strings.LastIndexByte(path, '/')+1:]
			s.Admin.OK("POST", "/v1/organisations/"+s.Boot.OrganisationID+"/policies", object{"kind": "rls", "tableFqn": table,
				"policyText": `permit (principal, action, resource) when { resource.n < 5 || resource.pay > 40 };`})
		},
		"domain": func(path string) {
			s.Admin.OK("PUT", path+"/columns/n/domain/hierarchical/table", object{"parent_column": "pay",
				"table_path": "lake." + s.Schema + ".pairs", "parent_key": "pay", "child_key": "n"})
		},
	}
	for rule, add := range rules {
		for _, kind := range []string{"cls", "mask"} {
			var first []string
			for world, pays := range [][]int{{50, 50}, {5, 50}, {5, 5}} {
				name := fmt.Sprintf("%s_%s%d", rule, kind, world)
				path := s.Create(name, nil, harness.Col("id", "long"), harness.Col("pay", "integer"), harness.Col("n", "integer"),
					harness.Col("other", "integer"))
				merged := func(rows ...any) object { return object{"on": list{"id"}, "rows": rows} }
				for i, p := range pays {
					s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": i, "pay": p, "n": i}))
				}
				add(path)
				s.Rule(kind, name, "pay", harness.AdminsSee)
				caller := s.Member(name+"@acme.example", "editor", nil)
				var got []string
				for _, dry := range []string{"", "?dry_run=true"} {
					for to, body := range map[string]object{
						"/rows/update": {"where": "id < 2", "set": object{"N": "10"}},
						"/rows/merge":  merged(object{"id": 0, "n": 10}, object{"id": 1, "n": 10}),
					} {
						r := caller.Call("POST", path+to+dry, body)
						code, fields := r.Problem(t, 422)
						require.Equal(t, "invalid_field", code)
						require.NotContains(t, string(r.Body), "pay")
						got = append(got, to+fmt.Sprint(fields, r.JSON(t)["message"], r.JSON(t)["details"]))
					}
				}
				slices.Sort(got)
				if world == 0 {
					first = got
				}
				require.Equal(t, first, got, "%s %s", rule, kind)
				for _, name := range []string{"pay", "none"} {
					r := caller.Call("POST", path+"/rows/update", object{"where": "true", "set": object{name: "1"}})
					require.NotContains(t, string(r.Body), "is checked together")
				}
				// What is not checked together with the column can be changed.
				caller.Write(path+"/rows/update", object{"where": "id < 2", "set": object{"other": "10"}})
				caller.Write(path+"/rows/merge", merged(object{"id": 0, "other": 11}))
				caller.Write(path+"/rows/merge?when_matched=ignore", merged(object{"id": 0, "n": 11}))
				if rule == "constraint" && world == 2 {
					_, fields := s.Admin.Call("POST", path+"/rows/merge", merged(object{"id": 0, "n": 10})).Problem(t, 422)
					require.Equal(t, []string{"rows[0]"}, fields, "who sees the column is told the row")
				}
			}
		}
	}
}
