package query_test

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

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

const secondCommit = "_delta_log/00000000000000000001.json"

// TestABrokenLogIsAClearErrorAndTheOthersGoOn breaks the log of a governed table
// in every way that a crash, a copy or a bad tool does.
func TestABrokenLogIsAClearErrorAndTheOthersGoOn(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	s.Table("well", `SELECT i AS id FROM range(3) t(i)`, nil, column{"id", "long"})
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
		"no_start": func(dir string) error { return os.Remove(filepath.Join(dir, harness.FirstCommit)) },
		"checkpoint": func(dir string) error {
			if err := os.WriteFile(filepath.Join(dir, "_delta_log/00000000000000000001.checkpoint.parquet"), []byte("PAR1 nonsense PAR1"),
				0o600); err != nil {
				return err
			}
			if err := os.Remove(filepath.Join(dir, harness.FirstCommit)); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, "_delta_log/_last_checkpoint"), []byte(`{"version":1,"size":3}`), 0o600)
		},
	} {
		dir := s.Table(name, `SELECT i AS id FROM range(10) t(i)`, nil, column{"id", "long"})
		s.Policy(name, "id", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"lt","value":4}}`)
		id := s.Admin.OK("GET", s.TablePath(name), nil)["tableId"]
		require.NoError(t, damage(dir), name)
		reason := cmp.Or(reasons[name], "commit_damaged")
		s.Restart() // nothing may come from memory
		for _, r := range []harness.Reply{
			s.Admin.Query("SELECT * FROM " + s.Schema + "." + name), s.Admin.Call("GET", s.TablePath(name), nil),
			s.Admin.Call("GET", s.TablePath(name)+"/rows", nil), s.Admin.Call("GET", s.TablePath(name)+"/columns", nil),
		} {
			require.Equal(t, 409, r.Status, "%s: %s", name, r.Body)
			code, _ := r.Problem(t, 409)
			want := "table_log_broken"
			if name == "absolute" || name == "url" {
				want = "unsupported_table_feature"
			}
			require.Equal(t, want, code, "%s: %s", name, r.Body)
			require.Equal(t, reason, r.Details(t)["reason"], "%s: %s", name, r.Body)
			require.NotContains(t, string(r.Body), s.Root)
			require.NotContains(t, string(r.Body), "passwd")
		}
		require.Equal(t, 3.0, s.Admin.Count(s.Schema+".well"), name)
		found := s.Discover()
		require.Len(t, found["problems"], 1, name)
		problem := found["problems"].([]any)[0].(map[string]any)
		require.Equal(t, name, problem["path"])
		require.NotEmpty(t, problem["code"])
		require.NotEmpty(t, problem["message"])
		require.Equal(t, 0.0, found["tablesVanished"], name)
		// Nothing is lost: the table is still registered with its id and rules.
		var kept any
		for _, entry := range s.Admin.OK("GET", "/v1/tables", nil)["tables"].([]any) {
			if e := entry.(map[string]any); e["table"] == name {
				kept = e["tableId"]
			}
		}
		require.Equal(t, id, kept, name)
		require.NoError(t, os.RemoveAll(dir))
		require.NoError(t, os.MkdirAll(dir, 0o700))
		s.Admin.OK("DELETE", s.TablePath(name), nil)
	}
}

// TestNewBrokenTableIsReportedAndNotRegistered checks that discovery reports folders that
// it cannot register.
func TestNewBrokenTableIsReportedAndNotRegistered(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	dir := harness.WriteTable(t, filepath.Join(s.Root, "broken"), `SELECT 1 AS id`, nil, column{"id", "long"})
	require.NoError(t, os.Truncate(filepath.Join(dir, harness.FirstCommit), 20))
	s.Table("well", `SELECT 1 AS id`, nil, column{"id", "long"})
	found := s.Discover()
	require.Len(t, found["problems"], 1)
	require.Len(t, s.Admin.OK("GET", "/v1/tables", nil)["tables"], 1)
	require.NoError(t, os.RemoveAll(dir))
	harness.WriteTable(t, dir, `SELECT 1 AS id`, nil, column{"id", "long"})
	require.Equal(t, 1.0, s.Discover()["tablesAdded"])
	require.Equal(t, 1.0, s.Admin.Count(s.Schema+".broken"))
}

// TestDamagedDataIsAClearErrorAndTheSessionLives takes the data away below the
// engine, and puts it back.
func TestDamagedDataIsAClearErrorAndTheSessionLives(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	dir := s.Table("t", `SELECT i AS id, 'word ' || i AS word FROM range(10000) t(i)`, nil, column{"id", "long"}, column{"word", "string"})
	s.Table("filtered", `SELECT i AS id FROM range(1000) t(i)`, nil, column{"id", "long"})
	s.Policy("filtered", "id", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"lt","value":4}}`)
	well := func() {
		t.Helper()
		require.Equal(t, 4.0, s.Admin.Count(s.Schema+".filtered"))
		require.Equal(t, []any{[]any{42.0}}, s.Admin.Rows("SELECT 42"))
	}
	well()
	path := harness.DataFiles(t, dir)[0]
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
			r := s.Admin.Query("SELECT sum(id), max(word) FROM " + s.Schema + ".t WHERE id % 7 = 3")
			want, details := "data_file_unreadable", map[string]string{"reason": "data_file_damaged", "file": filepath.Base(path)}
			switch name {
			case "missing":
				want, details["reason"] = "data_file_missing", "data_file_missing"
			case "torn":
				details["column"] = "id"
			}
			code, _ := r.Problem(t, 409)
			require.Equal(t, want, code, name)
			got := r.Details(t)
			if name == "garbage" { // where the first read fails decides whether a column is named
				delete(got, "column")
			}
			require.Equal(t, details, got, name)
			require.Empty(t, r.Header.Get("Retry-After"))
			require.NotContains(t, string(r.Body), dir)
			well()
		}
		require.NoError(t, os.RemoveAll(path))
		require.NoError(t, os.WriteFile(path, whole, 0o600))
		require.Equal(t, 200, s.Admin.Query("SELECT max(word) FROM "+s.Schema+".t").Status, "the file is back: %s", name)
	}
}

// TestMissingFilesFailOnlyStatementsThatNeedThem deletes files of which a filtered
// caller sees no row: the replies to that caller remain the same, in every way of
// reading, and other callers get the reason.
func TestMissingFilesFailOnlyStatementsThatNeedThem(t *testing.T) {
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	s := harness.StartS3Server(t)
	made := s.Admin.OK("POST", harness.ConfigsPath, harness.S3Body(store, bucket, map[string]any{"workspaceId": s.Boot.WorkspaceID}))
	ana := s.Member("ana@acme.example", "viewer", map[string]string{"tenant": "a"})
	columns := []column{{"id", "long"}, {"tenant", "string"}, {"v", "string"}}
	const rows = `SELECT i AS id, ['a', 'b'][1 + i % 2] AS tenant, 'v' || i AS v FROM range(100) t(i)`
	for schema, root := range map[string]string{s.Schema: s.Root, made["schema"].(string): store.Folder(bucket)} {
		dir := harness.WriteTable(t, filepath.Join(root, "orders"), rows, []string{"tenant"}, columns...)
		configs := s.Admin.OK("GET", "/v1/storages/configs", nil)["configs"].([]any)
		for _, c := range configs {
			s.Admin.OK("POST", "/v1/storages/configs/"+c.(map[string]any)["configId"].(string)+"/discover", nil)
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
			s.Admin.OK("POST", "/v1/organisations/"+s.Boot.OrganisationID+"/policies", body)
		}
		asks := []string{
			"SELECT count(*) FROM " + table, "SELECT * FROM " + table + " LIMIT 3", "SELECT max(length(v) // (id - 1)) FROM " + table,
			"SELECT v FROM " + table + " WHERE id = 4", "SELECT v FROM " + table + " WHERE tenant = 'b'", "SELECT CAST(v AS INT) FROM " + table,
			"SELECT tenant, count(*) FROM " + table + " GROUP BY ALL",
		}
		answers := func() (out []string) {
			for _, sql := range asks {
				r := ana.Query(sql)
				out = append(out, fmt.Sprint(r.Status, harness.Timing.ReplaceAllString(harness.RequestID.ReplaceAllString(string(r.Body), ""), "")))
			}
			return out
		}
		before := answers()
		gone := harness.FileOf(t, dir, `"tenant":"b"`)
		require.NoError(t, os.Remove(filepath.Join(dir, gone)))
		require.Equal(t, before, answers(), schema)
		s.Restart() // what was cached is read again
		ana.URL = s.URL
		require.Equal(t, before, answers(), schema)
		for _, sql := range []string{"SELECT max(v) FROM " + table, "SELECT v FROM " + table + " WHERE tenant = 'b'"} {
			r := s.Admin.Query(sql)
			code, _ := r.Problem(t, 409)
			require.Equal(t, "data_file_missing", code)
			require.Equal(t, map[string]string{"reason": "data_file_missing", "file": gone}, r.Details(t), "administrators see all")
			require.NotContains(t, string(r.Body), root)
		}
		require.Equal(t, []any{[]any{50.0}}, s.Admin.Rows("SELECT count(v) FROM "+table+" WHERE tenant = 'a'"))
	}
}
