package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

const firstCommit = "_delta_log/00000000000000000000.json"
const secondCommit = "_delta_log/00000000000000000001.json"

// TestABrokenLogIsAClearErrorAndTheOthersGoOn breaks the log of a governed table
// in every way that a crash, a copy or a bad tool does.
func TestABrokenLogIsAClearErrorAndTheOthersGoOn(t *testing.T) {
	s := startServer(t, nil)
	s.table("well", `SELECT i AS id FROM range(3) t(i)`, nil, column{"id", "long"})
	commit := func(text string) func(string) error {
		return func(dir string) error { return os.WriteFile(filepath.Join(dir, secondCommit), []byte(text), 0o600) }
	}
	reasons := map[string]string{
		"unsafe": "unsafe_path", "absolute": "absolute_path", "url": "absolute_path", "gap": "commit_missing", "no_start": "commit_missing",
		"checkpoint": "checkpoint_damaged",
	}
	for name, damage := range map[string]func(dir string) error{
		"truncated": func(dir string) error { return os.Truncate(filepath.Join(dir, secondCommit), 100) },
		"no_json":   commit("not json at all\n"),
		"binary":    commit(string(bytes.Repeat([]byte{0, 1, 2, 255}, 100))),
		"unsafe":    commit(`{"add":{"path":"../../../etc/passwd","partitionValues":{},"size":1,"modificationTime":0,"dataChange":true}}` + "\n"),
		"absolute":  commit(`{"add":{"path":"/etc/passwd","partitionValues":{},"size":1,"modificationTime":0,"dataChange":true}}` + "\n"),
		"url":       commit(`{"add":{"path":"file:///etc/passwd","partitionValues":{},"size":1,"modificationTime":0,"dataChange":true}}` + "\n"),
		"deep":      commit(strings.Repeat(`{"add":`, 100000)),
		"gap": func(dir string) error {
			return os.Rename(filepath.Join(dir, secondCommit), filepath.Join(dir, "_delta_log/00000000000000000007.json"))
		},
		"no_start": func(dir string) error { return os.Remove(filepath.Join(dir, firstCommit)) },
		"checkpoint": func(dir string) error {
			if err := os.WriteFile(filepath.Join(dir, "_delta_log/00000000000000000001.checkpoint.parquet"), []byte("PAR1 nonsense PAR1"), 0o600); err != nil {
				return err
			}
			if err := os.Remove(filepath.Join(dir, firstCommit)); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, "_delta_log/_last_checkpoint"), []byte(`{"version":1,"size":3}`), 0o600)
		},
	} {
		dir := s.table(name, `SELECT i AS id FROM range(10) t(i)`, nil, column{"id", "long"})
		s.policy(name, "id", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"lt","value":4}}`)
		id := s.admin.ok("GET", s.tablePath(name), nil)["tableId"]
		require.NoError(t, damage(dir), name)
		reason := cmp.Or(reasons[name], "commit_damaged")
		s.restart() // nothing may come from memory
		for _, r := range []reply{
			s.admin.query("SELECT * FROM " + s.schema + "." + name), s.admin.call("GET", s.tablePath(name), nil),
			s.admin.call("GET", s.tablePath(name)+"/rows", nil), s.admin.call("GET", s.tablePath(name)+"/columns", nil),
		} {
			require.Equal(t, 409, r.status, "%s: %s", name, r.body)
			code, _ := r.problem(t, 409)
			want := "table_log_broken"
			if name == "absolute" || name == "url" {
				want = "unsupported_table_feature"
			}
			require.Equal(t, want, code, "%s: %s", name, r.body)
			require.Equal(t, reason, r.details(t)["reason"], "%s: %s", name, r.body)
			require.NotContains(t, string(r.body), s.root)
			require.NotContains(t, string(r.body), "passwd")
		}
		require.Equal(t, 3.0, s.admin.count(s.schema+".well"), name)
		found := s.discover()
		require.Len(t, found["problems"], 1, name)
		problem := found["problems"].([]any)[0].(map[string]any)
		require.Equal(t, name, problem["path"])
		require.NotEmpty(t, problem["code"])
		require.NotEmpty(t, problem["message"])
		require.Equal(t, 0.0, found["tablesVanished"], name)
		// Nothing is lost: the table is still registered with its id and rules.
		var kept any
		for _, entry := range s.admin.ok("GET", "/v1/tables", nil)["tables"].([]any) {
			if e := entry.(map[string]any); e["table"] == name {
				kept = e["tableId"]
			}
		}
		require.Equal(t, id, kept, name)
		require.NoError(t, os.RemoveAll(dir))
		require.NoError(t, os.MkdirAll(dir, 0o700))
		s.admin.ok("DELETE", s.tablePath(name), nil)
	}
}

// TestANewBrokenTableIsReportedAndNotRegistered: discovery tells of folders
// that it cannot register.
func TestANewBrokenTableIsReportedAndNotRegistered(t *testing.T) {
	s := startServer(t, nil)
	dir := writeTable(t, filepath.Join(s.root, "broken"), `SELECT 1 AS id`, nil, column{"id", "long"})
	require.NoError(t, os.Truncate(filepath.Join(dir, firstCommit), 20))
	s.table("well", `SELECT 1 AS id`, nil, column{"id", "long"})
	found := s.discover()
	require.Len(t, found["problems"], 1)
	require.Len(t, s.admin.ok("GET", "/v1/tables", nil)["tables"], 1)
	require.NoError(t, os.RemoveAll(dir))
	writeTable(t, dir, `SELECT 1 AS id`, nil, column{"id", "long"})
	require.Equal(t, 1.0, s.discover()["tablesAdded"])
	require.Equal(t, 1.0, s.admin.count(s.schema+".broken"))
}

// dataFiles lists the data files of a table's folder.
func dataFiles(t testing.TB, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.parquet"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

// TestDamagedDataIsAClearErrorAndTheSessionLives takes the data away below the
// engine, and puts it back.
func TestDamagedDataIsAClearErrorAndTheSessionLives(t *testing.T) {
	s := startServer(t, nil)
	dir := s.table("t", `SELECT i AS id, 'word ' || i AS word FROM range(10000) t(i)`, nil, column{"id", "long"}, column{"word", "string"})
	s.table("filtered", `SELECT i AS id FROM range(1000) t(i)`, nil, column{"id", "long"})
	s.policy("filtered", "id", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"lt","value":4}}`)
	well := func() {
		t.Helper()
		require.Equal(t, 4.0, s.admin.count(s.schema+".filtered"))
		require.Equal(t, []any{[]any{42.0}}, s.admin.rows("SELECT 42"))
	}
	well()
	path := dataFiles(t, dir)[0]
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	half := len(whole) / 2
	for name, damaged := range map[string][]byte{
		"missing": nil, "empty": {}, "truncated": whole[:half], "garbage": bytes.Repeat([]byte("x"), len(whole)),
		"torn": append(append(append([]byte{}, whole[:100]...), bytes.Repeat([]byte{0xff}, half)...), whole[100+half:]...),
	} {
		require.NoError(t, os.Remove(path))
		if damaged != nil {
			require.NoError(t, os.WriteFile(path, damaged, 0o600))
		}
		for range 2 {
			r := s.admin.query("SELECT sum(id), max(word) FROM " + s.schema + ".t WHERE id % 7 = 3")
			status, want := 503, "storage_unavailable"
			if name == "missing" {
				status, want = 409, "data_file_missing"
			}
			require.Equal(t, status, r.status, "%s: %s", name, r.body)
			code, fields := r.problem(t, status)
			require.Equal(t, want, code, name)
			if name == "missing" {
				require.Equal(t, map[string]string{"reason": "data_file_missing", "file": filepath.Base(path)}, r.details(t))
			} else {
				require.Empty(t, fields, name)
			}
			require.Equal(t, status == 503, r.header.Get("Retry-After") != "")
			require.NotContains(t, string(r.body), dir)
			require.Equal(t, name == "missing", strings.Contains(string(r.body), "arquet"))
			well()
		}
		require.NoError(t, os.RemoveAll(path))
		require.NoError(t, os.WriteFile(path, whole, 0o600))
		require.Equal(t, 200, s.admin.query("SELECT max(word) FROM "+s.schema+".t").status, "the file is back: %s", name)
	}
}

// TestMissingFilesAreTheMatterOfWhoNeedsThem takes away files of which a filtered
// caller sees no row: that caller's answers stay as they are, in every way of reading,
// and the others are told what is wrong.
func TestMissingFilesAreTheMatterOfWhoNeedsThem(t *testing.T) {
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	s := startS3Server(t)
	made := s.admin.ok("POST", configsPath, s3Body(store, bucket, map[string]any{"workspaceId": s.boot.WorkspaceID}))
	ana := s.member("ana@acme.example", "viewer", map[string]string{"tenant": "a"})
	columns := []column{{"id", "long"}, {"tenant", "string"}, {"v", "string"}}
	const rows = `SELECT i AS id, ['a', 'b'][1 + i % 2] AS tenant, 'v' || i AS v FROM range(100) t(i)`
	for schema, root := range map[string]string{s.schema: s.root, made["schema"].(string): store.Folder(bucket)} {
		dir := writeTable(t, filepath.Join(root, "orders"), rows, []string{"tenant"}, columns...)
		configs := s.admin.ok("GET", "/v1/storages/configs", nil)["configs"].([]any)
		for _, c := range configs {
			s.admin.ok("POST", "/v1/storages/configs/"+c.(map[string]any)["configId"].(string)+"/discover", nil)
		}
		table := schema + ".orders"
		for column, definition := range map[string]string{
			"tenant": `{"effect":"permit","subject":{"attribute":"tenant","op":"eq"},"condition":null}`,
			"":       `{"effect":"permit","subject":{"role":"admin"},"condition":null}`,
		} {
			body := map[string]any{"kind": "rls", "tableFqn": "lake." + table, "definition": json.RawMessage(definition)}
			if column != "" {
				body["columnName"] = column
			}
			s.admin.ok("POST", "/v1/organisations/"+s.boot.OrganisationID+"/policies", body)
		}
		asks := []string{
			"SELECT count(*) FROM " + table, "SELECT * FROM " + table + " LIMIT 3", "SELECT max(length(v) // (id - 1)) FROM " + table,
			"SELECT v FROM " + table + " WHERE id = 4", "SELECT v FROM " + table + " WHERE tenant = 'b'", "SELECT CAST(v AS INT) FROM " + table,
			"SELECT tenant, count(*) FROM " + table + " GROUP BY ALL",
		}
		answers := func() (out []string) {
			for _, sql := range asks {
				r := ana.query(sql)
				out = append(out, fmt.Sprint(r.status, timing.ReplaceAllString(requestID.ReplaceAllString(string(r.body), ""), "")))
			}
			return out
		}
		before := answers()
		gone := fileOf(t, dir, `"tenant":"b"`)
		require.NoError(t, os.Remove(filepath.Join(dir, gone)))
		require.Equal(t, before, answers(), schema)
		s.restart() // what was cached is read again
		ana.url = s.url
		require.Equal(t, before, answers(), schema)
		for _, sql := range []string{"SELECT max(v) FROM " + table, "SELECT v FROM " + table + " WHERE tenant = 'b'"} {
			r := s.admin.query(sql)
			code, _ := r.problem(t, 409)
			require.Equal(t, "data_file_missing", code)
			require.Equal(t, map[string]string{"reason": "data_file_missing", "file": gone}, r.details(t), "administrators see all")
			require.NotContains(t, string(r.body), root)
		}
		require.Equal(t, []any{[]any{50.0}}, s.admin.rows("SELECT count(v) FROM "+table+" WHERE tenant = 'a'"))
	}
}

// fileOf is the data file of which the log says what is given.
func fileOf(t *testing.T, dir, what string) string {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "_delta_log", "*.json"))
	require.NoError(t, err)
	for _, log := range logs {
		content, err := os.ReadFile(log)
		require.NoError(t, err)
		for line := range strings.SplitSeq(string(content), "\n") {
			var action struct{ Add struct{ Path string } }
			if strings.Contains(line, what) && json.Unmarshal([]byte(line), &action) == nil && action.Add.Path != "" {
				return action.Add.Path
			}
		}
	}
	require.Fail(t, "no file", what)
	return ""
}
