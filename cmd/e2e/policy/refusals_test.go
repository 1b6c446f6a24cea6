package policy_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
)

// refusalOf returns the code and the details of a table's refusal.
func refusalOf(r harness.Reply, t testing.TB, status int) (code string, details map[string]string) {
	t.Helper()
	code, _ = r.Problem(t, status)
	return code, r.Details(t)
}

// TestRefusalsNameTheirReason has tables refused for every reason. Every caller gets the
// reason; a caller who sees all of the table and may modify it also gets the file at
// fault. The server's log has the full path.
func TestRefusalsNameTheirReason(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	viewer := s.Member("vera@acme.example", "viewer", nil)
	builder := s.Member("bob@acme.example", "builder", nil)
	const log, checkpoint = "_delta_log/00000000000000000002.json", "_delta_log/00000000000000000002.checkpoint.parquet"
	for name, c := range map[string]struct {
		spoil                func(dir string)
		code, reason, inFile string
	}{
		"absolute": {func(dir string) { harness.AppendCommit(t, dir, harness.AddOf("file:///elsewhere/x.parquet")) }, "unsupported_table_feature",
			"absolute_path", log},
		"clone": {func(dir string) {
			harness.AppendCommit(t, dir, `{"commitInfo":{"operation":"CLONE","operationParameters":{"isShallow":"true"}}}`,
				harness.AddOf("/elsewhere/x.parquet"))
		}, "unsupported_table_feature", "shallow_clone", log},
		"outside": {func(dir string) { harness.AppendCommit(t, dir, harness.AddOf("../other/x.parquet")) }, "table_log_broken", "unsafe_path",
			log},
		"vector": {func(dir string) {
			harness.AppendCommit(t, dir, strings.Replace(harness.AddOf("x"), `"size"`,
				`"deletionVector":{"storageType":"p","pathOrInlineDv":"s3://elsewhere/x","sizeInBytes":1,"cardinality":1},"size"`, 1))
		}, "unsupported_table_feature", "absolute_path", log},
		"torn": {func(dir string) { harness.AppendCommit(t, dir, `{"add":`) }, "table_log_broken", "commit_damaged", log},
		"schema": {func(dir string) {
			harness.AppendCommit(t, dir,
				`{"metaData":{"id":"x","format":{"provider":"parquet","options":{}},"partitionColumns":[],"configuration":{}}}`)
		}, "table_log_broken", "metadata_missing", ""},
		"checkpoint": {func(dir string) {
			harness.AppendCommit(t, dir, `{"commitInfo":{}}`)
			require.NoError(t, os.WriteFile(filepath.Join(dir, checkpoint), nil, 0o600))
			require.NoError(t, os.Remove(filepath.Join(dir, harness.FirstCommit)))
		}, "table_log_broken", "checkpoint_damaged", checkpoint},
		"gap": {func(dir string) {
			harness.AppendCommit(t, dir, `{"commitInfo":{}}`)
			require.NoError(t, os.Remove(filepath.Join(dir, harness.FirstCommit)))
		}, "table_log_broken", "commit_missing", harness.FirstCommit},
	} {
		t.Run(name, func(t *testing.T) {
			for _, governed := range []bool{false, true} {
				table := fmt.Sprintf("%s_%t", name, governed)
				dir := s.Table(table, `SELECT i AS id FROM range(10) t(i)`, nil, column{"id", "long"})
				if governed {
					s.Policy(table, "id", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"lt","value":4}}`)
				}
				c.spoil(dir)
				s.Restart()
				logged := s.Log.Len()
				for _, who := range []*harness.Client{s.Admin, viewer, builder} {
					who.URL = s.URL
					asks := map[string]harness.Reply{
						"query": who.Query("SELECT * FROM " + s.Schema + "." + table), "details": who.Call("GET", s.TablePath(table), nil),
						"rows": who.Call("GET", s.TablePath(table)+"/rows", nil), "history": who.Call("GET", s.TablePath(table)+"/history", nil),
					}
					if who != viewer {
						asks["insert"] = who.Call("POST", s.TablePath(table)+"/rows", harness.RowsOf(object{"id": 1}))
					}
					for ask, r := range asks {
						want := map[string]string{"reason": c.reason}
						if who != viewer && !governed && c.inFile != "" {
							want["file"] = c.inFile
						}
						code, details := refusalOf(r, t, http.StatusConflict)
						require.Equal(t, c.code, code, ask)
						require.Equal(t, want, details, "%s governed %t, as %s", ask, governed, who.User)
						require.NotContains(t, string(r.Body), s.Root)
						require.NotContains(t, string(r.Body), "elsewhere")
					}
				}
				require.Contains(t, s.Log.String()[logged:], filepath.Join(s.Root, table), "the log has the full path")
				require.Contains(t, s.Log.String()[logged:], c.reason)
				found := s.Discover()["problems"].([]any)[0].(map[string]any)
				require.Equal(t, c.code, found["code"])
				require.Equal(t, []any{map[string]any{"field": "reason", "message": c.reason}}, found["details"])
				require.NoError(t, os.RemoveAll(dir))
				require.NoError(t, os.MkdirAll(dir, 0o700))
				s.Admin.OK("DELETE", s.TablePath(table), nil)
			}
		})
	}
}

// TestInvalidBinaryParametersAreExplained compares texts with bytes. The error for a text
// that is not a binary value explains how bytes are written.
func TestInvalidBinaryParametersAreExplained(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	columns := []column{{"id", "long"}, {"b", "binary"}}
	s.Table("t", `SELECT i AS id, from_base64('w6Q=') AS b FROM range(3) t(i)`, nil, columns...)
	s.Table("filtered", `SELECT i AS id, from_base64('w6Q=') AS b FROM range(3) t(i)`, nil, columns...)
	s.Policy("filtered", "id", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"lt","value":4}}`)
	for _, table := range []string{"t", "filtered"} {
		where := "SELECT count(*) FROM " + s.Schema + "." + table + " WHERE b = "
		for _, value := range []any{"ä", `\xZZ`, `\x0`} {
			code, details := refusalOf(s.Admin.Query(where+"?", value), t, http.StatusUnprocessableEntity)
			require.Equal(t, "binary_text_invalid", code)
			require.Contains(t, details["sql"], "from_base64", "%s", value)
		}
		require.Equal(t, list{list{3.0}}, s.Admin.Rows(where+"?", `\xC3\xA4`))
		require.Equal(t, list{list{3.0}}, s.Admin.Rows(where+"from_base64(?)", "w6Q="))
	}
}

// TestMissingDeletionVectorsCloseOnlyVersionsThatNeedThem checks that history,
// descriptions and older versions stay open, and that an older version can be restored.
func TestMissingDeletionVectorsCloseOnlyVersionsThatNeedThem(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	path := s.Create("t", object{"properties": object{"delta.enableDeletionVectors": "true"}}, harness.Col("id", "long"))
	var rows list
	for id := range 3000 {
		rows = append(rows, object{"id": id})
	}
	s.Admin.Write(path+"/rows", harness.RowsOf(rows...))
	whole := s.Admin.Version(path)
	s.Admin.Write(path+"/rows/delete", object{"where": "id % 3 = 0"})
	dir := filepath.Join(s.Root, "t")
	vectors, err := filepath.Glob(filepath.Join(dir, "deletion_vector_*.bin"))
	require.NoError(t, err)
	require.Len(t, vectors, 1)
	vector := filepath.Base(vectors[0])
	require.NoError(t, os.Remove(vectors[0]))
	table := s.Schema + ".t"
	viewer := s.Member("vera@acme.example", "viewer", nil)
	for range 2 {
		closed := func(r harness.Reply, file bool) {
			t.Helper()
			want := map[string]string{"reason": "deletion_vector_missing"}
			if file {
				want["file"] = vector
			}
			code, details := refusalOf(r, t, http.StatusConflict)
			require.Equal(t, "data_file_missing", code)
			require.Equal(t, want, details)
		}
		s.Restart() // nothing may come from memory
		viewer.URL = s.URL
		closed(s.Admin.Query("SELECT count(id) FROM "+table), true)
		closed(viewer.Query("SELECT count(id) FROM "+table), false)
		closed(s.Admin.Call("GET", path+"/rows", nil), true)
		closed(s.Admin.Call("POST", path+"/rows/delete", object{"where": "id = 1"}), true)
		closed(s.Admin.Call("POST", path+"/rows", harness.RowsOf(object{"id": 1})), true)
		require.Equal(t, whole+1, s.Admin.Version(path))
		require.Len(t, s.Admin.OK("GET", path+"/columns", nil)["columns"], 1)
		require.Len(t, s.Admin.OK("GET", path+"/history", nil)["versions"], int(whole)+2)
		for _, who := range []*harness.Client{s.Admin, viewer} {
			require.Equal(t, list{list{3000.0}}, who.Rows(fmt.Sprintf("SELECT count(id) FROM %s AT (VERSION => %v)", table, whole)))
		}
		require.Equal(t, list{list{"id"}}, s.Admin.Rows("SELECT column_name FROM information_schema.columns WHERE table_name = 't'"))
	}
	s.Admin.OK("POST", path+"/restore", object{"version": whole})
	require.Equal(t, 3000.0, s.Admin.Count(table))
	closedThen := s.Admin.Query(fmt.Sprintf("SELECT count(id) FROM %s AT (VERSION => %v)", table, whole+1))
	_, details := refusalOf(closedThen, t, http.StatusConflict)
	require.Equal(t, "deletion_vector_missing", details["reason"])
}

// TestTablesWithDamagedCheckpointsStayOpen checks that a table whose commits remain is
// read and written as before, and that a table whose log the engine reads itself is
// refused with the reason.
func TestTablesWithDamagedCheckpointsStayOpen(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	path := s.Create("t", object{"properties": object{"delta.checkpointInterval": "2"}}, harness.Col("id", "long"))
	for id := range 4 {
		s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": id}))
	}
	dir := filepath.Join(s.Root, "t")
	bare := filepath.Join(s.Root, "v")
	writePartitionLog(t, bare)
	s.Discover()
	checkpoints, err := filepath.Glob(filepath.Join(dir, "_delta_log", "*.checkpoint.parquet"))
	require.NoError(t, err)
	require.Len(t, checkpoints, 2)
	for _, name := range checkpoints {
		require.NoError(t, os.Truncate(name, 40))
	}
	s.Restart()
	require.Equal(t, 4.0, s.Admin.Count(s.Schema+".t"))
	for v := range 5 {
		require.Equal(t, list{list{float64(v)}}, s.Admin.Rows(fmt.Sprintf("SELECT count(*) FROM %s.t AT (VERSION => %d)", s.Schema, v)))
	}
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 4}))
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 5})) // with a checkpoint
	s.Restart()
	require.Equal(t, 6.0, s.Admin.Count(s.Schema+".t"))

	require.NoError(t, os.WriteFile(filepath.Join(bare, "_delta_log/00000000000000000000.checkpoint.parquet"), nil, 0o600))
	s.Restart()
	code, details := refusalOf(s.Admin.Query("SELECT id FROM "+s.Schema+".v"), t, http.StatusConflict)
	require.Equal(t, "table_log_broken", code)
	require.Equal(t, "checkpoint_damaged", details["reason"])
	require.Len(t, s.Admin.OK("GET", s.TablePath("v")+"/history", nil)["versions"], 1)
}

// TestNoEngineReadsDamagedCheckpoint uses a table of many partitions, all of which
// statements read, because the engine reads the log of such a table itself.
func TestNoEngineReadsDamagedCheckpoint(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	dir := s.Table("t", "SELECT i AS id, i AS p FROM range(70) t(i)", []string{"p"}, column{"id", "long"}, column{"p", "long"})
	require.NoError(t, os.WriteFile(filepath.Join(dir, logpath.CheckpointName(1)), []byte("PAR1 no checkpoint PAR1"), 0o600))
	s.Restart()
	require.Equal(t, 70.0, s.Admin.Count(s.Schema+".t"))
	require.Equal(t, list{list{2415.0}}, s.Admin.Rows("SELECT sum(id)::BIGINT FROM "+s.Schema+".t"))
	s.Admin.Write(s.TablePath("t")+"/rows/update", object{"where": "id >= 0", "set": object{"id": "id + 1"}})
	require.Equal(t, list{list{2485.0}}, s.Admin.Rows("SELECT sum(id)::BIGINT FROM "+s.Schema+".t"))
}

// writePartitionLog makes an empty table whose only column is a partition column.
func writePartitionLog(t testing.TB, dir string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "_delta_log"), 0o750))
	const schema = `{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}]}`
	harness.AppendCommit(t, dir, `{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}`,
		`{"metaData":{"id":"2d7a1f2e-6a4b-4f0e-9a53-7c5a0d3a9b11","format":{"provider":"parquet","options":{}},"schemaString":"`+schema+
			`","partitionColumns":["id"],"configuration":{}}}`)
}
