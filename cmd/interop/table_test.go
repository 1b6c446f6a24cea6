package interop

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// table is one table of a place during its scenario.
type table struct {
	t    *testing.T
	w    *testServer
	in   place
	name string
	path string // the path of its resource
}

// create creates the table of a scenario.
func (w *testServer) create(t *testing.T, in place, l scenario) *table {
	t.Helper()
	name := strings.ReplaceAll(l.name, " ", "_")
	body := object{"catalog": "lake", "schema": in.schema, "name": name, "columns": l.columns}
	for key, v := range l.more {
		body[key] = v
	}
	w.send(t, "POST", "/v1/tables", body)
	return &table{t: t, w: w, in: in, name: name, path: "/v1/tables/lake/" + in.schema + "/" + name}
}

func (t *table) post(to string, body any, header ...string) object {
	t.t.Helper()
	return t.w.send(t.t, "POST", t.path+to, body, header...)
}

func (t *table) put(to string, body any) { t.t.Helper(); t.w.send(t.t, "PUT", t.path+to, body) }

func (t *table) patch(to string, body any) { t.t.Helper(); t.w.send(t.t, "PATCH", t.path+to, body) }

func (t *table) delete(to string) { t.t.Helper(); t.w.send(t.t, "DELETE", t.path+to, nil) }

// write changes rows. At least one row must change.
func (t *table) write(to string, body any) {
	t.t.Helper()
	got := t.post(to, body)
	require.NotZero(t.t, got["inserted"].(float64)+got["updated"].(float64)+got["deleted"].(float64), "%s changes nothing", to)
}

// text inserts rows from a body that is not JSON.
func (t *table) text(contentType, body string) {
	t.t.Helper()
	require.NotZero(t.t, t.post("/rows", body, "Content-Type", contentType)["inserted"])
}

// file inserts rows from a file that pyarrow wrote, with two ids starting at first.
func (t *table) file(contentType, format string, first int64) {
	t.t.Helper()
	path := filepath.Join(t.t.TempDir(), "rows")
	a := t.w.server.ask(t.t, request{Engine: "delta-rs", Do: "file", Name: format, Table: path, New: first})
	require.Empty(t.t, a.Refused)
	body, err := os.ReadFile(path)
	require.NoError(t.t, err)
	t.text(contentType, string(body))
}

func (t *table) version() float64 {
	t.t.Helper()
	return t.w.send(t.t, "GET", t.path, nil)["version"].(float64)
}

// toCheckpoint writes until the last version has a checkpoint, and deletes the
// commits before it, so that readers have to use the checkpoint.
func (t *table) toCheckpoint() {
	t.t.Helper()
	log := filepath.Join(t.in.folder, t.name, "_delta_log")
	for range 11 {
		t.write("/rows/update", object{"where": "id = 1", "set": object{"price": "price + 1"}})
		checkpoints, err := filepath.Glob(filepath.Join(log, "*.checkpoint.parquet"))
		require.NoError(t.t, err)
		commits, err := filepath.Glob(filepath.Join(log, "*[0-9].json"))
		require.NoError(t.t, err)
		newest := func(names []string) string {
			if len(names) == 0 {
				return ""
			}
			name, _, _ := strings.Cut(filepath.Base(slices.Max(names)), ".")
			return name
		}
		if at := newest(checkpoints); at != newest(commits) {
			continue
		}
		for _, commit := range commits {
			if strings.TrimSuffix(filepath.Base(commit), ".json") != newest(commits) {
				require.NoError(t.t, os.Remove(commit))
			}
		}
		return
	}
	t.t.Fatal("no checkpoint in eleven versions")
}

// request returns a request about this table.
func (t *table) request(do string) request {
	return request{Do: do, Table: t.in.uri + "/" + t.name, Folder: filepath.Join(t.in.folder, t.name), Name: t.in.schema + "." + t.name,
		URL: t.w.url, Key: t.w.key}
}

// served returns the rows that the server reads.
func (t *table) served() contents {
	t.t.Helper()
	r := t.request(reading)
	r.Engine = "server"
	a := t.w.server.ask(t.t, r)
	require.Empty(t.t, a.Refused, "the server refuses to read")
	return a.contents()
}

// idOf returns the first value of a row in canonical form.
func idOf(t *testing.T, row string) (id string) {
	t.Helper()
	var values []json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(row), &values))
	require.NoError(t, json.Unmarshal(values[0], &id))
	return id
}

// withID returns a row with another id.
func withID(t *testing.T, row, id string) string {
	t.Helper()
	return strings.Replace(row, `["`+idOf(t, row)+`"`, `["`+id+`"`, 1)
}
