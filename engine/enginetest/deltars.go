package enginetest

import (
	_ "embed"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/oracletest"
)

//go:embed deltars.py
var deltaRS string

// writeForeign lets delta-rs write tables with random rows below root, and returns
// their names.
func writeForeign(t *testing.T, root string) []string {
	t.Helper()
	python := oracletest.Python(t)
	cmd := exec.CommandContext(t.Context(), python, "-c", deltaRS, root)
	cmd.Env = append(os.Environ(), "TZ=UTC")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// loggedTable holds the content of a table's JSON log.
type loggedTable struct {
	version   int64
	partition []string
	groups    []engine.FileGroup
}

// readLog replays the log of the table at dir. It ignores checkpoints, deletion
// vectors and column mapping.
func readLog(t *testing.T, dir string) loggedTable {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "_delta_log", "*.json"))
	require.NoError(t, err)
	slices.Sort(names)
	l := loggedTable{version: int64(len(names)) - 1}
	values := map[string]map[string]*string{}
	var order []string
	for _, name := range names {
		content, err := os.ReadFile(name)
		require.NoError(t, err)
		for line := range strings.Lines(string(content)) {
			var a struct {
				MetaData *struct{ PartitionColumns []string }
				Add      *struct {
					Path            string
					PartitionValues map[string]*string
				}
				Remove *struct{ Path string }
			}
			require.NoError(t, json.Unmarshal([]byte(line), &a))
			switch {
			case a.MetaData != nil:
				l.partition = a.MetaData.PartitionColumns
			case a.Add != nil:
				order = append(order, a.Add.Path)
				values[a.Add.Path] = a.Add.PartitionValues
			case a.Remove != nil:
				delete(values, a.Remove.Path)
			}
		}
	}
	for _, path := range order {
		if v, ok := values[path]; ok {
			l.add(t, path, v)
		}
	}
	return l
}

// add puts a file into a new group. Engines may merge equal groups.
func (l *loggedTable) add(t *testing.T, encoded string, values map[string]*string) {
	t.Helper()
	path, err := url.PathUnescape(encoded)
	require.NoError(t, err)
	for name, v := range values {
		if v != nil && *v == "" {
			values[name] = nil // the protocol's NULL
		}
	}
	l.groups = append(l.groups, engine.FileGroup{Partition: values, Paths: []string{path}})
}
