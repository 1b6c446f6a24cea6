package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHiddenRowsAreNotDestroyed: who does not see all of a table takes away
// neither its files nor the values of a column.
func TestHiddenRowsAreNotDestroyed(t *testing.T) {
	s, ben, path, other := hiding(t)
	for _, below := range []string{"?purge=true", "/columns/note"} {
		code, _ := ben.same("DELETE", path, other, below, nil).problem(t, 403)
		require.Equal(t, "forbidden", code, below)
	}
	require.Equal(t, 404, ben.same("DELETE", path, other, "/columns/nobody", nil).status)
	require.Equal(t, 2.0, s.admin.count(s.schema+".loans"))
	require.Equal(t, list{list{"SECRET-b"}}, s.admin.rows("SELECT note FROM "+s.schema+".loans WHERE id = 2"))

	// What an earlier purge left is as it was, for all that anybody can tell.
	require.NoError(t, os.RemoveAll(filepath.Join(s.root, "wild", "_delta_log")))
	ben.call("DELETE", other+"?purge=true", nil).problem(t, 403)
	dataFiles(t, filepath.Join(s.root, "wild"))
	s.admin.ok("DELETE", other+"?purge=true", nil)
	files, err := filepath.Glob(filepath.Join(s.root, "wild", "*.parquet"))
	require.NoError(t, err)
	require.Empty(t, files)

	// A hidden or masked column is as good as a hidden row.
	for _, kind := range []string{"cls", "mask"} {
		s.table(kind, maskedRows, nil, column{"id", "long"}, column{"name", "string"}, column{"ssn", "string"}, column{"pay", "double"}, column{"home", "struct<city:string,zip:integer>"})
		s.rule(kind, kind, "ssn", `{"effect":"forbid","subject":{"role":"builder"}}`)
		ben.call("DELETE", s.tablePath(kind)+"/columns/pay", nil).problem(t, 403)
		ben.call("DELETE", s.tablePath(kind)+"?purge=true", nil).problem(t, 403)
		require.NoError(t, os.RemoveAll(filepath.Join(s.root, kind, "_delta_log")))
		ben.call("DELETE", s.tablePath(kind)+"?purge=true", nil).problem(t, 403)
		s.admin.ok("DELETE", s.tablePath(kind)+"?purge=true", nil)
	}

	// A builder who sees all of it does all of that; and files that stay are no loss.
	zoe := s.member("zoe@acme.example", "builder", nil)
	s.table("plain", `SELECT 1 AS id, 2 AS more`, nil, column{"id", "long"}, column{"more", "long"})
	zoe.ok("DELETE", s.tablePath("plain")+"/columns/more", nil)
	zoe.ok("DELETE", s.tablePath("plain")+"?purge=true", nil)
	ben.ok("DELETE", path, nil)
	require.DirExists(t, filepath.Join(s.root, "loans", "_delta_log"))
}

// TestRetentionIsAnAdministratorsToShorten: also that of the log, and by a restore.
func TestRetentionIsAnAdministratorsToShorten(t *testing.T) {
	s := startServer(t, nil)
	ben := s.member("ben@acme.example", "builder", nil)
	for property, usual := range map[string]string{"delta.logRetentionDuration": "interval 30 days", "delta.deletedFileRetentionDuration": "interval 7 days"} {
		name := property[len("delta."):]
		path := s.create(name, nil, col("id", "long"))
		former := s.admin.version(path)
		set := func(value string) object { return object{"set": object{property: value}} }
		ben.call("PATCH", path+"/properties", set("interval 0 days")).problem(t, 403)
		ben.ok("PATCH", path+"/properties", set(usual))
		ben.ok("PATCH", path+"/properties", object{"unset": list{property}})
		ben.ok("PATCH", path+"/properties", set("interval 60 days"))
		longest := s.admin.version(path)
		ben.call("PATCH", path+"/properties", set(usual)).problem(t, 403)
		ben.call("PATCH", path+"/properties", object{"unset": list{property}}).problem(t, 403)
		ben.call("POST", path+"/restore", object{"version": former}).problem(t, 403)
		require.Equal(t, longest, s.admin.version(path), property)
		s.admin.ok("PATCH", path+"/properties", object{"unset": list{property}})
		ben.ok("POST", path+"/restore", object{"version": longest})
		s.admin.ok("POST", path+"/restore", object{"version": former})
	}
}

// TestWhoSeesAPartIsToldWhatStandsAgainstIt: the credential is not at fault. Who
// lacks the scope learns of that only.
func TestWhoSeesAPartIsToldWhatStandsAgainstIt(t *testing.T) {
	s, ben, path, _ := hiding(t)
	s.admin.ok("POST", path+"/constraints", object{"constraints": list{object{"name": "half", "expr": "id / 2 < 1000"}}})
	viewer := s.member("vic@acme.example", "viewer", map[string]string{"tenant": "a"})
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
		r := ben.call(call.method, path+call.below, call.body)
		code, fields := r.problem(t, 403)
		require.Equal(t, "forbidden", code, call.below)
		require.Equal(t, []string{"table"}, fields, call.below)
		require.Contains(t, string(r.body), "see all rows and columns of the table", call.below)
		code, fields = viewer.call(call.method, path+call.below, call.body).problem(t, 403)
		require.Equal(t, "insufficient_scope", code, call.below)
		require.Equal(t, []string{"scope"}, fields, call.below)
	}
}
