package storage_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

const movePath = "/v1/storages/move"

// movable is a pair of configurations, the first of which has the tables a/t and a/deep/u.
type movable struct {
	*harness.Server
	from, to shared
	org      string
}

func newMovable(s *harness.Server, name string) movable {
	s.T.Helper()
	org := "/v1/organisations/" + s.Boot.OrganisationID
	workspace := ""
	for _, w := range s.Admin.OK("GET", org+"/workspaces", nil)["workspaces"].([]any) {
		if w := w.(map[string]any); w["isDefault"] == true {
			workspace = w["id"].(string)
		}
	}
	for path, rows := range map[string]string{"a/t": "SELECT i AS id FROM range(10) t(i)", "a/deep/u": "SELECT 7 AS id"} {
		harness.WriteTable(s.T, filepath.Join(s.Config.LocalRoots[0], name+"-from", path), rows, nil, column{"id", "long"})
	}
	made := func(end string) shared {
		c := s.Admin.OK("POST", harness.ConfigsPath,
			map[string]any{"configName": name + "-" + end, "kind": "local", "root": name + "-" + end, "workspaceId": workspace})
		return shared{c["configId"].(string), c["schema"].(string)}
	}
	return movable{s, made("from"), made("to"), org}
}

func (m movable) body(source, target string, more ...any) map[string]any {
	body := map[string]any{
		"sourceConfigId": m.from.id, "sourcePath": source, "destinationConfigId": m.to.id, "destinationPath": target,
	}
	for i := 0; i+1 < len(more); i += 2 {
		body[more[i].(string)] = more[i+1]
	}
	return body
}

// files returns the number of files below the root of a configuration.
func (m movable) files(root string) (n int) {
	m.T.Helper()
	require.NoError(m.T, filepath.WalkDir(filepath.Join(m.Config.LocalRoots[0], root), func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			n++
		}
		return err
	}))
	return n
}

func (m movable) table(schema, name string) string { return "/v1/tables/lake/" + schema + "/" + name }

func TestMoveOfLocalTables(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	m := newMovable(s, "local")
	id := s.Admin.OK("GET", m.table(m.from.schema, "a__t"), nil)["tableId"]
	s.Admin.OK("PATCH", m.table(m.from.schema, "a__deep__u"), map[string]any{"name": "chosen"})
	s.Admin.OK("POST", m.org+"/policies", map[string]any{
		"kind": "rls", "tableFqn": "lake." + m.from.schema + ".a__t", "columnName": "id",
		"definition": harness.Definition(`{"effect":"permit","subject":{"role":"admin"},"condition":null}`),
	})
	vic := s.Member("vic@acme.example", "builder", nil)
	objects := m.files("local-from")

	refusedWith(t, vic.Call("POST", movePath, m.body("a", "b", "dry_run", true)), 403, "table_partly_visible")
	refusedWith(t, vic.Call("POST", movePath, m.body("a", "b")), 403, "table_partly_visible")
	dry := s.Admin.OK("POST", movePath, m.body("a", "b", "dry_run", true))
	require.EqualValues(t, objects, dry["objectsMoved"])
	require.Equal(t, false, dry["discoveryTriggered"])
	require.Zero(t, m.files("local-to"))

	first := s.Admin.Call("POST", movePath, m.body("a", "b"), "Idempotency-Key", "one")
	require.Equal(t, 200, first.Status, "%s", first.Body)
	done := first.JSON(t)
	require.EqualValues(t, objects, done["objectsMoved"])
	require.EqualValues(t, 2, done["tablesDeregistered"])
	require.Equal(t, true, done["discoveryTriggered"])
	require.Positive(t, done["bytesTransferred"])
	require.Zero(t, m.files("local-from"))
	require.Equal(t, objects, m.files("local-to"))

	require.EqualValues(t, 10, s.Admin.Count(m.to.schema+".b__t"))
	require.EqualValues(t, 1, s.Admin.Count(m.to.schema+".chosen"), "a name that a person chose")
	require.EqualValues(t, 0, vic.Count(m.to.schema+".b__t"), "the policy follows the table")
	require.Equal(t, id, s.Admin.OK("GET", m.table(m.to.schema, "b__t"), nil)["tableId"])
	refusedWith(t, s.Admin.Call("GET", m.table(m.from.schema, "a__t"), nil), 404, "not_found")
	inserted, _, _ := s.Admin.Write(m.table(m.to.schema, "b__t")+"/rows", map[string]any{"rows": []any{map[string]any{"id": 99}}})
	require.EqualValues(t, 1, inserted)

	again := s.Admin.Call("POST", movePath, m.body("a", "b"), "Idempotency-Key", "one")
	require.Equal(t, 200, again.Status, "%s", again.Body)
	require.JSONEq(t, string(first.Body), string(again.Body))
	refusedWith(t, s.Admin.Call("POST", movePath, m.body("a", "c"), "Idempotency-Key", "one"), 422, "idempotency_key_reused")
}

// TestRefusedMoves checks that a refused move leaves everything as it was.
func TestRefusedMoves(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	m := newMovable(s, "refused")
	before := m.files("refused-from")
	require.NoError(t, os.WriteFile(filepath.Join(m.Config.LocalRoots[0], "refused-to", "taken.txt"), []byte("x"), 0o600))
	viewer := s.Member("vic@acme.example", "viewer", nil)
	other, _ := s.Organisation("elsewhere")
	for name, c := range map[string]struct {
		by     *harness.Client
		body   map[string]any
		status int
		code   string
	}{
		"viewer":             {viewer, m.body("a", "b"), 403, "insufficient_scope"},
		"other organisation": {other, m.body("a", "b"), 404, "not_found"},
		"dots":               {s.Admin, m.body("../a", "b"), 422, "invalid_field"},
		"absolute":           {s.Admin, m.body("/a", "b"), 422, "invalid_field"},
		"hidden destination": {s.Admin, m.body("a", "_b"), 422, "invalid_field"},
		"inside a table":     {s.Admin, m.body("a/t/part", "b"), 422, "invalid_field"},
		"a log":              {s.Admin, m.body("a/t/_delta_log", "b"), 422, "invalid_field"},
		"no objects":         {s.Admin, m.body("none", "b"), 422, "invalid_field"},
		"occupied":           {s.Admin, m.body("a", ""), 409, "destination_not_empty"},
		"overlap":            {s.Admin, m.body("a", "a/b", "destinationConfigId", m.from.id), 422, "invalid_field"},
		"itself":             {s.Admin, m.body("a", "a", "destinationConfigId", m.from.id), 422, "invalid_field"},
	} {
		got, _ := c.by.Call("POST", movePath, c.body).Problem(t, c.status)
		require.Equal(t, c.code, got, name)
	}
	require.Equal(t, before, m.files("refused-from"))
	require.Equal(t, 1, m.files("refused-to"))
	require.EqualValues(t, 10, s.Admin.Count(m.from.schema+".a__t"))
}

// TestAMoveIsTakenOver checks that a server finishes the move of a replica that has ended, that
// its tables can be read and not written to meanwhile, and that the retry of the request gets
// the result.
func TestAMoveIsTakenOver(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	m := newMovable(s, "lost")
	store, err := s.OpenCatalog(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	begun, err := store.BeginMove(t.Context(), catalog.NewMove{
		Org: catalog.OrgID(s.Boot.OrganisationID), User: catalog.UserID(s.Boot.UserID), Fingerprint: "f", Holder: "gone",
		Source: catalog.Place{Config: catalog.ConfigID(m.from.id), Path: "a"},
		Target: catalog.Place{Config: catalog.ConfigID(m.to.id), Path: "b"},
	})
	require.NoError(t, err)
	refusedWith(t, s.Admin.Call("POST", m.table(m.from.schema, "a__t")+"/rows", map[string]any{"rows": []any{map[string]any{"id": 1}}}),
		409, "table_moving")
	refusedWith(t, s.Admin.Call("POST", m.table(m.from.schema, "a__t")+"/columns", map[string]any{"name": "c", "type": "long"}),
		409, "table_moving")
	refusedWith(t, s.Admin.Call("POST", m.table(m.from.schema, "a__t")+"/optimize", map[string]any{}), 409, "table_moving")
	refusedWith(t, s.Admin.Call("DELETE", m.table(m.from.schema, "a__t")+"?purge=true", nil), 409, "table_moving")
	refusedWith(t, s.Admin.Call("POST", movePath, m.body("a", "c")), 409, "move_under_way")
	refusedWith(t, s.Admin.Call("DELETE", harness.ConfigsPath+"/"+m.to.id, nil), 409, "move_under_way")
	require.EqualValues(t, 10, s.Admin.Count(m.from.schema+".a__t"))

	require.NoError(t, store.ReleaseMove(t.Context(), begun.ID, "gone"))
	require.Eventually(t, func() bool {
		now, err := store.Move(t.Context(), begun.Org, begun.ID)
		return err == nil && now.State == catalog.MoveDone
	}, time.Minute, 50*time.Millisecond)
	require.EqualValues(t, 10, s.Admin.Count(m.to.schema+".b__t"))
	require.Zero(t, m.files("lost-from"))
}

// copyFolder copies the files of a folder, as a move that was interrupted did.
func (m movable) copyFolder(from, to string) {
	m.T.Helper()
	root := m.Config.LocalRoots[0]
	require.NoError(m.T, os.CopyFS(filepath.Join(root, to), os.DirFS(filepath.Join(root, from))))
}

// addCommit writes the next version of the table a/t at the source, as another engine would.
func (m movable) addCommit(folder string) {
	m.T.Helper()
	commits, err := filepath.Glob(filepath.Join(m.Config.LocalRoots[0], folder, "_delta_log", "*.json"))
	require.NoError(m.T, err)
	name := filepath.Join(filepath.Dir(commits[0]), fmt.Sprintf("%020d.json", len(commits)))
	commit := `{"commitInfo":{"timestamp":1,"operation":"WRITE","engineInfo":"other"}}` + "\n"
	require.NoError(m.T, os.WriteFile(name, []byte(commit), 0o600))
}

// TestForeignCommitsDuringMoves checks that no commit of another engine is lost: one that is
// found after the switch undoes it, and one that is found during the deletion stays.
func TestForeignCommitsDuringMoves(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	for name, settled := range map[string]bool{"switched": false, "deleting": true} {
		m := newMovable(s, name)
		ctx := t.Context()
		store, err := s.OpenCatalog(ctx)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		m.copyFolder(name+"-from/a", name+"-to/b")
		begun, err := store.BeginMove(ctx, catalog.NewMove{
			Org: catalog.OrgID(s.Boot.OrganisationID), User: catalog.UserID(s.Boot.UserID), Fingerprint: "f", Holder: "gone",
			Source: catalog.Place{Config: catalog.ConfigID(m.from.id), Path: "a"},
			Target: catalog.Place{Config: catalog.ConfigID(m.to.id), Path: "b"},
		})
		require.NoError(t, err)
		_, err = store.SwitchMove(ctx, begun.ID, "gone", catalog.MovedObjects{})
		require.NoError(t, err)
		require.EqualValues(t, 10, s.Admin.Count(m.to.schema+".b__t"))
		if settled {
			_, err = store.SettleMove(ctx, begun.ID, "gone")
			require.NoError(t, err)
		}
		m.addCommit(name + "-from/a/t")
		require.NoError(t, store.ReleaseMove(ctx, begun.ID, "gone"))
		var ended catalog.Move
		require.Eventually(t, func() bool {
			ended, err = store.Move(ctx, begun.Org, begun.ID)
			return err == nil && ended.State.Ended()
		}, time.Minute, 50*time.Millisecond)
		require.Equal(t, catalog.MoveFailed, ended.State)
		require.Equal(t, "source_changed", ended.Problem.Code)
		require.Contains(t, ended.Problem.Details[0].Message, "a/t")
		late := filepath.Join(s.Config.LocalRoots[0], name+"-from/a/t/_delta_log", fmt.Sprintf("%020d.json", 1))
		if settled {
			require.EqualValues(t, 10, s.Admin.Count(m.to.schema+".b__t"))
			commits, err := filepath.Glob(filepath.Join(filepath.Dir(late), "*.json"))
			require.NoError(t, err)
			require.NotEmpty(t, commits, "what was written late")
		} else {
			require.EqualValues(t, 10, s.Admin.Count(m.from.schema+".a__t"))
			refusedWith(t, s.Admin.Call("GET", m.table(m.to.schema, "b__t"), nil), 404, "not_found")
			require.Zero(t, m.files(name+"-to"))
		}
	}
}

// TestTablesWithAbsolutePathsAreNotMoved checks that a table whose log names its files by their
// location is refused by name: at another place it would read the files of the source.
func TestTablesWithAbsolutePathsAreNotMoved(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	m := newMovable(s, "absolute")
	table := filepath.Join(s.Config.LocalRoots[0], "absolute-from", "a", "t")
	commits, err := filepath.Glob(filepath.Join(table, "_delta_log", "*.json"))
	require.NoError(t, err)
	commit := fmt.Sprintf(
		`{"add":{"path":"file://%s/x.parquet","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}`+"\n", table)
	name := filepath.Join(table, "_delta_log", fmt.Sprintf("%020d.json", len(commits)))
	require.NoError(t, os.WriteFile(name, []byte(commit), 0o600))
	before := m.files("absolute-from")
	for _, dry := range []bool{true, false} {
		r := s.Admin.Call("POST", movePath, m.body("a", "b", "dry_run", dry))
		refusedWith(t, r, 409, "table_not_movable")
		require.Contains(t, string(r.Body), "a/t: absolute_path")
		require.NotContains(t, string(r.Body), s.Config.LocalRoots[0])
	}
	require.Equal(t, before, m.files("absolute-from"))
	require.Zero(t, m.files("absolute-to"))
}
