package harness

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
	"github.com/lakewarden/lakewarden/engine/workdir"
)

// FirstCommit is the name of the first commit below a table.
const FirstCommit = "_delta_log/00000000000000000000.json"

// DataFiles lists the data files of a table's folder.
func DataFiles(t testing.TB, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.parquet"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

// FileOf returns the path of the data file whose action in the log contains what.
func FileOf(t *testing.T, dir, what string) string {
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

// CommitFirstFileAgain commits the first file of a table again, under another name, as a
// writer does that knows neither keys nor domains. The rows count as new if changed is
// true.
func CommitFirstFileAgain(t testing.TB, dir, engineInfo string, changed bool) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "_delta_log", "*.json"))
	require.NoError(t, err)
	slices.Sort(logs)
	next := fmt.Sprintf("%020d.json", len(logs))
	actions := []string{fmt.Sprintf(`{"commitInfo":{"timestamp":1,"operation":"WRITE","engineInfo":%q}}`, engineInfo)}
	for _, name := range logs {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			var entry struct{ Add map[string]any }
			require.NoError(t, json.Unmarshal([]byte(line), &entry))
			if entry.Add == nil || len(actions) > 1 {
				continue
			}
			path := entry.Add["path"].(string)
			data, err := os.ReadFile(filepath.Join(dir, path))
			require.NoError(t, err)
			entry.Add["path"], entry.Add["dataChange"] = "again-"+next+".parquet", changed
			require.NoError(t, os.WriteFile(filepath.Join(dir, entry.Add["path"].(string)), data, 0o600))
			raw, err := json.Marshal(map[string]any{"add": entry.Add})
			require.NoError(t, err)
			actions = append(actions, string(raw))
		}
	}
	require.Len(t, actions, 2)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "_delta_log", next), []byte(strings.Join(actions, "\n")+"\n"), 0o600))
}

// RenameElsewhere renames a column without changing any policy, as another writer does, or
// a server that stops right after the commit.
func RenameElsewhere(t *testing.T, dir, column, name string) {
	t.Helper()
	bucket, err := file.New(dir)
	require.NoError(t, err)
	snap, err := delta.Load(t.Context(), bucket, delta.Options{})
	require.NoError(t, err)
	a := snap.Alter()
	require.NoError(t, a.RenameColumn([]string{column}, name))
	change, err := a.Change()
	require.NoError(t, err)
	txn := snap.Begin(delta.Operation{Name: "RENAME COLUMN"})
	txn.Alter(change)
	_, err = txn.Commit(t.Context())
	require.NoError(t, err)
}

// AppendCommit adds the next commit to a table's log.
func AppendCommit(t testing.TB, dir string, lines ...string) {
	t.Helper()
	commits, err := filepath.Glob(filepath.Join(dir, "_delta_log", "*.json"))
	require.NoError(t, err)
	name := filepath.Join(dir, "_delta_log", fmt.Sprintf("%020d.json", len(commits)))
	require.NoError(t, os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
}

// AddOf returns an action that adds the file path.
func AddOf(path string) string {
	return fmt.Sprintf(`{"add":{"path":%q,"partitionValues":{},"size":1,"modificationTime":0,"dataChange":true}}`, path)
}

// Aged creates a file below a directory whose modification time is hours ago.
func Aged(t *testing.T, dir, name string, hours int) {
	t.Helper()
	full := filepath.Join(dir, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o755))
	require.NoError(t, os.WriteFile(full, []byte("x"), 0o644))
	at := time.Now().Add(-time.Duration(hours) * time.Hour)
	require.NoError(t, os.Chtimes(full, at, at))
}

// ForeignTable writes a table as another engine would: files with the rows of a query, and
// a log with the given fields of the schema, features and properties.
func ForeignTable(t testing.TB, dir, sql string, fields []string, features []string, properties string) []engine.DataFile {
	t.Helper()
	files := WriteFiles(t, dir, sql, engine.FileLayout{})
	protocol := `{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}`
	if features != nil {
		list, err := json.Marshal(features)
		require.NoError(t, err)
		protocol = fmt.Sprintf(`{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":%s,"writerFeatures":%s}}`, list, list)
	}
	schema, err := json.Marshal(`{"type":"struct","fields":[` + strings.Join(fields, ",") + `]}`)
	require.NoError(t, err)
	lines := []string{protocol, `{"metaData":{"id":"` + filepath.Base(dir) +
		`","format":{"provider":"parquet","options":{}},"partitionColumns":[],"configuration":{` + properties + `},"schemaString":` +
		string(schema) + `,"createdTime":1}}`}
	for _, f := range files {
		lines = append(lines, fmt.Sprintf(`{"add":{"path":%q,"partitionValues":{},"size":%d,"modificationTime":1,"dataChange":true,`+
			`"stats":"{\"numRecords\":%d}"}}`, f.Name, f.Bytes, f.Rows))
	}
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "_delta_log"), 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(dir, FirstCommit), []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	return files
}

// SchemaField returns a nullable field of a schema; typ is JSON or a name.
func SchemaField(name, typ string) string {
	if !strings.HasPrefix(typ, "{") {
		typ = `"` + typ + `"`
	}
	return fmt.Sprintf(`{"name":%q,"type":%s,"nullable":true,"metadata":{}}`, name, typ)
}

// AppendRows commits more rows to a table, as another engine would. It writes one file
// for each partition.
func AppendRows(t testing.TB, dir, sql string) {
	t.Helper()
	bucket, err := file.New(dir)
	require.NoError(t, err)
	snap, err := delta.Load(t.Context(), bucket, delta.Options{})
	require.NoError(t, err)
	files := WriteFiles(t, filepath.Join(dir, "data"), sql, engine.FileLayout{PartitionBy: snap.PartitionColumns()})
	txn := snap.Begin(delta.Operation{Name: "WRITE"})
	for _, f := range files {
		values := map[string]*string{}
		for name, text := range f.Partition {
			field, ok := snap.Schema().Field(name)
			require.True(t, ok)
			values[name], err = delta.PartitionValue(field.Type, text)
			require.NoError(t, err)
		}
		info, err := os.Stat(filepath.Join(dir, "data", f.Name))
		require.NoError(t, err)
		require.NoError(t, txn.Add(delta.AddFile{Name: "data/" + f.Name, PartitionValues: values, Size: info.Size(), ModTime: time.Now()}))
	}
	_, err = txn.Commit(t.Context())
	require.NoError(t, err)
}

// FileEngine returns the engine of the tests of a package that reads no table.
func FileEngine(t testing.TB) engine.Engine {
	t.Helper()
	return process.fileEngine(t)
}

// WriteFiles writes the rows of a query into new files of the folder dir.
func WriteFiles(t testing.TB, dir, sql string, layout engine.FileLayout) []engine.DataFile {
	t.Helper()
	scratch := t.TempDir()
	session, err := FileEngine(t).Open(t.Context(), engine.SessionOptions{Scratch: scratch})
	require.NoError(t, err)
	files, err := session.(engine.Writer).Write(t.Context(), engine.WriteStatement{Statement: engine.Statement{SQL: sql}, Layout: layout})
	var failure *engine.Error
	if err != nil {
		require.ErrorAs(t, err, &failure)
		require.NoError(t, err, failure.Text)
	}
	require.NoError(t, session.Close())
	require.NoError(t, os.MkdirAll(dir, 0o750))
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = f.Name
	}
	require.NoError(t, workdir.Move(names, scratch, dir))
	return files
}
