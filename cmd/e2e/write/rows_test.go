package write_test

import (
	"context"
	"encoding/json"
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

func TestRulesHoldForEveryWrite(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("id", "long", "isPrimaryKey", true), harness.Col("mail", "string", "isUnique", true),
		harness.Col("n", "integer", "nullable", false))
	post := func(to string, body any, status int, code string) []string {
		t.Helper()
		got, fields := s.Admin.Call("POST", path+to, body).Problem(t, status)
		require.Equal(t, code, got)
		return fields
	}
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 1, "mail": "a", "n": 1}, object{"id": 2, "n": 2}, object{"id": 3, "n": 3},
		object{"id": nil, "n": 4}))
	require.Equal(t, []string{"rows[0].n", "rows[2].n"}, post("/rows", harness.RowsOf(object{"id": 8}, object{"id": 8, "n": 1},
		object{"id": 1}), 422, "rule_violation"))
	require.Equal(t, []string{"rows[1].id"}, post("/rows", harness.RowsOf(object{"id": 9, "n": 1}, object{"id": 2, "n": 1}), 409,
		"key_conflict"))
	require.Equal(t, []string{"rows[0].id"}, post("/rows", harness.RowsOf(object{"n": 1}), 409, "key_conflict"),
		"NULL is a value of a primary key")
	require.Equal(t, []string{"rows[0].mail"}, post("/rows", harness.RowsOf(object{"id": 9, "mail": "a", "n": 1}), 409, "key_conflict"))
	require.Equal(t, []string{"rows[1].id"}, post("/rows", harness.RowsOf(object{"id": 9, "n": 1}, object{"id": 9, "n": 1}), 422,
		"duplicate_key"))
	require.Equal(t, []string{"rows[1].id"}, post("/rows/merge", harness.RowsOf(object{"id": 9, "n": 1}, object{"id": 9, "n": 2}), 422,
		"duplicate_key"))
	require.Equal(t, []string{"set.n"}, post("/rows/update", object{"where": "id = 1", "set": object{"n": "NULL"}}, 422, "rule_violation")[:1])
	post("/rows/update", object{"where": "id = 1", "set": object{"id": "2"}}, 409, "key_conflict")
	post("/rows/update", object{"where": "id > 1", "set": object{"id": "7"}}, 422, "duplicate_key")
	post("/rows/merge", object{"on": list{"id"}, "rows": list{object{"id": 2, "mail": "a"}}}, 409, "key_conflict")
	require.Equal(t, 1.0, s.Admin.OK("GET", path, nil)["version"], "nothing was written")

	_, updated, _ := s.Admin.Write(path+"/rows/update", object{"where": "id IS NOT NULL", "set": object{"id": "id + 1"}})
	require.Equal(t, 3.0, updated, "keys that move together are in nobody's way")
	inserted, updated, _ := s.Admin.Write(path+"/rows/merge", harness.RowsOf(object{"id": nil, "n": 40},
		object{"id": 1, "n": 10, "mail": "b"}))
	require.Equal(t, []float64{1, 1}, []float64{inserted, updated})
	_, _, deleted := s.Admin.Write(path+"/rows/merge", object{"rows": list{object{"id": 4}, object{"id": 99}}, "when_matched": "delete",
		"when_not_matched": "ignore"})
	require.Equal(t, 1.0, deleted)
	require.Equal(t, list{list{1.0, "b", 10.0}, list{2.0, "a", 1.0}, list{3.0, nil, 2.0}, list{nil, nil, 40.0}},
		s.Admin.Rows("SELECT * FROM "+s.Schema+".t ORDER BY id"))

	dry := s.Admin.OK("POST", path+"/rows?dry_run=true", harness.RowsOf(object{"id": 50, "n": 1}))
	require.Equal(t, 1.0, dry["inserted"])
	require.Equal(t, 4.0, s.Admin.Count(s.Schema+".t"))
}

func TestKeysAreCheckedInTheFilesThatCanHoldThem(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, func(c *harness.Settings) { c.LogLevel = "debug" })
	path := s.Create("t", nil, harness.Col("id", "long", "isPrimaryKey", true))
	for _, first := range []int{0, 10, 20} { // no file can hold one of these keys
		s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": first}, object{"id": first + 5}))
	}
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 11}))
	s.Admin.Call("POST", path+"/rows", harness.RowsOf(object{"id": 1}, object{"id": 20})).Problem(t, 409)
	figures := string(s.Admin.Call("GET", "/metrics", nil).Body)
	require.Contains(t, figures, `lakewarden_delta_commits_total{op="rows.insert",outcome="committed"} 4`)
	require.NotContains(t, figures, "key_check", "it would tell everybody where hidden keys lie")

	s.Stop() // so that nobody writes to the log
	var read []float64
	for line := range strings.Lines(s.Log.String()) {
		var entry struct {
			Msg, Op string
			Files   float64
		}
		require.NoError(t, json.Unmarshal([]byte(line), &entry))
		if entry.Msg == "keys checked" {
			require.Equal(t, "rows.insert", entry.Op)
			read = append(read, entry.Files)
		}
	}
	require.Equal(t, []float64{1, 2}, read)
}

func TestWritesKeepToTheRowFilter(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("id", "long", "isPrimaryKey", true), harness.Col("region", "string"),
		harness.Col("secret", "string"), harness.Col("n", "integer"))
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 1, "region": "eu", "secret": "s1", "n": 1},
		object{"id": 2, "region": "us", "secret": "s2", "n": 2}, object{"id": 3, "region": "eu", "n": 3}))
	s.Policy("t", "region", `{"effect":"permit","subject":{"role":"admin"},"condition":null}`)
	s.Policy("t", "region", `{"effect":"permit","subject":{"attribute":"region","op":"eq"},"condition":null}`)
	hidden := s.Admin.OK("POST", "/v1/organisations/"+s.Boot.OrganisationID+"/policies", object{
		"kind": "cls", "tableFqn": "lake." + s.Schema + ".t", "columnName": "secret",
		"definition": object{"effect": "permit", "subject": object{"role": "admin"}},
	})
	require.NotEmpty(t, hidden)
	eu := s.Member("eu@acme.example", "editor", map[string]string{"region": "eu"})
	all := func() list {
		return s.Admin.Rows("SELECT id, region, secret, n FROM " + s.Schema + ".t ORDER BY id")
	}
	before := all()
	deny := func(to string, body any, status int, code string) []string {
		t.Helper()
		r := eu.Call("POST", path+to, body)
		got, fields := r.Problem(t, status)
		require.Equal(t, code, got, "%s", r.Body)
		require.NotContains(t, string(r.Body), "secret")
		return fields
	}
	require.Equal(t, []string{"rows[1]"}, deny("/rows", harness.RowsOf(object{"id": 10, "region": "eu"}, object{"id": 11, "region": "us"}),
		403, "rls_violation"))
	require.Equal(t, []string{"rows[0]"}, deny("/rows", harness.RowsOf(object{"id": 10}), 403, "rls_violation"), "NULL is not visible")
	require.Empty(t, deny("/rows", harness.RowsOf(object{"id": 2, "region": "eu"}), 409, "key_conflict"),
		"of hidden rows only yes or no is told")
	deny("/rows/update", object{"where": "id = 1", "set": object{"region": "'us'"}}, 403, "rls_violation")
	deny("/rows/merge", harness.RowsOf(object{"id": 2, "region": "eu", "n": 9}), 403, "rls_violation")
	deny("/rows/merge", object{"rows": list{object{"id": 2, "region": "eu"}}, "when_matched": "delete", "when_not_matched": "ignore"}, 403,
		"rls_violation")
	deny("/rows/merge", harness.RowsOf(object{"id": 1, "region": "us"}), 403, "rls_violation")
	require.Equal(t, before, all())

	_, updated, _ := eu.Write(path+"/rows/update", object{"where": "true", "set": object{"n": "n + 100"}})
	require.Equal(t, 2.0, updated)
	_, updated, _ = eu.Write(path+"/rows/update", object{"where": "region = 'us'", "set": object{"n": "0"}})
	require.Equal(t, 0.0, updated, "hidden rows are not met")
	inserted, updated, _ := eu.Write(path+"/rows/merge", harness.RowsOf(object{"id": 1, "n": 7}, object{"id": 4, "region": "eu"}))
	require.Equal(t, []float64{1, 1}, []float64{inserted, updated})
	// On columns that are no key a hidden row is none.
	_, updated, _ = eu.Write(path+"/rows/merge", object{"on": list{"region"}, "rows": list{object{"region": "us", "n": 5}},
		"when_not_matched": "ignore"})
	require.Equal(t, 0.0, updated)
	_, _, deleted := eu.Write(path+"/rows/delete", object{"where": "id IN (2, 3)"})
	require.Equal(t, 1.0, deleted)
	require.Equal(t, list{list{1.0, "eu", "s1", 7.0}, list{2.0, "us", "s2", 2.0}, list{4.0, "eu", nil, nil}}, all(),
		"hidden columns keep their values")
	deny("/rows", harness.RowsOf(object{"id": 20, "region": "eu", "no_such": 1}), 422, "invalid_value")

	s.Member("viewer@acme.example", "viewer", map[string]string{"region": "eu"}).Call("POST", path+"/rows",
		harness.RowsOf(object{"id": 30, "region": "eu"})).Problem(t, 403)
	s.Admin.OK("DELETE", path, nil)
	eu.Call("POST", path+"/rows", harness.RowsOf(object{"id": 30, "region": "eu"})).Problem(t, 404)
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

func TestARepeatedRequestIsDoneOnce(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	path := s.Create("t", nil, harness.Col("id", "long"), harness.Col("n", "integer"))
	other := s.Create("other", nil, harness.Col("id", "long"), harness.Col("n", "integer"))
	send := func(path, key string, body any) harness.Reply {
		return s.Admin.Call("POST", path, body, "Idempotency-Key", key)
	}
	same := func(want, got harness.Reply) {
		t.Helper()
		require.Equal(t, 200, got.Status, "%s", got.Body)
		require.JSONEq(t, string(want.Body), string(got.Body))
	}
	row := harness.RowsOf(object{"id": 1, "n": 1})
	first := send(path+"/rows", "one", row)
	require.Equal(t, 200, first.Status, "%s", first.Body)
	same(first, send(path+"/rows", "one", row))
	for to, body := range map[string]any{path + "/rows": harness.RowsOf(object{"id": 2}), other + "/rows": row, path +
		"/rows/merge?on=id": row} {
		code, _ := send(to, "one", body).Problem(t, 422)
		require.Equal(t, "idempotency_key_reused", code)
	}
	updated := send(path+"/rows/update", "two", object{"where": "true", "set": object{"n": "n + 1"}})
	merged := send(path+"/rows/merge?on=id", "three", harness.RowsOf(object{"id": 1, "n": 5}, object{"id": 7}))
	require.Equal(t, 1.0, merged.JSON(t)["updated"])
	deleted := send(path+"/rows/delete", "four", object{"where": "id = 7"})
	s.Restart()
	repeat := func() {
		t.Helper()
		same(first, send(path+"/rows", "one", row))
		same(updated, send(path+"/rows/update", "two", object{"where": "true", "set": object{"n": "n + 1"}}))
		same(merged, send(path+"/rows/merge?on=id", "three", harness.RowsOf(object{"id": 1, "n": 5}, object{"id": 7})))
		same(deleted, send(path+"/rows/delete", "four", object{"where": "id = 7"}))
	}
	repeat()
	// A server that ended between a commit and its reply left the commit only.
	store, err := s.OpenCatalog(context.Background())
	require.NoError(t, err)
	forgotten, err := store.ForgetWriteKeys(context.Background(), time.Now().Add(time.Hour))
	require.NoError(t, err)
	require.EqualValues(t, 4, forgotten)
	require.NoError(t, store.Close())
	repeat()
	require.Equal(t, list{list{1.0, 5.0}}, s.Admin.Rows("SELECT * FROM "+s.Schema+".t"))

	replies := make(chan harness.Reply, 8)
	var group sync.WaitGroup
	for range cap(replies) {
		group.Go(func() { replies <- send(other+"/rows", "five", row) })
	}
	group.Wait()
	close(replies)
	versions := map[string]int{}
	for r := range replies {
		require.Equal(t, 200, r.Status, "%s", r.Body)
		versions[string(r.Body)]++
	}
	require.Len(t, versions, 1)
	require.Equal(t, 1.0, s.Admin.Count(s.Schema+".other"))
	require.Contains(t, []int{400, 422}, send(path+"/rows", strings.Repeat("k", 300), row).Status)
}

// TestTwinRequestsAmongOthersAreDoneOnce sends every change twice at the same time,
// under one key, while others change the table too.
func TestTwinRequestsAmongOthersAreDoneOnce(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("id", "long"), harness.Col("n", "integer"))
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 1, "n": 0}, object{"id": 2, "n": 0}))
	const rounds = 4
	var group sync.WaitGroup
	for round := range rounds {
		for range 3 {
			group.Go(func() {
				r := s.Admin.Call("POST", path+"/rows/update", object{"where": "id = 1", "set": object{"n": "n + 1"}}, "Idempotency-Key", "round"+
					strconv.Itoa(round))
				require.Contains(t, []int{200, 409}, r.Status, "%s", r.Body)
			})
		}
		group.Go(func() {
			s.Admin.Call("POST", path+"/rows/update", object{"where": "id = 2", "set": object{"n": "n + 1"}})
		})
		group.Wait()
		require.Equal(t, list{list{float64(round + 1)}}, s.Admin.Rows("SELECT n FROM "+s.Schema+".t WHERE id = 1"), "round %d", round)
	}
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
	}, 30*time.Second, time.Millisecond)
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
