package worlds_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// valueAsks are requests in which a caller names a value of a column. Each is a class of
// [TestTwoWorldsReadValuesAlike].
var valueAsks = []struct {
	name, operation string
	ask             func(w *keyedWorld, path string, v int) harness.Reply
}{
	{"in use", "checkValueInUse", func(w *keyedWorld, path string, v int) harness.Reply {
		return w.writer.Call("GET", path+"/columns/id/domain/in-use?value="+fmt.Sprint(v), nil)
	}},
	{"in use, a text", "checkValueInUse", func(w *keyedWorld, path string, v int) harness.Reply {
		return w.writer.Call("GET", path+"/columns/name/domain/in-use?value="+url.QueryEscape(fmt.Sprint("n", v+100000)), nil)
	}},
	{"merge", "mergeRows", func(w *keyedWorld, path string, v int) harness.Reply {
		return w.write(path+"/rows/merge?dry_run=true", object{"on": list{"day"}, "when_not_matched": "ignore",
			"rows": list{object{"day": day(v), "name": "x"}}})
	}},
	{"merge on the key", "mergeRows", func(w *keyedWorld, path string, v int) harness.Reply {
		return w.write(path+"/rows/merge?dry_run=true", object{"on": list{"id"}, "rows": list{object{"id": v, "tenant": "a", "name": "x"}}})
	}},
	{"merge that deletes", "mergeRows", func(w *keyedWorld, path string, v int) harness.Reply {
		return w.write(path+"/rows/merge?dry_run=true", object{"rows": list{}, "delete": list{object{"id": v}}})
	}},
	{"delete", "deleteRows", func(w *keyedWorld, path string, v int) harness.Reply {
		return w.write(path+"/rows/delete?dry_run=true", object{"where": fmt.Sprint("id = ", v)})
	}},
	{"update of the key", "updateRows", func(w *keyedWorld, path string, v int) harness.Reply {
		return w.write(path+"/rows/update?dry_run=true", object{"where": "id = 500", "set": object{"id": fmt.Sprint(v)}})
	}},
	{"insert", "insertRows", func(w *keyedWorld, path string, v int) harness.Reply {
		return w.write(path+"/rows", harness.RowsOf(object{"id": v, "tenant": "a"}))
	}},
	{"insert of a reference", "insertRows", func(w *keyedWorld, path string, v int) harness.Reply {
		name := path[strings.LastIndex(path, "/")+1:]
		return w.write(w.TablePath("uses"+name)+"/rows?dry_run=true", harness.RowsOf(object{"id": v}))
	}},
	{"analysis", "analyzeTable", func(w *keyedWorld, path string, v int) harness.Reply {
		return w.writer.Call("POST", path+"/analyze", object{"action": "summary", "columns": list{"name"}, "where": fmt.Sprint("id = ", v)})
	}},
}

// askedElsewhere are the operations whose requests are classes of [TestTwoWorldsReadAlike].
var askedElsewhere = []string{"query", "startQuery", "listRows", "updateRows"}

// Why the input of an operation excludes no file or row group by bounds of hidden rows.
const (
	ofNames    = "names, numbers and settings, no values of rows"
	ofDomains  = "values are compared with those in the catalog, and with rows only for callers who see all of them"
	ofVersions = "versions and ages of files"
	ofFiles    = "values of a body that is not written to a table"
	ofVisible  = "values are those of a statement over the rows that the caller sees, like a query"
)

// asksForNoRows are the other operations of tables, and all that run statements, whose requests have
// members of their own.
var asksForNoRows = map[string]string{
	"dropTable": ofNames, "renameTable": ofNames, "adoptIdentity": ofNames, "addColumn": ofNames, "changeColumn": ofNames,
	"updateColumnSettings": ofNames, "replacePrimaryKey": ofNames, "addConstraints": ofDomains, "changeProperties": ofNames,
	"listAllowedValues": ofVisible, "explainRows": ofVisible, "optimizeTable": ofVersions, "restoreTable": ofVersions,
	"vacuumTable": ofVersions, "createTable": ofNames, "inferSchema": ofFiles, "listTables": ofNames,
	"setFixedDomain": ofDomains, "setInlineDomain": ofDomains, "setLookupDomain": ofDomains, "setRangeDomain": ofDomains,
	"setReferenceDomain": ofDomains, "setSharedDomain": ofDomains, "addParent": ofDomains, "addChild": ofDomains, "addValue": ofDomains,
	"deleteValue": ofDomains, "changeValue": ofDomains,
}

// TestEveryAskedValueHasAClass walks the API description. Each operation that takes input and
// concerns a table or a statement must have a class here, or a reason why it reads no rows.
func TestEveryAskedValueHasAClass(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "openapi.json"))
	require.NoError(t, err)
	var described struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
			Parameters  []struct{ Name, In string }
			RequestBody any `json:"requestBody"`
		}
	}
	require.NoError(t, json.Unmarshal(text, &described))
	classes := slices.Clone(askedElsewhere)
	for _, class := range valueAsks {
		classes = append(classes, class.operation)
	}
	found := []string{}
	for path, operations := range described.Paths {
		if !strings.HasPrefix(path, "/v1/tables") && !strings.HasPrefix(path, "/v1/quer") {
			continue
		}
		for _, o := range operations {
			asks := o.RequestBody != nil
			for _, p := range o.Parameters {
				asks = asks || p.In == "query" && p.Name != "page_size" && p.Name != "page_token"
			}
			if !asks {
				continue
			}
			found = append(found, o.OperationID)
			require.NotEqual(t, slices.Contains(classes, o.OperationID), asksForNoRows[o.OperationID] != "",
				"%s takes values: give it a class in valueAsks, or say in asksForNoRows why it needs none", o.OperationID)
		}
	}
	require.Subset(t, found, classes)
	for o := range asksForNoRows {
		require.Contains(t, found, o)
	}
}

// day is the day of a row of [boundRows].
func day(v int) string {
	return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, v/10).Format(time.DateOnly)
}

// keyedWorld serves copies of two tables whose column id is their key and has a domain. In each copy
// one part cannot be read.
type keyedWorld struct {
	*harness.Server
	writer *harness.Client
}

func newKeyedWorld(t *testing.T) *keyedWorld {
	t.Helper()
	s := harness.Start(t, func(c *harness.Settings) { c.Store, c.Reading, c.Threads, c.Lease = "local", "list", 1, 128 })
	var names []string
	for k := range boundParts {
		files := worldTable{name: fmt.Sprintf("files%d", k), columns: boundColumns}
		for part := range boundParts {
			files.commits = append(files.commits, []worldFile{{sql: boundRows(part, part+1)}})
		}
		files.Write(t, s.Root)
		groups := worldTable{name: fmt.Sprint("groups", k), columns: boundColumns,
			commits: [][]worldFile{{{sql: boundRows(0, boundParts), rowGroup: boundPartRows}}}}
		groups.Write(t, s.Root)
		large := groups
		large.name = fmt.Sprint("large", k)
		large.commits = [][]worldFile{{{sql: boundRows(0, boundParts), rowGroup: boundPartRows,
			pad: query.CopyBytes(s.Config.Lease * (1 << 20))}}}
		large.Write(t, s.Root)
		names = append(names, files.name, groups.name, large.name)
	}
	s.Discover()
	for _, name := range names {
		s.Admin.OK("PUT", s.TablePath(name)+"/columns/id/domain/range", object{"min": "0"})
		s.Admin.OK("PUT", s.TablePath(name)+"/columns/name/domain/fixed", object{"values": list{"x"}})
		s.Admin.OK("PUT", s.TablePath(name)+"/primary-key", object{"columns": list{"id"}})
		uses := s.Create("uses"+name, nil, harness.Col("id", "long"))
		s.Admin.OK("PUT", uses+"/columns/id/domain/reference", object{"table_path": "lake." + s.Schema + "." + name, "column": "id"})
		s.Policy(name, "tenant", `{"effect":"permit","subject":{"attribute":"tenant","op":"eq"},"condition":null}`)
	}
	w := &keyedWorld{Server: s, writer: s.Member("writer@acme.example", "editor", map[string]string{"tenant": "a"})}
	s.Stop()
	for k := range boundParts {
		gone, err := filepath.Glob(filepath.Join(s.Root, fmt.Sprint("files", k), "data", fmt.Sprintf("%d-*.parquet", k)))
		require.NoError(t, err)
		require.Len(t, gone, 1)
		require.NoError(t, os.Remove(gone[0]))
		for _, kind := range []string{"groups", "large"} {
			written, err := filepath.Glob(filepath.Join(s.Root, fmt.Sprint(kind, k), "data", "*.parquet"))
			require.NoError(t, err)
			require.Len(t, written, 1)
			breakGroup(t, written[0], k)
		}
	}
	s.Start()
	w.writer.URL, s.Admin.URL = s.URL, s.URL
	return w
}

func (w *keyedWorld) write(path string, body any) harness.Reply {
	return w.writer.Call("POST", path, body)
}

// reads returns the parts of a table that a request reads.
func (w *keyedWorld) reads(kind string, ask func(path string) harness.Reply) []int {
	w.T.Helper()
	out := []int{}
	for k := range boundParts {
		r := ask(w.TablePath(fmt.Sprint(kind, k)))
		var problem struct{ Code string }
		switch _ = json.Unmarshal(r.Body, &problem); {
		case r.Status == http.StatusOK, r.Status == http.StatusUnprocessableEntity,
			slices.Contains([]string{"key_conflict", "rls_violation"}, problem.Code):
		default:
			require.Contains(w.T, []int{http.StatusServiceUnavailable, http.StatusConflict}, r.Status, "%s", r.Body)
			out = append(out, k)
		}
	}
	return out
}

// TestTwoWorldsReadValuesAlike checks that what a request reads for a value of hidden rows is what it
// reads for a value of no row.
func TestTwoWorldsReadValuesAlike(t *testing.T) {
	t.Parallel()
	w := newKeyedWorld(t)
	alike := func(kind string) {
		for _, class := range valueAsks {
			t.Run(class.name+", "+kind, func(t *testing.T) {
				none := w.reads(kind, func(path string) harness.Reply { return class.ask(w, path, asked[4]) })
				require.Subset(t, none, []int{0, 1}, "what holds a visible row next to hidden ones is read")
				for _, v := range asked[1:4] {
					// Where all rows are visible, their bounds may decide.
					read := w.reads(kind, func(path string) harness.Reply { return class.ask(w, path, v) })
					require.Equal(t, without(none, 2), without(read, 2), "value %d", v)
				}
			})
		}
	}
	alike("files")
	alike("groups")
	// A copy of "large" does not fit into memory, and the organisation wants none the less that no
	// value excludes one of its files.
	w.Admin.OK("PATCH", "/v1/organisations/"+w.Boot.OrganisationID+"/config",
		object{"features": list{object{"key": "row_filter_barrier_always", "enabled": true}}})
	alike("large")
}
