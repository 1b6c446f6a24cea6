package policy_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestHiddenRowsAreNotDestroyed checks that a caller who does not see the whole table can
// remove neither its files nor the values of a column.
func TestHiddenRowsAreNotDestroyed(t *testing.T) {
	t.Parallel()
	s, ben, path, other := hiding(t)
	for _, below := range []string{"?purge=true", "/columns/note"} {
		code, _ := answersAlike(ben, "DELETE", path, other, below, nil).Problem(t, 403)
		require.Equal(t, "table_partly_visible", code, below)
	}
	require.Equal(t, 404, answersAlike(ben, "DELETE", path, other, "/columns/nobody", nil).Status)
	require.Equal(t, 2.0, s.Admin.Count(s.Schema+".loans"))
	require.Equal(t, list{list{"SECRET-b"}}, s.Admin.Rows("SELECT note FROM "+s.Schema+".loans WHERE id = 2"))

	// What an earlier purge left is as it was, for all that anybody can tell.
	require.NoError(t, os.RemoveAll(filepath.Join(s.Root, "wild", "_delta_log")))
	ben.Call("DELETE", other+"?purge=true", nil).Problem(t, 403)
	harness.DataFiles(t, filepath.Join(s.Root, "wild"))
	s.Admin.OK("DELETE", other+"?purge=true", nil)
	files, err := filepath.Glob(filepath.Join(s.Root, "wild", "*.parquet"))
	require.NoError(t, err)
	require.Empty(t, files)

	// A hidden or masked column is as good as a hidden row.
	for _, kind := range []string{"cls", "mask"} {
		s.Table(kind, harness.MaskedRows, nil, column{"id", "long"}, column{"name", "string"}, column{"ssn", "string"}, column{"pay", "double"},
			column{"home", "struct<city:string,zip:integer>"})
		s.Rule(kind, kind, "ssn", `{"effect":"forbid","subject":{"role":"builder"}}`)
		ben.Call("DELETE", s.TablePath(kind)+"/columns/pay", nil).Problem(t, 403)
		ben.Call("DELETE", s.TablePath(kind)+"?purge=true", nil).Problem(t, 403)
		require.NoError(t, os.RemoveAll(filepath.Join(s.Root, kind, "_delta_log")))
		ben.Call("DELETE", s.TablePath(kind)+"?purge=true", nil).Problem(t, 403)
		s.Admin.OK("DELETE", s.TablePath(kind)+"?purge=true", nil)
	}

	// A builder who sees the whole table may do all of that; files that stay are not lost.
	zoe := s.Member("zoe@acme.example", "builder", nil)
	s.Table("plain", `SELECT 1 AS id, 2 AS more`, nil, column{"id", "long"}, column{"more", "long"})
	zoe.OK("DELETE", s.TablePath("plain")+"/columns/more", nil)
	zoe.OK("DELETE", s.TablePath("plain")+"?purge=true", nil)
	ben.Call("DELETE", path, nil).Problem(t, 403)
	s.Admin.OK("DELETE", path, nil)
	require.DirExists(t, filepath.Join(s.Root, "loans", "_delta_log"))
}

// TestOnlyAdministratorsShortenRetention checks the retention of files and of the log,
// also through a restore.
func TestOnlyAdministratorsShortenRetention(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	ben := s.Member("ben@acme.example", "builder", nil)
	for property, usual := range map[string]string{"delta.logRetentionDuration": "interval 30 days",
		"delta.deletedFileRetentionDuration": "interval 7 days"} {
		name := property[len("delta."):]
		path := s.Create(name, nil, harness.Col("id", "long"))
		former := s.Admin.Version(path)
		set := func(value string) object { return object{"set": object{property: value}} }
		ben.Call("PATCH", path+"/properties", set("interval 0 days")).Problem(t, 403)
		ben.OK("PATCH", path+"/properties", set(usual))
		ben.OK("PATCH", path+"/properties", object{"unset": list{property}})
		ben.OK("PATCH", path+"/properties", set("interval 60 days"))
		longest := s.Admin.Version(path)
		ben.Call("PATCH", path+"/properties", set(usual)).Problem(t, 403)
		ben.Call("PATCH", path+"/properties", object{"unset": list{property}}).Problem(t, 403)
		ben.Call("POST", path+"/restore", object{"version": former}).Problem(t, 403)
		require.Equal(t, longest, s.Admin.Version(path), property)
		s.Admin.OK("PATCH", path+"/properties", object{"unset": list{property}})
		ben.OK("POST", path+"/restore", object{"version": longest})
		s.Admin.OK("POST", path+"/restore", object{"version": former})
	}
}

// TestRefusalsOfFilteredCallersNameTheReason checks that the refusal does not blame the
// credential. A caller who lacks the scope learns only that.
func TestRefusalsOfFilteredCallersNameTheReason(t *testing.T) {
	s, ben, path, _ := hiding(t)
	s.Admin.OK("POST", path+"/constraints", object{"constraints": list{object{"name": "half", "expr": "id / 2 < 1000"}}})
	viewer := s.Member("vic@acme.example", "viewer", map[string]string{"tenant": "a"})
	for _, call := range []struct {
		method, below string
		body          any
	}{
		{"POST", "/restore", object{"version": 0}},
		{"DELETE", "/columns/note", nil},
		{"PUT", "/primary-key", object{"columns": list{"id"}}},
		{"PUT", "/columns/id/settings", object{"isUnique": true}},
		{"POST", "/constraints/half/validate", nil},
		{"DELETE", "?purge=true", nil},
	} {
		r := ben.Call(call.method, path+call.below, call.body)
		code, fields := r.Problem(t, 403)
		require.Equal(t, "table_partly_visible", code, call.below)
		require.Equal(t, []string{"table"}, fields, call.below)
		require.Contains(t, string(r.Body), "rls_policies:write is missing", call.below)
		code, fields = viewer.Call(call.method, path+call.below, call.body).Problem(t, 403)
		require.Equal(t, "insufficient_scope", code, call.below)
		require.Equal(t, []string{"scope"}, fields, call.below)
	}
}
