package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
)

// TestNoSpellingTellsOfAHiddenColumn: names have other spellings in SQL and in JSON.
func TestNoSpellingTellsOfAHiddenColumn(t *testing.T) {
	s := startServer(t, nil)
	odd := []string{"P&L", `a"b`, "x`y", "naïve <b>"}
	columns, values := []column{{"id", "long"}, {"P", "string"}}, "SELECT i AS id, 'p' || i AS P"
	for i := range odd {
		columns = append(columns, column{fmt.Sprintf("c%d", i), "long"})
		values += fmt.Sprintf(", i + %d AS c%d", 8100+i, i)
	}
	s.table("books", values+" FROM range(5) t(i)", nil, columns...)
	path := s.tablePath("books")
	for i, name := range odd {
		s.admin.ok("PATCH", fmt.Sprintf("%s/columns/c%d", path, i), object{"name": name})
	}
	s.admin.ok("PUT", path+"/primary-key", object{"columns": list{"id", odd[0]}})
	for i, name := range odd {
		quoted := `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
		s.admin.ok("POST", path+"/constraints", object{"constraints": list{
			object{"name": fmt.Sprintf("odd%d", i), "expr": quoted + fmt.Sprintf(" > %d", 8099+i)},
			object{"name": fmt.Sprintf("kept%d", i), "expr": quoted + fmt.Sprintf(" / 1 > %d", 8099+i)},
		}})
		s.rule("cls", "books", name, viewersNot)
	}
	s.admin.ok("POST", path+"/constraints", object{"constraints": list{object{"name": "seen", "expr": "P <> 'P&L'"}}})
	viewer := s.member("v@acme.example", "viewer", nil)
	for _, r := range []reply{viewer.call("GET", path, nil), viewer.call("GET", path+"/constraints", nil), viewer.call("GET", path+"/columns", nil)} {
		require.Equal(t, 200, r.status)
		var body object
		require.NoError(t, json.Unmarshal(r.body, &body))
		properties, _ := body["properties"].(map[string]any)
		require.NotContains(t, properties, "lakewarden.primaryKey")
		text := fmt.Sprint(body)
		for i, name := range odd {
			require.NotContains(t, strings.ReplaceAll(text, "'P&L'", ""), name)
			require.NotContains(t, text, fmt.Sprint(8099+i))
		}
	}
	require.Equal(t, []string{"seen"}, viewer.constraintNames(path), "a text is no column")
	require.Len(t, s.admin.constraintNames(path), 2*len(odd)+1)
	code, _ := s.admin.call("DELETE", path+"/columns/P", nil).problem(t, 409)
	require.Equal(t, "column_in_use", code)
}

func (c *client) constraintNames(path string) (out []string) {
	c.t.Helper()
	for _, one := range c.ok("GET", path+"/constraints", nil)["constraints"].([]any) {
		out = append(out, one.(map[string]any)["name"].(string))
	}
	return out
}

// TestAnUnreadableConstraintTellsNothing: one of another writer that has no certain
// meaning here is about all that its text mentions.
func TestAnUnreadableConstraintTellsNothing(t *testing.T) {
	s := startServer(t, nil)
	dir := s.table("t", "SELECT i AS id, i AS c FROM range(3) t(i)", nil, column{"id", "long"}, column{"c", "long"})
	path := s.tablePath("t")
	s.admin.ok("PATCH", path+"/columns/c", object{"name": "a`b"})
	s.rule("cls", "t", "a`b", viewersNot)
	bucket, err := file.New(dir)
	require.NoError(t, err)
	snap, err := delta.Load(t.Context(), bucket, delta.Options{})
	require.NoError(t, err)
	a := snap.Alter()
	require.NoError(t, a.AddConstraint("theirs", "some_udf(`a``b`) <> 4711"))
	change, err := a.Change()
	require.NoError(t, err)
	txn := snap.Begin(delta.Operation{Name: "ADD CONSTRAINT"})
	txn.Alter(change)
	_, err = txn.Commit(t.Context())
	require.NoError(t, err)
	viewer := s.member("v@acme.example", "viewer", nil)
	require.Empty(t, viewer.constraintNames(path))
	require.NotContains(t, string(viewer.call("GET", path, nil).body), "4711")
	require.Equal(t, []string{"theirs"}, s.admin.constraintNames(path))
}

// TestConstraintsAreNoDictionaryOfMaskedValues: what stands in a constraint over a
// masked column can be held against its hashes.
func TestConstraintsAreNoDictionaryOfMaskedValues(t *testing.T) {
	s := startServer(t, nil)
	s.table("t", "SELECT i AS id, 'grade-' || i AS grade FROM range(3) t(i)", nil, column{"id", "long"}, column{"grade", "string"})
	path := s.tablePath("t")
	s.admin.ok("POST", path+"/constraints", object{"constraints": list{
		object{"name": "known", "expr": "Grade IN ('grade-0', 'grade-1', 'grade-2')"},
		object{"name": "kept", "expr": "right(grade, 1) || 'grade-2' <> ''"}, object{"name": "natural", "expr": "id >= 0"},
	}})
	s.rule("mask", "t", "grade", `{"effect":"forbid","subject":{"role":"builder"},"mask":"hash"}`)
	ben := s.member("ben@acme.example", "builder", nil)
	require.Equal(t, []string{"natural"}, ben.constraintNames(path))
	require.NotContains(t, string(ben.call("GET", path, nil).body), "grade-")
	require.Contains(t, ben.ok("GET", path, nil)["properties"], "delta.constraints.natural")
	for _, name := range []string{"known", "kept"} {
		require.Equal(t, 404, ben.call("DELETE", path+"/constraints/"+name, nil).status)
	}
	require.ElementsMatch(t, []string{"known", "kept", "natural"}, s.admin.constraintNames(path))
	refused := s.admin.call("PATCH", path+"/columns/grade", object{"name": "mark"})
	require.Contains(t, string(refused.body), "the constraint known names it")
}
