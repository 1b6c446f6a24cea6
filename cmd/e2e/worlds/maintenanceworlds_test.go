package worlds_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// crowded makes a table of 60 rows that members of tenant a see, among others.
func crowded(s *harness.Server, name string, hidden int) (dir string) {
	s.T.Helper()
	dir = s.Table(name, fmt.Sprintf(`SELECT i AS id, (i * 37) %% 60 AS x, (i * 17) %% 60 AS y, 'a' AS tenant FROM range(60) t(i)
		UNION ALL SELECT 1000 + i, i %% 7, i %% 5, 'b' FROM range(%d) t(i)`, hidden), nil,
		column{"id", "long"}, column{"x", "long"}, column{"y", "long"}, column{"tenant", "string"})
	s.Policy(name, "tenant", `{"effect":"permit","subject":{"attribute":"tenant","op":"eq"},"condition":null}`)
	s.Policy(name, "", `{"effect":"permit","subject":{"role":"admin"},"condition":null}`)
	return dir
}

// TestCurveOrdersNoRowsByHiddenOnes checks that callers who see some rows read them in an
// order of their own, because the ranges of a curve depend on all rows.
func TestCurveOrdersNoRowsByHiddenOnes(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	ben := s.Member("ben@acme.example", "builder", map[string]string{"tenant": "a"})
	seen := map[string]map[string][]any{}
	for name, hidden := range map[string]int{"quiet": 0, "loud": 500} {
		crowded(s, name, hidden)
		path, orders := s.TablePath(name), map[string][]any{}
		look := func(step string) {
			for _, statement := range []string{"SELECT id FROM %s", "SELECT x, id FROM %s", "SELECT * FROM %s",
				"SELECT id FROM %s WHERE y < 50 LIMIT 20"} {
				orders[step] = append(orders[step], ben.Rows(fmt.Sprintf(statement, s.Schema+"."+name)))
			}
			orders[step] = append(orders[step], ben.OK("GET", path+"/rows", nil)["rows"])
		}
		s.Admin.OK("POST", path+"/optimize", object{"zorder_by": list{"x", "y"}})
		look("laid out")
		s.Admin.OK("POST", path+"/rows/update", object{"where": "true", "set": object{"x": "x + 1"}})
		look("rewritten")
		s.Admin.OK("POST", path+"/rows", harness.RowsOf(object{"id": 5000, "tenant": "a"}))
		s.Admin.OK("POST", path+"/optimize", object{"target_size": 1 << 30})
		look("put together")
		seen[name] = orders
	}
	for step, orders := range seen["quiet"] {
		require.Equal(t, fmt.Sprint(orders), fmt.Sprint(seen["loud"][step]), step)
	}
	require.NotEqual(t, s.Admin.Rows("SELECT id FROM "+s.Schema+".quiet"), s.Admin.Rows("SELECT id FROM "+s.Schema+".loud WHERE tenant = 'a'"),
		"the files have another order")
}

// TestOptimizeDoesNotRevealFileSizes checks that filtered callers cannot find out the
// sizes of files, and so the amount of hidden data, from whether an optimize of a chosen
// size makes a version.
func TestOptimizeDoesNotRevealFileSizes(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	ben := s.Member("ben@acme.example", "builder", map[string]string{"tenant": "a"})
	worlds := []string{s.TablePath("quiet"), s.TablePath("loud")}
	crowded(s, "quiet", 0)
	crowded(s, "loud", 500)
	refused := func(method, below string, body object) {
		t.Helper()
		var first string
		for i, path := range worlds {
			version := s.Admin.Version(path)
			r := ben.Call(method, path+below, body, "X-Request-Id", "same")
			code, fields := r.Problem(t, 403)
			require.Equal(t, []any{"table_partly_visible", []string{"table"}}, []any{code, fields}, "%v", body)
			if i == 0 {
				first = string(r.Body)
			}
			require.Equal(t, first, string(r.Body), "%v", body)
			require.Equal(t, version, s.Admin.Version(path), "%v", body)
		}
	}
	for _, body := range []object{{"target_size": 4096}, {"target_size": 4096, "dry_run": true},
		{"target_size": 4096, "zorder_by": list{"x"}}} {
		refused("POST", "/optimize", body)
	}
	size := object{"delta.targetFileSize": "4kb"}
	refused("PATCH", "/properties", object{"set": size})
	for _, path := range worlds {
		s.Admin.OK("PATCH", path+"/properties", object{"set": size})
	}
	refused("PATCH", "/properties", object{"unset": list{"delta.targetFileSize"}})
	for _, path := range worlds {
		ben.OK("POST", path+"/optimize", nil)
		s.Admin.OK("POST", path+"/optimize", object{"target_size": 1 << 30})
	}
}

var maintained = regexp.MustCompile(`(?m)^lakewarden_maintenance_(files|bytes)_total.*$`)

// TestMetricsCountNoFilesOfFilteredCallers checks that metrics, which anybody may read,
// do not have what replies withhold from a caller.
func TestMetricsCountNoFilesOfFilteredCallers(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	ben := s.Member("ben@acme.example", "builder", map[string]string{"tenant": "a"})
	counted := func() []string {
		return maintained.FindAllString(string(s.Admin.Call("GET", "/metrics", nil).Body), -1)
	}
	dir, path := crowded(s, "t", 500), s.TablePath("t")
	harness.AppendRows(t, dir, "SELECT 2000 AS id, 0 AS x, 0 AS y, 'b' AS tenant")
	harness.Aged(t, dir, "orphan.parquet", 200)
	before, version := counted(), s.Admin.Version(path)
	ben.OK("POST", path+"/optimize", nil)
	require.Greater(t, s.Admin.Version(path), version, "there was something to do")
	ben.OK("POST", path+"/vacuum", nil)
	require.NoFileExists(t, dir+"/orphan.parquet")
	require.Equal(t, before, counted())

	harness.AppendRows(t, dir, "SELECT 2001 AS id, 0 AS x, 0 AS y, 'b' AS tenant")
	s.Admin.OK("POST", path+"/optimize", nil)
	require.NotEqual(t, before, counted(), "those of others are counted")
}
