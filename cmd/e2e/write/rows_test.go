package write_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

func TestRowsAreInsertedChangedAndReadByOthers(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	orders := s.Create("orders", object{"partition_by": list{"region"}},
		harness.Col("id", "long", "isPrimaryKey", true, "nullable", false), harness.Col("region", "string"),
		harness.Col("amount", "decimal(12,2)"), harness.Col("seen", "timestamp"), harness.Col("tags", "array<string>"))
	read := func() list {
		return s.Admin.Rows("SELECT id, region, amount, seen::VARCHAR, tags FROM " + s.Schema + ".orders ORDER BY id")
	}
	got := s.Admin.OK("POST", orders+"/rows", harness.RowsOf(
		object{"id": 1, "region": "eu", "amount": "1.50", "seen": "2024-01-02T03:04:05Z", "tags": list{"a", "b"}},
		object{"id": "2", "region": "it's/%2F é", "amount": 2},
		object{"id": 3},
	))
	require.Equal(t, object{"version": 1.0, "inserted": 3.0, "updated": 0.0, "deleted": 0.0}, got)
	require.Equal(t, list{
		list{1.0, "eu", "1.50", "2024-01-02 03:04:05+00", list{"a", "b"}}, list{2.0, "it's/%2F é", "2.00", nil, nil},
		list{3.0, nil, nil, nil, nil},
	}, read())

	got = s.Admin.OK("POST", orders+"/rows/merge", harness.RowsOf(object{"id": 2, "amount": "2.25"}, object{"id": 3, "region": "us"},
		object{"id": 4, "region": "eu"}))
	require.Equal(t, object{"version": 2.0, "inserted": 1.0, "updated": 2.0, "deleted": 0.0}, got)
	require.Equal(t, list{
		list{1.0, "eu", "1.50", "2024-01-02 03:04:05+00", list{"a", "b"}}, list{2.0, "it's/%2F é", "2.25", nil, nil},
		list{3.0, "us", nil, nil, nil}, list{4.0, "eu", nil, nil, nil},
	}, read())

	got = s.Admin.OK("POST", orders+"/rows/update", object{"where": "id >= 3",
		"set": object{"amount": "coalesce(amount, 0) + id", "region": "upper(region)"}})
	require.Equal(t, object{"version": 3.0, "inserted": 0.0, "updated": 2.0, "deleted": 0.0}, got)
	got = s.Admin.OK("POST", orders+"/rows/delete", object{"where": "region = 'EU' OR tags[1] = 'a'"})
	require.Equal(t, object{"version": 4.0, "inserted": 0.0, "updated": 0.0, "deleted": 2.0}, got)
	require.Equal(t, list{list{2.0, "it's/%2F é", "2.25", nil, nil}, list{3.0, "US", "3.00", nil, nil}}, read())

	harness.DeltaPython(t)(`
import sys, deltalake, pyarrow as pa, decimal
path = sys.argv[1]
t = deltalake.DeltaTable(path)
rows = sorted(t.to_pyarrow_table().to_pylist(), key=lambda r: r["id"])
assert [(r["id"], r["region"], str(r["amount"])) for r in rows] == [(2, "it's/%2F é", "2.25"), (3, "US", "3.00")], rows
schema = pa.schema(t.schema().to_arrow()) if hasattr(t.schema(), "to_arrow") else t.schema().to_pyarrow()
deltalake.write_deltalake(path, pa.table({"id": [9], "region": ["eu"], "amount": [None], "seen": [None], "tags": [["x"]]}, schema=schema), mode="append")
`, filepath.Join(s.Root, "orders"))
	require.Equal(t, 3.0, s.Admin.Count(s.Schema+".orders"))
	code, fields := s.Admin.Call("POST", orders+"/rows", harness.RowsOf(object{"id": 9})).Problem(t, 409)
	require.Equal(t, "key_conflict", code)
	require.Equal(t, []string{"rows[0].id"}, fields)
	inserted, _, _ := s.Admin.Write(orders+"/rows", harness.RowsOf(object{"id": 10, "region": "eu"}))
	require.Equal(t, 1.0, inserted)
	require.Equal(t, 4.0, s.Admin.Count(s.Schema+".orders"))
}

func TestBadBodiesOfRows(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	path := s.Create("t", nil, harness.Col("id", "long", "isPrimaryKey", true), harness.Col("n", "integer"),
		harness.Col("price", "decimal(5,2)"), harness.Col("day", "date"))
	send := func(to, body string, header ...string) harness.Reply {
		return s.Admin.Call("POST", path+to, body, header...)
	}
	for _, to := range []string{"/rows", "/rows/merge"} {
		for _, text := range []string{`{`, `not json`, `{"rows":[{"id":1}`, `{"rows":[{"id":1}]} x`, "\x00\x01", `{"rows":[],"rows":[]}`,
			`{"rows":` + strings.Repeat("[", 5000)} {
			harness.Refused(t, send(to, text), 400)
		}
		harness.Refused(t, s.Admin.Call("POST", path+to, nil), 400)
		harness.Refused(t, send(to, `{"rows":[]}`, "Content-Type", "text/plain"), 400)
		require.Equal(t, []string{"no_such"}, harness.Refused(t, send(to, `{"rows":[{"id":1}],"no_such":1}`), 422))
		require.Equal(t, []string{"rows"}, harness.Refused(t, send(to, `{}`), 422))
		fields := harness.Refused(t, send(to, `{"rows":[{"id":1},{"id":1.5,"n":2147483648},{"id":2,"price":"1.234","no_such":1,`+
			`"day":"2024-02-30"}]}`), 422)
		require.ElementsMatch(t, []string{"rows[1].id", "rows[1].n", "rows[2].price", "rows[2].no_such", "rows[2].day"}, fields)
	}
	require.Equal(t, []string{"when_matched"}, harness.Refused(t, send("/rows/merge", `{"rows":[{"id":1}],"when_matched":"x"}`), 422))
	require.Equal(t, []string{"when_not_matched"}, harness.Refused(t, send("/rows/merge?when_not_matched=x", `{"rows":[{"id":1}]}`), 422))
	require.Equal(t, []string{"on"}, harness.Refused(t, send("/rows/merge", `{"rows":[{"id":1}],"on":["no_such"]}`), 422))
	require.Equal(t, []string{"rows[1].id"}, harness.Refused(t, send("/rows/merge", `{"rows":[{"id":1},{"n":2}]}`), 422))
	for _, where := range []string{"id = 1 OR (", "1) OR (1", "id = 1; DROP TABLE t", "*", "read_blob('/etc/passwd') IS NULL", "no_such = 1",
		"t IS NOT NULL", "COLUMNS(*) > 0", "exists (SELECT t.*)"} {
		r := s.Admin.Call("POST", path+"/rows/delete", object{"where": where})
		require.Contains(t, []int{400, 422}, r.Status, "%s: %s", where, r.Body)
		harness.Refused(t, r, r.Status)
	}
	require.Equal(t, []string{"set.no_such"}, harness.Refused(t, s.Admin.Call("POST", path+"/rows/update",
		object{"where": "true", "set": object{"no_such": "1"}}), 422))
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 1}))
	harness.Refused(t, s.Admin.Call("POST", path+"/rows/update", object{"where": "true", "set": object{"n": "'abc'"}}), 422)
	require.Equal(t, 1.0, s.Admin.OK("GET", path, nil)["version"], "nothing else was written")
	entries, err := os.ReadDir(filepath.Join(s.Config.DataDir, "writes"))
	require.NoError(t, err)
	require.Empty(t, entries, "nothing is left on the way")
}

func TestEveryFormatOfRowsIsTaken(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("id", "long", "isPrimaryKey", true), harness.Col("name", "string"),
		harness.Col("price", "decimal(10,2)"))
	dir := t.TempDir()
	harness.DeltaPython(t)(`
import sys, pyarrow as pa, pyarrow.parquet as pq, decimal
rows = pa.table({"id": pa.array([5, 6], pa.int32()), "name": ["e", None], "price": pa.array([decimal.Decimal("5.50"), None], pa.decimal128(10, 2))})
pq.write_table(rows, sys.argv[1] + "/rows.parquet")
with pa.OSFile(sys.argv[1] + "/rows.arrow", "wb") as f, pa.ipc.new_stream(f, rows.schema) as out:
    out.write_table(rows.set_column(0, "id", pa.array([7, 8], pa.int32())))
`, dir)
	parquet, err := os.ReadFile(filepath.Join(dir, "rows.parquet"))
	require.NoError(t, err)
	stream, err := os.ReadFile(filepath.Join(dir, "rows.arrow"))
	require.NoError(t, err)
	for _, body := range [][2]string{
		{"application/x-ndjson", "{\"id\":1,\"name\":\"a\"}\n{\"id\":2,\"price\":\"2.50\"}\n"},
		{"text/csv", "name,id,price\n\"c,\"\"x\",3,3.5\n,4,\n"},
		{"application/vnd.apache.parquet", string(parquet)}, {"application/vnd.apache.arrow.stream", string(stream)},
	} {
		r := s.Admin.Call("POST", path+"/rows", body[1], "Content-Type", body[0])
		require.Equal(t, 200, r.Status, "%s: %s", body[0], r.Body)
		require.Equal(t, 2.0, r.JSON(t)["inserted"])
		r = s.Admin.Call("POST", path+"/rows/merge?when_not_matched=ignore", body[1], "Content-Type", body[0])
		require.Equal(t, 200, r.Status, "%s: %s", body[0], r.Body)
		require.Equal(t, 2.0, r.JSON(t)["updated"])
		cut := s.Admin.Call("POST", path+"/rows", body[1][:len(body[1])/2]+"\x00", "Content-Type", body[0])
		require.Contains(t, []int{400, 422}, cut.Status, "%s: %s", body[0], cut.Body)
	}
	require.Equal(t, list{
		list{1.0, "a", nil}, list{2.0, nil, "2.50"}, list{3.0, `c,"x`, "3.50"}, list{4.0, nil, nil},
		list{5.0, "e", "5.50"}, list{6.0, nil, nil}, list{7.0, "e", "5.50"}, list{8.0, nil, nil},
	}, s.Admin.Rows("SELECT * FROM "+s.Schema+".t ORDER BY id"))
}

func TestOneOfManyInsertsOfAKeyWins(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("id", "long", "isPrimaryKey", true), harness.Col("by", "integer"))
	const writers = 50
	status := make(chan int, writers)
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			r := s.Admin.Call("POST", path+"/rows", harness.RowsOf(object{"id": 1, "by": i}))
			if r.Status == 409 && r.JSON(t)["code"] != "key_conflict" {
				r.Status = 0
			}
			status <- r.Status
		})
	}
	group.Wait()
	close(status)
	counts := map[int]int{}
	for got := range status {
		counts[got]++
	}
	require.Equal(t, map[int]int{200: 1, 409: writers - 1}, counts)
	require.Equal(t, 1.0, s.Admin.Count(s.Schema+".t"))
	data, err := filepath.Glob(filepath.Join(s.Root, "t", "*.parquet"))
	require.NoError(t, err)
	require.Len(t, data, 1, "files of writes that lost are gone")
}

func TestChangesThatRaceAreAllMade(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("id", "long", "isPrimaryKey", true), harness.Col("n", "integer"))
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 1, "n": 0}))
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			s.Admin.Write(path+"/rows/update", object{"where": "id = 1", "set": object{"n": "n + 1"}})
			s.Admin.Write(path+"/rows/merge", harness.RowsOf(object{"id": 100 + i, "n": i}))
		})
	}
	group.Wait()
	require.Equal(t, list{list{4.0}}, s.Admin.Rows("SELECT n FROM "+s.Schema+".t WHERE id = 1"))
	require.Equal(t, 5.0, s.Admin.Count(s.Schema+".t"))
}

func TestTablesThatWritesRefuse(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	appendOnly := s.Create("a", object{"properties": object{"delta.appendOnly": "true"}}, harness.Col("id", "long"))
	s.Admin.Write(appendOnly+"/rows", harness.RowsOf(object{"id": 1}))
	for to, body := range map[string]any{
		"/rows/update": object{"where": "true", "set": object{"id": "2"}}, "/rows/delete": object{"where": "true"},
		"/rows/merge": object{"on": list{"id"}, "rows": list{object{"id": 1}}},
	} {
		code, fields := s.Admin.Call("POST", appendOnly+to, body).Problem(t, 409)
		require.Equal(t, "unsupported_table_feature", code)
		require.Equal(t, []string{"feature"}, fields)
	}
	require.Equal(t, 1.0, s.Admin.Count(s.Schema+".a"))
}

func TestRowsAreWrittenToS3(t *testing.T) {
	t.Parallel()
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	s := harness.StartS3Server(t)
	made := s.Admin.OK("POST", harness.ConfigsPath, harness.S3Body(store, bucket, object{"workspaceId": s.Boot.WorkspaceID}))
	schema := made["schema"].(string)
	require.Equal(t, 201, s.Admin.Call("POST", "/v1/tables", s.NewTable(schema, "t", object{"partition_by": list{"p"}},
		harness.Col("id", "long", "isPrimaryKey", true), harness.Col("p", "string"))).Status)
	path := "/v1/tables/lake/" + schema + "/t"
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 1, "p": "a"}, object{"id": 2, "p": "b"}, object{"id": 3}))
	require.Equal(t, 3.0, s.Admin.Count(schema+".t"), "the next statement sees the commit")
	s.Admin.Write(path+"/rows/merge", harness.RowsOf(object{"id": 2, "p": "c"}, object{"id": 4, "p": "a"}))
	s.Admin.Write(path+"/rows/update", object{"where": "id = 1", "set": object{"p": "'z'"}})
	s.Admin.Write(path+"/rows/delete", object{"where": "id = 3"})
	require.Equal(t, list{list{1.0, "z"}, list{2.0, "c"}, list{4.0, "a"}}, s.Admin.Rows("SELECT id, p FROM "+schema+".t ORDER BY id"))
	code, _ := s.Admin.Call("POST", path+"/rows", harness.RowsOf(object{"id": 4})).Problem(t, 409)
	require.Equal(t, "key_conflict", code)
}

func TestAWriteWhoseWorkerIsKilledLeavesAllOrNothing(t *testing.T) {
	s := harness.Start(t, nil)
	path := s.Create("t", nil, harness.Col("id", "long", "isPrimaryKey", true), harness.Col("v", "string"))
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": -1}))
	var body strings.Builder
	const rows = 200_000
	for i := range rows {
		fmt.Fprintf(&body, "{\"id\":%d,\"v\":\"value %d\"}\n", i, i*7919%rows)
	}
	before := harness.WorkerProcesses(t)
	done := make(chan harness.Reply, 1)
	go func() {
		done <- s.Admin.Call("POST", path+"/rows/merge", body.String(), "Content-Type", "application/x-ndjson")
	}()
	// The service session of the write makes its folder; then its process dies.
	require.Eventually(t, func() bool {
		found, err := filepath.Glob(filepath.Join(s.Config.DataDir, "writes", "write-*", "d*"))
		hidden, hiddenErr := filepath.Glob(filepath.Join(s.Config.DataDir, "writes", "write-*", ".*"))
		return err == nil && hiddenErr == nil && len(found)+len(hidden) > 0
	}, time.Minute, time.Millisecond)
	for _, pid := range append(before, harness.WorkerProcesses(t)...) {
		n, err := strconv.Atoi(pid)
		require.NoError(t, err)
		_ = syscall.Kill(n, syscall.SIGKILL) // it may have ended
	}
	r := <-done
	count := s.Admin.Count(s.Schema + ".t")
	if r.Status == 200 {
		require.Equal(t, float64(rows+1), count)
	} else {
		code, _ := r.Problem(t, 503)
		require.Equal(t, "engine_failed", code)
		require.Equal(t, 1.0, count)
	}
	inserted, _, _ := s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": rows + 1}))
	require.Equal(t, 1.0, inserted, "the next write has a new process")
}
