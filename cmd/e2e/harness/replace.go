package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
)

// ReplaceTable commits the same actions as CREATE OR REPLACE TABLE AS SELECT of other
// writers: a new table with the id, or with a new id if that is empty, in the same log.
// It returns the version.
func ReplaceTable(t testing.TB, dir, id, sql string, columns ...Column) int64 {
	t.Helper()
	next := WriteTable(t, filepath.Join(t.TempDir(), "next"), sql, nil, columns...)
	bucket, err := file.New(dir)
	require.NoError(t, err)
	head, err := delta.Load(context.Background(), bucket, delta.Options{})
	require.NoError(t, err)

	lines := []any{object{"commitInfo": object{
		"timestamp": 1_700_000_000_000, "operation": "CREATE OR REPLACE TABLE AS SELECT", "operationParameters": object{"isManaged": "false"},
		"operationMetrics": object{"numOutputRows": "7"}, "engineInfo": "Other/1.0",
	}}}
	for f := range head.Files() {
		lines = append(lines, object{"remove": object{"path": f.Add.Path, "deletionTimestamp": 1_700_000_000_000, "dataChange": true}})
	}
	commits, err := filepath.Glob(filepath.Join(next, "_delta_log", "*.json"))
	require.NoError(t, err)
	for _, name := range commits {
		body, err := os.ReadFile(name)
		require.NoError(t, err)
		for line := range strings.Lines(string(body)) {
			var action map[string]map[string]any
			require.NoError(t, json.Unmarshal([]byte(line), &action))
			if meta := action["metaData"]; meta != nil && id != "" {
				meta["id"] = id
			}
			if action["metaData"] != nil || action["add"] != nil {
				lines = append(lines, action)
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(next, "*.parquet"))
	require.NoError(t, err)
	for _, name := range files {
		body, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(name)), body, 0o600))
	}
	var body bytes.Buffer
	for _, line := range lines {
		require.NoError(t, json.NewEncoder(&body).Encode(line))
	}
	require.NoError(t, bucket.PutIfAbsent(context.Background(), logpath.CommitName(head.Version()+1), body.Bytes()))
	return head.Version() + 1
}

// Adopt confirms the identity of a table that replaced a governed one.
func (s *Server) Adopt(name string, keepRules bool) {
	s.T.Helper()
	s.Discover()
	s.Admin.OK("POST", s.TablePath(name)+"/adopt-identity", object{"keep_rules": keepRules})
}
