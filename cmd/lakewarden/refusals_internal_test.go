package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta/logpath"
)

// refusal returns the code and the details of a table's refusal.
func (r reply) refusal(t testing.TB, status int) (code string, details map[string]string) {
	t.Helper()
	code, _ = r.problem(t, status)
	return code, r.details(t)
}

// appendCommit adds the next commit to a table's log.
func appendCommit(t testing.TB, dir string, lines ...string) {
	t.Helper()
	commits, err := filepath.Glob(filepath.Join(dir, "_delta_log", "*.json"))
	require.NoError(t, err)
	name := filepath.Join(dir, "_delta_log", fmt.Sprintf("%020d.json", len(commits)))
	require.NoError(t, os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
}

func addOf(path string) string {
	return fmt.Sprintf(`{"add":{"path":%q,"partitionValues":{},"size":1,"modificationTime":0,"dataChange":true}}`, path)
}

// TestRefusalsNameTheirReason has tables refused for every reason. Every caller gets the
// reason; a caller who sees all of the table and may modify it also gets the file at
// fault. The server's log has the full path.
func TestRefusalsNameTheirReason(t *testing.T) {
	s := startServer(t, nil)
	viewer := s.member("vera@acme.example", "viewer", nil)
	builder := s.member("bob@acme.example", "builder", nil)
	const log, checkpoint = "_delta_log/00000000000000000002.json", "_delta_log/00000000000000000002.checkpoint.parquet"
	for name, c := range map[string]struct {
		spoil                func(dir string)
		code, reason, inFile string
	}{
		"absolute": {func(dir string) { appendCommit(t, dir, addOf("file:///elsewhere/x.parquet")) }, "unsupported_table_feature", "absolute_path", log},
		"clone": {func(dir string) {
			appendCommit(t, dir, `{"commitInfo":{"operation":"CLONE","operationParameters":{"isShallow":"true"}}}`, addOf("/elsewhere/x.parquet"))
		}, "unsupported_table_feature", "shallow_clone", log},
		"outside": {func(dir string) { appendCommit(t, dir, addOf("../other/x.parquet")) }, "table_log_broken", "unsafe_path", log},
		"vector": {func(dir string) {
			appendCommit(t, dir, strings.Replace(addOf("x"), `"size"`, `"deletionVector":{"storageType":"p","pathOrInlineDv":"s3://elsewhere/x","sizeInBytes":1,"cardinality":1},"size"`, 1))
		}, "unsupported_table_feature", "absolute_path", log},
		"torn": {func(dir string) { appendCommit(t, dir, `{"add":`) }, "table_log_broken", "commit_damaged", log},
		"schema": {func(dir string) {
			appendCommit(t, dir, `{"metaData":{"id":"x","format":{"provider":"parquet","options":{}},"partitionColumns":[],"configuration":{}}}`)
		}, "table_log_broken", "metadata_missing", ""},
		"checkpoint": {func(dir string) {
			appendCommit(t, dir, `{"commitInfo":{}}`)
			require.NoError(t, os.WriteFile(filepath.Join(dir, checkpoint), nil, 0o600))
			require.NoError(t, os.Remove(filepath.Join(dir, firstCommit)))
		}, "table_log_broken", "checkpoint_damaged", checkpoint},
		"gap": {func(dir string) {
			appendCommit(t, dir, `{"commitInfo":{}}`)
			require.NoError(t, os.Remove(filepath.Join(dir, firstCommit)))
		}, "table_log_broken", "commit_missing", firstCommit},
	} {
		t.Run(name, func(t *testing.T) {
			for _, governed := range []bool{false, true} {
				table := fmt.Sprintf("%s_%t", name, governed)
				dir := s.table(table, `SELECT i AS id FROM range(10) t(i)`, nil, column{"id", "long"})
				if governed {
					s.policy(table, "id", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"lt","value":4}}`)
				}
				c.spoil(dir)
				s.restart()
				logged := s.log.Len()
				for _, who := range []*client{s.admin, viewer, builder} {
					who.url = s.url
					asks := map[string]reply{
						"query": who.query("SELECT * FROM " + s.schema + "." + table), "details": who.call("GET", s.tablePath(table), nil),
						"rows": who.call("GET", s.tablePath(table)+"/rows", nil), "history": who.call("GET", s.tablePath(table)+"/history", nil),
					}
					if who != viewer {
						asks["insert"] = who.call("POST", s.tablePath(table)+"/rows", rowsOf(object{"id": 1}))
					}
					for ask, r := range asks {
						want := map[string]string{"reason": c.reason}
						if who != viewer && !governed && c.inFile != "" {
							want["file"] = c.inFile
						}
						code, details := r.refusal(t, http.StatusConflict)
						require.Equal(t, c.code, code, ask)
						require.Equal(t, want, details, "%s governed %t, as %s", ask, governed, who.user)
						require.NotContains(t, string(r.body), s.root)
						require.NotContains(t, string(r.body), "elsewhere")
					}
				}
				require.Contains(t, s.log.String()[logged:], filepath.Join(s.root, table), "the log has the full path")
				require.Contains(t, s.log.String()[logged:], c.reason)
				found := s.discover()["problems"].([]any)[0].(map[string]any)
				require.Equal(t, c.code, found["code"])
				require.Equal(t, []any{map[string]any{"field": "reason", "message": c.reason}}, found["details"])
				require.NoError(t, os.RemoveAll(dir))
				require.NoError(t, os.MkdirAll(dir, 0o700))
				s.admin.ok("DELETE", s.tablePath(table), nil)
			}
		})
	}
}

// TestInvalidBinaryParametersAreExplained compares texts with bytes. The error for a text
// that is not a binary value says how bytes are written.
func TestInvalidBinaryParametersAreExplained(t *testing.T) {
	s := startServer(t, nil)
	columns := []column{{"id", "long"}, {"b", "binary"}}
	s.table("t", `SELECT i AS id, from_base64('w6Q=') AS b FROM range(3) t(i)`, nil, columns...)
	s.table("filtered", `SELECT i AS id, from_base64('w6Q=') AS b FROM range(3) t(i)`, nil, columns...)
	s.policy("filtered", "id", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"lt","value":4}}`)
	for _, table := range []string{"t", "filtered"} {
		where := "SELECT count(*) FROM " + s.schema + "." + table + " WHERE b = "
		for _, value := range []any{"ä", `\xZZ`, `\x0`} {
			code, details := s.admin.query(where+"?", value).refusal(t, http.StatusUnprocessableEntity)
			require.Equal(t, "value_error", code)
			require.Contains(t, details["sql"], "from_base64", "%s", value)
		}
		require.Equal(t, list{list{3.0}}, s.admin.rows(where+"?", `\xC3\xA4`))
		require.Equal(t, list{list{3.0}}, s.admin.rows(where+"from_base64(?)", "w6Q="))
	}
}

// TestMissingDeletionVectorsCloseOnlyVersionsThatNeedThem checks that history,
// descriptions and older versions stay open, and that an older version can be restored.
func TestMissingDeletionVectorsCloseOnlyVersionsThatNeedThem(t *testing.T) {
	s := startServer(t, nil)
	path := s.create("t", object{"properties": object{"delta.enableDeletionVectors": "true"}}, col("id", "long"))
	var rows list
	for id := range 3000 {
		rows = append(rows, object{"id": id})
	}
	s.admin.write(path+"/rows", rowsOf(rows...))
	whole := s.admin.version(path)
	s.admin.write(path+"/rows/delete", object{"where": "id % 3 = 0"})
	dir := filepath.Join(s.root, "t")
	vectors, err := filepath.Glob(filepath.Join(dir, "deletion_vector_*.bin"))
	require.NoError(t, err)
	require.Len(t, vectors, 1)
	vector := filepath.Base(vectors[0])
	require.NoError(t, os.Remove(vectors[0]))
	table := s.schema + ".t"
	viewer := s.member("vera@acme.example", "viewer", nil)
	for range 2 {
		closed := func(r reply, file bool) {
			t.Helper()
			want := map[string]string{"reason": "deletion_vector_missing"}
			if file {
				want["file"] = vector
			}
			code, details := r.refusal(t, http.StatusConflict)
			require.Equal(t, "data_file_missing", code)
			require.Equal(t, want, details)
		}
		s.restart() // nothing may come from memory
		viewer.url = s.url
		closed(s.admin.query("SELECT count(id) FROM "+table), true)
		closed(viewer.query("SELECT count(id) FROM "+table), false)
		closed(s.admin.call("GET", path+"/rows", nil), true)
		closed(s.admin.call("POST", path+"/rows/delete", object{"where": "id = 1"}), true)
		closed(s.admin.call("POST", path+"/rows", rowsOf(object{"id": 1})), true)
		require.Equal(t, whole+1, s.admin.version(path))
		require.Len(t, s.admin.ok("GET", path+"/columns", nil)["columns"], 1)
		require.Len(t, s.admin.ok("GET", path+"/history", nil)["versions"], int(whole)+2)
		for _, who := range []*client{s.admin, viewer} {
			require.Equal(t, list{list{3000.0}}, who.rows(fmt.Sprintf("SELECT count(id) FROM %s AT (VERSION => %v)", table, whole)))
		}
		require.Equal(t, list{list{"id"}}, s.admin.rows("SELECT column_name FROM information_schema.columns WHERE table_name = 't'"))
	}
	s.admin.ok("POST", path+"/restore", object{"version": whole})
	require.Equal(t, 3000.0, s.admin.count(table))
	closedThen := s.admin.query(fmt.Sprintf("SELECT count(id) FROM %s AT (VERSION => %v)", table, whole+1))
	_, details := closedThen.refusal(t, http.StatusConflict)
	require.Equal(t, "deletion_vector_missing", details["reason"])
}

// TestTablesWithDamagedCheckpointsStayOpen checks that a table whose commits remain is
// read and written as before, and that a table whose log the engine reads itself is
// refused with the reason.
func TestTablesWithDamagedCheckpointsStayOpen(t *testing.T) {
	s := startServer(t, nil)
	path := s.create("t", object{"properties": object{"delta.checkpointInterval": "2"}}, col("id", "long"))
	for id := range 4 {
		s.admin.write(path+"/rows", rowsOf(object{"id": id}))
	}
	dir := filepath.Join(s.root, "t")
	bare := filepath.Join(s.root, "v")
	writePartitionLog(t, bare)
	s.discover()
	checkpoints, err := filepath.Glob(filepath.Join(dir, "_delta_log", "*.checkpoint.parquet"))
	require.NoError(t, err)
	require.Len(t, checkpoints, 2)
	for _, name := range checkpoints {
		require.NoError(t, os.Truncate(name, 40))
	}
	s.restart()
	require.Equal(t, 4.0, s.admin.count(s.schema+".t"))
	for v := range 5 {
		require.Equal(t, list{list{float64(v)}}, s.admin.rows(fmt.Sprintf("SELECT count(*) FROM %s.t AT (VERSION => %d)", s.schema, v)))
	}
	s.admin.write(path+"/rows", rowsOf(object{"id": 4}))
	s.admin.write(path+"/rows", rowsOf(object{"id": 5})) // with a checkpoint
	s.restart()
	require.Equal(t, 6.0, s.admin.count(s.schema+".t"))

	require.NoError(t, os.WriteFile(filepath.Join(bare, "_delta_log/00000000000000000000.checkpoint.parquet"), nil, 0o600))
	s.restart()
	code, details := s.admin.query("SELECT id FROM "+s.schema+".v").refusal(t, http.StatusConflict)
	require.Equal(t, "table_log_broken", code)
	require.Equal(t, "checkpoint_damaged", details["reason"])
	require.Len(t, s.admin.ok("GET", s.tablePath("v")+"/history", nil)["versions"], 1)
}

// TestADamagedCheckpointIsReadByNoEngine: a table of many partitions, of which statements
// read all, is read through its log otherwise.
func TestADamagedCheckpointIsReadByNoEngine(t *testing.T) {
	s := startServer(t, nil)
	dir := s.table("t", "SELECT i AS id, i AS p FROM range(70) t(i)", []string{"p"}, column{"id", "long"}, column{"p", "long"})
	require.NoError(t, os.WriteFile(filepath.Join(dir, logpath.CheckpointName(1)), []byte("PAR1 no checkpoint PAR1"), 0o600))
	s.restart()
	require.Equal(t, 70.0, s.admin.count(s.schema+".t"))
	require.Equal(t, list{list{2415.0}}, s.admin.rows("SELECT sum(id)::BIGINT FROM "+s.schema+".t"))
	s.admin.write(s.tablePath("t")+"/rows/update", object{"where": "id >= 0", "set": object{"id": "id + 1"}})
	require.Equal(t, list{list{2485.0}}, s.admin.rows("SELECT sum(id)::BIGINT FROM "+s.schema+".t"))
}

// writePartitionLog makes an empty table whose only column is a partition column.
func writePartitionLog(t testing.TB, dir string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "_delta_log"), 0o750))
	const schema = `{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}]}`
	appendCommit(t, dir, `{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}`,
		`{"metaData":{"id":"2d7a1f2e-6a4b-4f0e-9a53-7c5a0d3a9b11","format":{"provider":"parquet","options":{}},"schemaString":"`+schema+`","partitionColumns":["id"],"configuration":{}}}`)
}
