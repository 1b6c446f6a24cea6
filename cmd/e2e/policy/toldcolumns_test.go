package policy_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
)

// TestNoSpellingRevealsAHiddenColumn tries the spellings that a name can have in SQL and
// in JSON.
func TestNoSpellingRevealsAHiddenColumn(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	const firstOdd = 810_467_923_518_100 // long, so that no identifier or time contains it
	odd := []string{"P&L", `a"b`, "x`y", "naïve <b>"}
	columns, values := []column{{"id", "long"}, {"P", "string"}}, "SELECT i AS id, 'p' || i AS P"
	for i := range odd {
		columns = append(columns, column{fmt.Sprintf("c%d", i), "long"})
		values += fmt.Sprintf(", i + %d AS c%d", firstOdd+i, i)
	}
	s.Table("books", values+" FROM range(5) t(i)", nil, columns...)
	path := s.TablePath("books")
	for i, name := range odd {
		s.Admin.OK("PATCH", fmt.Sprintf("%s/columns/c%d", path, i), object{"name": name})
	}
	s.Admin.OK("PUT", path+"/primary-key", object{"columns": list{"id", odd[0]}})
	for i, name := range odd {
		quoted := `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
		s.Admin.OK("POST", path+"/constraints", object{"constraints": list{
			object{"name": fmt.Sprintf("odd%d", i), "expr": quoted + fmt.Sprintf(" > %d", firstOdd-1+i)},
			object{"name": fmt.Sprintf("kept%d", i), "expr": quoted + fmt.Sprintf(" / 1 > %d", firstOdd-1+i)},
		}})
		s.Rule("cls", "books", name, harness.ViewersNot)
	}
	s.Admin.OK("POST", path+"/constraints", object{"constraints": list{object{"name": "seen", "expr": "P <> 'P&L'"}}})
	viewer := s.Member("v@acme.example", "viewer", nil)
	for _, r := range []harness.Reply{viewer.Call("GET", path, nil), viewer.Call("GET", path+"/constraints", nil),
		viewer.Call("GET", path+"/columns", nil)} {
		require.Equal(t, 200, r.Status)
		var body object
		require.NoError(t, json.Unmarshal(r.Body, &body))
		properties, _ := body["properties"].(map[string]any)
		require.NotContains(t, properties, "lakewarden.primaryKey")
		text := fmt.Sprint(body)
		for i, name := range odd {
			require.NotContains(t, strings.ReplaceAll(text, "'P&L'", ""), name)
			require.NotContains(t, text, fmt.Sprint(firstOdd-1+i))
		}
	}
	require.Equal(t, []string{"seen"}, constraintNames(viewer, path), "a text is no column")
	require.Len(t, constraintNames(s.Admin, path), 2*len(odd)+1)
	code, _ := s.Admin.Call("DELETE", path+"/columns/P", nil).Problem(t, 409)
	require.Equal(t, "column_in_use", code)
}

func constraintNames(c *harness.Client, path string) (out []string) {
	c.T.Helper()
	for _, one := range c.OK("GET", path+"/constraints", nil)["constraints"].([]any) {
		out = append(out, one.(map[string]any)["name"].(string))
	}
	return out
}

// TestUnreadableConstraintRevealsNothing checks a constraint of another writer whose
// meaning is not certain. It counts as about every column that its text mentions.
func TestUnreadableConstraintRevealsNothing(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	dir := s.Table("t", "SELECT i AS id, i AS c FROM range(3) t(i)", nil, column{"id", "long"}, column{"c", "long"})
	path := s.TablePath("t")
	s.Admin.OK("PATCH", path+"/columns/c", object{"name": "a`b"})
	s.Rule("cls", "t", "a`b", harness.ViewersNot)
	bucket, err := file.New(dir)
	require.NoError(t, err)
	snap, err := delta.Load(t.Context(), bucket, delta.Options{})
	require.NoError(t, err)
	a := snap.Alter()
	require.NoError(t, a.AddConstraint("theirs", "some_udf(`a``b`) <> 471130958226"))
	change, err := a.Change()
	require.NoError(t, err)
	txn := snap.Begin(delta.Operation{Name: "ADD CONSTRAINT"})
	txn.Alter(change)
	_, err = txn.Commit(t.Context())
	require.NoError(t, err)
	viewer := s.Member("v@acme.example", "viewer", nil)
	require.Empty(t, constraintNames(viewer, path))
	require.NotContains(t, string(viewer.Call("GET", path, nil).Body), "471130958226")
	require.Equal(t, []string{"theirs"}, constraintNames(s.Admin, path))
}

// TestConstraintsDoNotRevealMaskedValues checks that constraints over a masked column are
// not shown: their literals could be compared with its hashes.
func TestConstraintsDoNotRevealMaskedValues(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("t", "SELECT i AS id, 'grade-' || i AS grade FROM range(3) t(i)", nil, column{"id", "long"}, column{"grade", "string"})
	path := s.TablePath("t")
	s.Admin.OK("POST", path+"/constraints", object{"constraints": list{
		object{"name": "known", "expr": "Grade IN ('grade-0', 'grade-1', 'grade-2')"},
		object{"name": "kept", "expr": "right(grade, 1) || 'grade-2' <> ''"}, object{"name": "natural", "expr": "id >= 0"},
	}})
	s.Rule("mask", "t", "grade", `{"effect":"forbid","subject":{"role":"builder"},"mask":"hash"}`)
	ben := s.Member("ben@acme.example", "builder", nil)
	require.Equal(t, []string{"natural"}, constraintNames(ben, path))
	require.NotContains(t, string(ben.Call("GET", path, nil).Body), "grade-")
	require.Contains(t, ben.OK("GET", path, nil)["properties"], "delta.constraints.natural")
	for _, name := range []string{"known", "kept"} {
		require.Equal(t, 404, ben.Call("DELETE", path+"/constraints/"+name, nil).Status)
	}
	require.ElementsMatch(t, []string{"known", "kept", "natural"}, constraintNames(s.Admin, path))
	refused := s.Admin.Call("PATCH", path+"/columns/grade", object{"name": "mark"})
	require.Contains(t, string(refused.Body), "the constraint known names it")
}
