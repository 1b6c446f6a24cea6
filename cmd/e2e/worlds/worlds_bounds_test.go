package worlds_test

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// What a statement reads must not depend on the values of hidden rows. These tests
// determine what a statement reads: for each part of a table there is a copy in which
// that part is unreadable, and the statement reads exactly the parts without which it
// fails.

// boundColumns are the columns of the tables. The last one is for readers of logs.
var boundColumns = []column{{"id", "long"}, {"tenant", "string"}, {"name", "string"}, {"day", "date"}, {"ls", "array<integer>"}}

const (
	boundParts    = 4
	boundPartRows = 2048
)

// boundRows are the rows of some parts. The first two mix tenants, and only their
// hidden rows have large values; the third shows every row, the fourth none.
func boundRows(from, to int) string {
	return fmt.Sprintf(`SELECT i AS id, CASE WHEN i < 5000 THEN 'a' ELSE 'b' END AS tenant, 'n' || (i + 100000) AS name, DATE '2000-01-01' + (i // 10)::INTEGER AS day, [1] AS ls
		FROM (SELECT [CASE WHEN j < 1000 THEN j ELSE 4000 + j END, CASE WHEN j < 1000 THEN 1000 + j ELSE 8000 + j END, 2000 + j, 20000 + j][1 + p] AS i
			FROM (SELECT r // 2048 AS p, r %% 2048 AS j FROM range(%d, %d) x(r)))`, from*boundPartRows, to*boundPartRows)
}

// asked are values of single rows: seen, hidden in one part or another, in the
// range of hidden values, and outside of all.
var asked = []int{500, 5500, 7000, 20500, 90000}

// insideLarge holds the values of asked between the bounds of the only file of a table.
// In a large table, the bounds of a file that mixes hidden and visible rows may decide
// whether the file is read, but the bounds of its row groups decide nothing.
var insideLarge = asked[:4]

// boundWorld serves copies of three tables: "files" has a file for each part, "groups" and
// "large" a row group for each. A filtered copy of "large" would not fit into memory.
type boundWorld struct {
	server *harness.Server
	reader *harness.Client
	writer *harness.Client
}

func newBoundWorld(t *testing.T, store, reading string) *boundWorld {
	t.Helper()
	s := harness.Start(t, func(c *harness.Settings) { c.Store, c.Reading, c.Threads, c.Lease = store, reading, 1, 128 })
	w := &boundWorld{server: s}
	var names []string
	for k := range boundParts {
		files := worldTable{name: fmt.Sprintf("files%d", k), columns: boundColumns}
		for part := range boundParts {
			files.commits = append(files.commits, []worldFile{{sql: boundRows(part, part+1)}})
		}
		files.Write(t, s.Root)
		gone, err := filepath.Glob(filepath.Join(s.Root, files.name, "data", fmt.Sprintf("%d-*.parquet", k)))
		require.NoError(t, err)
		require.Len(t, gone, 1)
		require.NoError(t, os.Remove(gone[0]))

		names = append(names, files.name)
		for kind, pad := range map[string]int64{"groups": 0, "large": query.CopyBytes(s.Config.Lease * (1 << 20))} {
			groups := worldTable{
				name: fmt.Sprint(kind, k), columns: boundColumns,
				commits: [][]worldFile{{{sql: boundRows(0, boundParts), rowGroup: boundPartRows, pad: pad}}},
			}
			groups.Write(t, s.Root)
			written, err := filepath.Glob(filepath.Join(s.Root, groups.name, "data", "*.parquet"))
			require.NoError(t, err)
			require.Len(t, written, 1)
			breakGroup(t, written[0], k)
			names = append(names, groups.name)
		}
	}
	s.Discover()
	for _, name := range names {
		s.Policy(name, "tenant", `{"effect":"permit","subject":{"attribute":"tenant","op":"eq"},"condition":null}`)
	}
	w.reader = s.Member("reader@acme.example", "viewer", map[string]string{"tenant": "a"})
	w.writer = s.Member("writer@acme.example", "editor", map[string]string{"tenant": "a"})
	return w
}

// breakGroup overwrites the values of a row group.
func breakGroup(t *testing.T, path string, group int) {
	t.Helper()
	r, err := file.OpenParquetFile(path, false)
	require.NoError(t, err)
	require.Equal(t, boundParts, r.NumRowGroups())
	meta := r.MetaData().RowGroup(group)
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	for i := range meta.NumColumns() {
		chunk, err := meta.ColumnChunk(i)
		require.NoError(t, err)
		from := chunk.DataPageOffset()
		if chunk.HasDictionaryPage() {
			from = min(from, chunk.DictionaryPageOffset())
		}
		copy(raw[from:], bytes.Repeat([]byte{0xff}, int(chunk.TotalCompressedSize())))
	}
	require.NoError(t, r.Close())
	require.NoError(t, os.WriteFile(path, raw, 0o600))
}

// reads returns the parts of a table that a request reads.
func (w *boundWorld) reads(kind string, ask func(table string) harness.Reply) []int {
	out := []int{}
	for k := range boundParts {
		if ask(fmt.Sprintf("%s%d", kind, k)).Status != http.StatusOK {
			out = append(out, k)
		}
	}
	return out
}

// boundStatements look for {v}: read in place, from copies, in order, joined, and
// only counted.
var boundStatements = []string{
	"SELECT name, day FROM {t} WHERE id = {v}",
	"SELECT name FROM {t} WHERE id BETWEEN {v} AND {v} + 0",
	"SELECT name FROM {t} WHERE id IN ({v}, -7)",
	"SELECT id FROM {t} WHERE name = 'n' || ({v} + 100000)",
	"SELECT id FROM {t} WHERE day = DATE '2000-01-01' + ({v} // 10)::INTEGER AND id = {v}",
	"SELECT count(*) FROM {t} WHERE id = {v}",
	"SELECT max(name) FROM {t} WHERE id >= {v} AND id <= {v}",
	"SELECT id FROM {t} WHERE id <= {v} ORDER BY id DESC LIMIT 1",
	"SELECT count(*) FROM {t} a JOIN (SELECT {v}::BIGINT AS k) b ON a.id = b.k",
	"SELECT regexp_replace(name, '1', '2') FROM {t} WHERE id = {v}",
	"SELECT name, random() FROM {t} WHERE id = {v} AND name > ''",
	"SELECT count(*) FROM {t} WHERE id = (SELECT {v})",
}

// TestTwoWorldsReadAlike checks that what a statement reads does not depend on the
// values of hidden rows, however a table is read. With -short, the ways of reading after
// the first one take a third of the statements each.
func TestTwoWorldsReadAlike(t *testing.T) {
	t.Parallel()
	variants := []string{"local/list", "s3/list", "local/log"}
	if v := harness.EnvironmentVariant(t); v.Store != "" {
		variants = []string{v.Store + "/" + cmp.Or(v.Reading, "list")}
	}
	for turn, variant := range variants {
		t.Run(variant, func(t *testing.T) {
			store, reading, _ := strings.Cut(variant, "/")
			w := newBoundWorld(t, store, reading)
			same := func(kind, name string, values []int, ask func(table string, v int) harness.Reply) {
				t.Helper()
				var first []int
				for i, v := range values {
					read := w.reads(kind, func(table string) harness.Reply { return ask(w.server.Schema+"."+table, v) })
					if i == 0 {
						// What a row filter needs is read, and nothing that it does not need.
						require.Subset(t, read, []int{0, 1}, "%s: %s", kind, name)
						require.NotContains(t, read, 3, "%s: %s", kind, name)
						first = read
					}
					// Where all rows are visible, their bounds may decide.
					require.Equal(t, without(first, 2), without(read, 2), "%s: %s, %d", kind, name, v)
				}
			}
			for _, kind := range []string{"files", "groups", "large"} {
				values := asked
				if kind == "large" {
					values = insideLarge
				}
				for n, sql := range boundStatements {
					if os.Getenv("LAKEWARDEN_TEST_REPRESENTATIVE") != "" && turn > 0 && n%len(variants) != turn {
						continue
					}
					same(kind, sql, values, func(table string, v int) harness.Reply {
						return w.reader.Query(strings.ReplaceAll(strings.ReplaceAll(sql, "{t}", table), "{v}", fmt.Sprint(v)))
					})
				}
				same(kind, "an argument", values, func(table string, v int) harness.Reply {
					return w.reader.Query("SELECT name FROM "+table+" WHERE id = $1", v)
				})
				same(kind, "rows", values, func(table string, v int) harness.Reply {
					_, name, _ := strings.Cut(table, ".")
					return w.reader.Call("GET", "/v1/tables/lake/"+w.server.Schema+"/"+name+"/rows?page_size=5&where="+
						url.QueryEscape(fmt.Sprint("id = ", v)), nil)
				})
				same(kind, "rows in order", values, func(table string, v int) harness.Reply {
					_, name, _ := strings.Cut(table, ".")
					return w.reader.Call("GET", "/v1/tables/lake/"+w.server.Schema+"/"+name+"/rows?page_size=1&order_by=id%20desc&where="+
						url.QueryEscape(fmt.Sprint("id <= ", v)), nil)
				})
				if reading == "log" {
					continue // such tables take no updates
				}
				// A matching row is rewritten, together with the other rows of its file.
				same(kind, "update", values[1:], func(table string, v int) harness.Reply {
					_, name, _ := strings.Cut(table, ".")
					return w.writer.Call("POST", "/v1/tables/lake/"+w.server.Schema+"/"+name+"/rows/update?dry_run=true",
						map[string]any{"where": fmt.Sprint("id = ", v), "set": map[string]any{"name": "'x'"}})
				})
			}
		})
	}
}

func without(parts []int, part int) []int {
	out := []int{}
	for _, p := range parts {
		if p != part {
			out = append(out, p)
		}
	}
	return out
}

// TestTwoWorldsFetchAlike checks that the engine fetches the same bytes of a remote
// table for a value of hidden rows as for a value of no row.
func TestTwoWorldsFetchAlike(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, func(c *harness.Settings) { c.Store, c.Threads = "s3", 1 })
	timingTable("t").Write(t, s.Root)
	timingTable("clear").Write(t, s.Root)
	s.Discover()
	s.Policy("t", "tenant", `{"effect":"permit","subject":{"attribute":"tenant","op":"eq"},"condition":null}`)
	readers := 0
	// fetched is what a session without any cache fetches for a statement.
	fetched := func(sql string) float64 {
		readers++
		reader := s.Member(fmt.Sprintf("reader%d@acme.example", readers), "viewer", map[string]string{"tenant": "a"})
		before := s.Metric(t, "lakewarden_gateway_sent_bytes_total")
		r := reader.Query(sql)
		require.Equal(t, http.StatusOK, r.Status, "%s", r.Body)
		return s.Metric(t, "lakewarden_gateway_sent_bytes_total") - before
	}
	for _, sql := range []string{timingClasses[0].sql, timingClasses[1].sql, timingClasses[2].sql} {
		on := func(table string, v int) float64 {
			return fetched(strings.ReplaceAll(strings.ReplaceAll(sql, "{t}", s.Schema+"."+table), "{v}", fmt.Sprint(v)))
		}
		none := on("t", nowhere)
		// Hidden values of the first and of a middle file, and values between them.
		for _, v := range []int{hiddenFrom + 1, hiddenFrom + 3*timingRows + 5001, hiddenFrom - 1, hiddenFrom + 2} {
			require.Equal(t, none, on("t", v), "%s, %d", sql, v)
		}
		require.Less(t, on("clear", nowhere), on("clear", hiddenFrom+1), "without a filter %s tells", sql)
	}
}
