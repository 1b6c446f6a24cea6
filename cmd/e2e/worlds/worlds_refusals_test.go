package worlds_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// refusedTables returns tables with one hidden partition, whose value differs between the
// worlds.
func refusedTables(wild bool) []worldTable {
	var tables []worldTable
	for name := range worldDamages {
		tables = append(tables, worldTable{
			name: name, partitionBy: []string{"tenant"}, columns: []column{{"id", "long"}, {"tenant", "string"}},
			commits: [][]worldFile{
				{{sql: `SELECT i AS id, 'a' AS tenant FROM range(5) t(i)`}},
				{{sql: `SELECT i AS id, '` + hiddenValue(wild) + `' AS tenant FROM range(5) t(i)`}},
			},
		})
	}
	return tables
}

func hiddenValue(wild bool) string {
	if wild {
		return "SECRET-b"
	}
	return "SECRET-c"
}

// worldDamages holds ways to damage a table by a file of its hidden partition.
var worldDamages = map[string]func(t *testing.T, dir string, wild bool){
	"absolute": func(t *testing.T, dir string, wild bool) {
		harness.AppendCommit(t, dir, harness.AddOf("file:///elsewhere/tenant="+hiddenValue(wild)+"/x.parquet"))
	},
	"outside": func(t *testing.T, dir string, wild bool) {
		harness.AppendCommit(t, dir, harness.AddOf("../tenant="+hiddenValue(wild)+"/x.parquet"))
	},
	"torn": func(t *testing.T, dir string, wild bool) {
		harness.AppendCommit(t, dir, strings.TrimSuffix(harness.AddOf("tenant="+hiddenValue(wild)+"/x.parquet"), "}"))
	},
	"vector": func(t *testing.T, dir string, wild bool) {
		id := map[bool]string{true: "ab^-aqEH.-t@S}K{vb[*k^", false: "cd^-aqEH.-t@S}K{vb[*k^"}[wild]
		add := fmt.Sprintf(`{"add":{"path":"tenant=%s/x.parquet","partitionValues":{"tenant":%[1]q},"size":1,"modificationTime":0,"dataChange":true,`+
			`"stats":"{\"numRecords\":9}","deletionVector":{"storageType":"u","pathOrInlineDv":%q,"offset":1,"sizeInBytes":40,"cardinality":2}}}`,
			hiddenValue(wild), id)
		harness.AppendCommit(t, dir, `{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["deletionVectors"],`+
			`"writerFeatures":["deletionVectors"]}}`, add)
	},
	"missing": func(t *testing.T, dir string, wild bool) {
		require.NoError(t, os.Remove(filepath.Join(dir, harness.FileOf(t, dir, hiddenValue(wild)))))
	},
}

// TestTwoWorldsAreRefusedAlike damages tables by a file of hidden rows, whose name
// holds one of their values. Filtered callers, even those who may modify the table, must
// get the same answers in both worlds.
func TestTwoWorldsAreRefusedAlike(t *testing.T) {
	t.Parallel()
	w := openWorlds(t, 1, refusedTables)
	s := w.server
	for name := range worldDamages {
		s.Policy(name, "tenant", `{"effect":"permit","subject":{"attribute":"tenant","op":"eq"},"condition":null}`)
	}
	builder := s.Member("builder@acme.example", "builder", map[string]string{"tenant": "a"})
	s.Stop()
	seen := map[bool][]harness.Answer{}
	reasons := 0
	for _, wild := range []bool{false, true} {
		w.furnish(wild)
		for name, damage := range worldDamages {
			dir := filepath.Join(s.Root, name)
			damage(t, dir, wild)
			made, err := filepath.Glob(filepath.Join(dir, "_delta_log", "*"))
			require.NoError(t, err)
			for _, file := range made {
				require.NoError(t, os.Chtimes(file, time.Unix(1_800_000_000, 0), time.Unix(1_800_000_000, 0)))
			}
		}
		s.Start()
		for _, who := range append(w.users[:1:1], builder) {
			who.URL = s.URL
			for _, name := range []string{"absolute", "outside", "torn", "vector", "missing"} {
				path, from := s.TablePath(name), " FROM "+s.Schema+"."+name
				asks := []harness.Ask{
					{Method: "GET", Path: path}, {Method: "GET", Path: path + "/columns"}, {Method: "GET", Path: path + "/history"},
					{Method: "GET", Path: path + "/rows"}, {Method: "GET", Path: path + "/rows?where=" + url.QueryEscape("tenant <> 'a'")},
				}
				for _, sql := range []string{"SELECT *" + from, "SELECT count(*)" + from, "SELECT *" + from + " AT (VERSION => 2)",
					"SELECT CAST(tenant AS INT)" + from} {
					asks = append(asks, harness.Ask{Method: "POST", Path: "/v1/query", Body: object{"sql": sql}, Unordered: true})
				}
				if who == builder {
					asks = append(asks, harness.Ask{Method: "POST", Path: path + "/rows/delete", Body: object{"where": "id = 77", "dry_run": true}})
				}
				for _, a := range asks {
					got, err := who.Answer(len(seen[wild]), a)
					require.NoError(t, err)
					require.NotContains(t, got.Body, "SECRET")
					require.NotContains(t, got.Body, "elsewhere")
					require.NotContains(t, got.Body, `"file"`, "%s", a)
					if strings.Contains(got.Body, `"reason"`) {
						reasons++
					}
					seen[wild] = append(seen[wild], got)
				}
			}
		}
		s.Stop()
	}
	require.Greater(t, reasons, 60, "tables are refused")
	require.Equal(t, seen[false], seen[true])
}
