package table_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// smallFiles makes a table of n files, two partitions and n*10 rows.
func smallFiles(s *harness.Server, name string, n int) (dir string) {
	s.T.Helper()
	dir = s.Table(name, "SELECT i AS id, 'x' AS p, i % 7 AS v FROM range(10) t(i)", []string{"p"}, column{"id", "long"}, column{"p", "string"},
		column{"v", "long"})
	for i := 1; i < n; i++ {
		harness.AppendRows(s.T, dir, fmt.Sprintf("SELECT i AS id, '%s' AS p, i %% 7 AS v FROM range(%d, %d) t(i)", []string{"x", "y"}[i%2], i*10,
			i*10+10))
	}
	return dir
}

func filesMoved(added, removed any) map[string]any {
	return map[string]any{"filesAdded": added, "filesRemoved": removed}
}

func TestOptimize(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	dir := smallFiles(s, "t", 8)
	path := s.TablePath("t") + "/optimize"
	rows := "SELECT * FROM " + s.Schema + ".t ORDER BY id"
	before := s.Admin.Rows(rows)
	require.Len(t, before, 80)

	require.Equal(t, filesMoved(2.0, 8.0), s.Admin.OK("POST", path, map[string]any{"dry_run": true}))
	require.Equal(t, filesMoved(1.0, 4.0), s.Admin.OK("POST", path, map[string]any{"where": "p = 'y' AND p IS NOT NULL"}))
	require.Equal(t, before, s.Admin.Rows(rows))
	version := s.Admin.OK("GET", s.TablePath("t"), nil)["version"]
	require.Equal(t, filesMoved(1.0, 4.0), s.Admin.OK("POST", path, nil), "a body may be left out")
	require.Equal(t, before, s.Admin.Rows(rows))
	require.Equal(t, filesMoved(0.0, 0.0), s.Admin.OK("POST", path, map[string]any{}))
	details := s.Admin.OK("GET", s.TablePath("t"), nil)
	require.Equal(t, version.(float64)+1, details["version"])
	require.Equal(t, 2.0, details["files"])

	// As an operation, along a curve; then the files that nobody needs go.
	r := s.Admin.Call("POST", path, map[string]any{"zorder_by": []string{"v", "id"}}, "Prefer", "respond-async")
	require.Equal(t, 202, r.Status, "%s", r.Body)
	o := s.Admin.Await(r.JSON(t))
	require.Equal(t, "succeeded", o["state"], "%v", o)
	require.Equal(t, "optimize", o["kind"])
	require.Equal(t, filesMoved(2.0, 2.0), o["result"])
	require.Equal(t, 2.0, o["progress"].(map[string]any)["done"])
	require.Equal(t, before, s.Admin.Rows(rows))
	vacuumed := s.Admin.OK("POST", s.TablePath("t")+"/vacuum", map[string]any{"retention_hours": 0, "enforce_retention_duration": false})
	require.Equal(t, 10.0, vacuumed["count"])
	var told []string
	for _, v := range s.Admin.OK("GET", s.TablePath("t")+"/history?page_size=4", nil)["versions"].([]any) {
		v := v.(map[string]any)
		require.NotNil(t, v["userName"], "%v", v)
		told = append(told, v["operation"].(string)+" "+v["userName"].(string))
	}
	require.Equal(t, []string{"VACUUM END admin@acme.example", "VACUUM START admin@acme.example", "OPTIMIZE admin@acme.example",
		"OPTIMIZE admin@acme.example"}, told)
	require.Equal(t, before, s.Admin.Rows(rows))
	left, err := filepath.Glob(filepath.Join(s.Config.DataDir, "tmp", "optimize-*"))
	require.NoError(t, err)
	require.Empty(t, left)

	harness.DeltaPython(t)(`
import sys, deltalake
t = deltalake.DeltaTable(sys.argv[1])
assert t.to_pyarrow_table().num_rows == 80
t.optimize.compact()
`, dir)
	require.Equal(t, before, s.Admin.Rows(rows))

	for field, bad := range map[string]map[string]any{
		"zorder_by[0]": {"zorder_by": []string{"nope"}}, "zorder_by[1]": {"zorder_by": []string{"v", "p"}}, "target_size": {"target_size": 0},
	} {
		_, fields := s.Admin.Call("POST", path, bad).Problem(t, 422)
		require.Equal(t, []string{field}, fields)
	}
	for _, where := range []string{"id = 1", "p = ", "1); DROP TABLE x; --", "random() > 0.5", "p = ?", "p IN (SELECT p FROM t)",
		"CAST(p AS INT) = 1", "(SELECT true FROM " + s.Schema + ".t)"} {
		_, fields := s.Admin.Call("POST", path, map[string]any{"where": where}).Problem(t, 422)
		require.Equal(t, []string{"where"}, fields, where)
	}
	s.Member("editor@acme.example", "editor", nil).Call("POST", path, nil).Problem(t, 403)
}

// TestOptimizeRevealsNothingAboutHiddenRows checks callers who do not see all rows: the
// number of files depends on hidden rows, and the order along a curve on the values of
// hidden columns.
func TestOptimizeRevealsNothingAboutHiddenRows(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	smallFiles(s, "t", 4)
	s.Policy("t", "", `{"effect":"permit","subject":{"everyone":true},"condition":{"column":"p","op":"eq","value":"x"}}`)
	builder := s.Member("builder@acme.example", "builder", nil)
	path := s.TablePath("t") + "/optimize"
	require.Equal(t, filesMoved(nil, nil), builder.OK("POST", path, map[string]any{"dry_run": true}))
	for _, where := range []string{"p = 'x'", "p = 'nosuch'", "CAST(p AS INT) = 1", "nosuch = 1"} {
		code, fields := builder.Call("POST", path, map[string]any{"where": where}).Problem(t, 403)
		require.Equal(t, "table_partly_visible", code, where)
		require.Equal(t, []string{"table"}, fields, where)
	}
	o := builder.Await(builder.Call("POST", path, map[string]any{}, "Prefer", "respond-async").JSON(t))
	require.Equal(t, filesMoved(nil, nil), o["result"])
	require.Equal(t, 0.0, o["progress"].(map[string]any)["done"])
	require.Equal(t, 20.0, builder.Count(s.Schema+".t"))
	history := s.Admin.OK("GET", s.TablePath("t")+"/history", nil)["versions"].([]any)
	require.Equal(t, "OPTIMIZE", history[0].(map[string]any)["operation"])
}

// TestCurveThroughAHiddenColumnDoesNotOrderRows checks that callers who do not see a
// column by which a table is laid out read its rows in the order of what they see.
func TestCurveThroughAHiddenColumnDoesNotOrderRows(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("t", "SELECT i AS id, (i * 37) % 100 AS pay FROM range(100) t(i)", nil, column{"id", "long"}, column{"pay", "long"})
	s.Rule("cls", "t", "pay", harness.AdminsSee)
	builder := s.Member("builder@acme.example", "builder", nil)
	path := s.TablePath("t") + "/optimize"
	_, fields := builder.Call("POST", path, map[string]any{"zorder_by": []string{"id", "pay"}}).Problem(t, 422)
	require.Equal(t, []string{"zorder_by[1]"}, fields)
	inOrder := "SELECT id FROM " + s.Schema + ".t"
	before := builder.Rows(inOrder)
	require.Equal(t, filesMoved(1.0, 1.0), s.Admin.OK("POST", path, map[string]any{"zorder_by": []string{"pay"}}))
	require.NotEqual(t, before, s.Admin.Rows(inOrder), "the files have another order")
	require.Equal(t, before, builder.Rows(inOrder))
}

// TestMaintenanceInS3 is the same work on a store without folders: read through
// the endpoint, written by the store's client.
func TestMaintenanceInS3(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, func(c *harness.Settings) { c.Store = "s3" })
	dir := smallFiles(s, "t", 6)
	rows := "SELECT * FROM " + s.Schema + ".t ORDER BY id"
	var before []any
	require.Eventually(t, func() bool { before = s.Admin.Rows(rows); return len(before) == 60 }, time.Minute, 50*time.Millisecond,
		"others' commits are seen within a second or so")
	require.Equal(t, filesMoved(1.0, 3.0), s.Admin.OK("POST", s.TablePath("t")+"/optimize", map[string]any{"where": "p = 'x'"}))
	require.Equal(t, filesMoved(2.0, 4.0), s.Admin.OK("POST", s.TablePath("t")+"/optimize", map[string]any{"zorder_by": []string{"v", "id"}}))
	require.Equal(t, before, s.Admin.Rows(rows))
	harness.Aged(t, dir, "orphan.parquet", 200)
	require.Equal(t, []any{"orphan.parquet"}, s.Admin.OK("POST", s.TablePath("t")+"/vacuum", nil)["filesDeleted"])
	vacuumed := s.Admin.OK("POST", s.TablePath("t")+"/vacuum", map[string]any{"retention_hours": 0, "enforce_retention_duration": false,
		"mode": "lite"})
	require.Equal(t, 7.0, vacuumed["count"])
	require.Equal(t, before, s.Admin.Rows(rows))
	history := s.Admin.OK("GET", s.TablePath("t")+"/history", nil)["versions"].([]any)
	require.Equal(t, "OPTIMIZE", history[0].(map[string]any)["operation"], "no commit for a vacuum")
}

// TestOptimizeSurvivesItsWorker kills the process that writes: the operation fails,
// the table is what it was, and the next run does the work.
func TestOptimizeSurvivesItsWorker(t *testing.T) {
	s := harness.Start(t, nil)
	dir := s.Table("t", "SELECT i AS id, hash(i) % 1000000 AS v, md5(i::VARCHAR) AS s FROM range(1500000) t(i)", nil, column{"id", "long"},
		column{"v", "long"}, column{"s", "string"})
	sum := "SELECT count(*), sum(id), sum(v), min(s), max(s) FROM " + s.Schema + ".t"
	before := s.Admin.Rows(sum)
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.parquet"))
	require.NoError(t, err)
	body := map[string]any{"zorder_by": []string{"v", "s"}}
	o := s.Admin.Call("POST", s.TablePath("t")+"/optimize", body, "Prefer", "respond-async").JSON(t)
	require.Eventually(t, func() bool {
		writing, err := filepath.Glob(filepath.Join(s.Config.DataDir, "tmp", "optimize-*", "*", "files-*", "*"))
		require.NoError(t, err)
		return len(writing) > 0
	}, time.Minute, time.Millisecond)
	for _, pid := range harness.WorkerProcesses(t) {
		number, err := strconv.Atoi(pid)
		require.NoError(t, err)
		if err := syscall.Kill(number, syscall.SIGKILL); !errors.Is(err, syscall.ESRCH) {
			require.NoError(t, err)
		}
	}
	o = s.Admin.Await(o)
	require.Equal(t, "failed", o["state"], "%v", o)
	require.Equal(t, "engine_failed", o["error"].(map[string]any)["code"])
	require.Equal(t, before, s.Admin.Rows(sum))
	after, err := filepath.Glob(filepath.Join(dir, "*", "*.parquet"))
	require.NoError(t, err)
	require.Equal(t, files, after)
	left, err := filepath.Glob(filepath.Join(s.Config.DataDir, "tmp", "optimize-*"))
	require.NoError(t, err)
	require.Empty(t, left)
	require.Equal(t, 1.0, s.Admin.OK("POST", s.TablePath("t")+"/optimize", body)["filesRemoved"])
	require.Equal(t, before, s.Admin.Rows(sum))
}
