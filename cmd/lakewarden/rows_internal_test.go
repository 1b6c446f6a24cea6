package main

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

	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// create makes a table through the API.
func (s *testServer) create(name string, more map[string]any, columns ...map[string]any) string {
	s.t.Helper()
	r := s.admin.call("POST", "/v1/tables", s.newTable(s.schema, name, more, columns...))
	require.Equal(s.t, 201, r.status, "%s", r.body)
	return s.tablePath(name)
}

// write sends rows that must be taken and returns the counts.
func (c *client) write(path string, body any) (inserted, updated, deleted float64) {
	c.t.Helper()
	got := c.ok("POST", path, body)
	return got["inserted"].(float64), got["updated"].(float64), got["deleted"].(float64)
}

type list = []any
type object = map[string]any

func rowsOf(rows ...any) object { return object{"rows": rows} }

func TestRowsAreInsertedChangedAndReadByOthers(t *testing.T) {
	s := startServer(t, nil)
	orders := s.create("orders", object{"partition_by": list{"region"}},
		col("id", "long", "isPrimaryKey", true, "nullable", false), col("region", "string"), col("amount", "decimal(12,2)"), col("seen", "timestamp"), col("tags", "array<string>"))
	read := func() list {
		return s.admin.rows("SELECT id, region, amount, seen::VARCHAR, tags FROM " + s.schema + ".orders ORDER BY id")
	}
	got := s.admin.ok("POST", orders+"/rows", rowsOf(
		object{"id": 1, "region": "eu", "amount": "1.50", "seen": "2024-01-02T03:04:05Z", "tags": list{"a", "b"}},
		object{"id": "2", "region": "it's/%2F é", "amount": 2},
		object{"id": 3},
	))
	require.Equal(t, object{"version": 1.0, "inserted": 3.0, "updated": 0.0, "deleted": 0.0}, got)
	require.Equal(t, list{
		list{1.0, "eu", "1.50", "2024-01-02 03:04:05+00", list{"a", "b"}}, list{2.0, "it's/%2F é", "2.00", nil, nil}, list{3.0, nil, nil, nil, nil},
	}, read())

	got = s.admin.ok("POST", orders+"/rows/merge", rowsOf(object{"id": 2, "amount": "2.25"}, object{"id": 3, "region": "us"}, object{"id": 4, "region": "eu"}))
	require.Equal(t, object{"version": 2.0, "inserted": 1.0, "updated": 2.0, "deleted": 0.0}, got)
	require.Equal(t, list{
		list{1.0, "eu", "1.50", "2024-01-02 03:04:05+00", list{"a", "b"}}, list{2.0, "it's/%2F é", "2.25", nil, nil},
		list{3.0, "us", nil, nil, nil}, list{4.0, "eu", nil, nil, nil},
	}, read())

	got = s.admin.ok("POST", orders+"/rows/update", object{"where": "id >= 3", "set": object{"amount": "coalesce(amount, 0) + id", "region": "upper(region)"}})
	require.Equal(t, object{"version": 3.0, "inserted": 0.0, "updated": 2.0, "deleted": 0.0}, got)
	got = s.admin.ok("POST", orders+"/rows/delete", object{"where": "region = 'EU' OR tags[1] = 'a'"})
	require.Equal(t, object{"version": 4.0, "inserted": 0.0, "updated": 0.0, "deleted": 2.0}, got)
	require.Equal(t, list{list{2.0, "it's/%2F é", "2.25", nil, nil}, list{3.0, "US", "3.00", nil, nil}}, read())

	deltaPython(t)(`
import sys, deltalake, pyarrow as pa, decimal
path = sys.argv[1]
t = deltalake.DeltaTable(path)
rows = sorted(t.to_pyarrow_table().to_pylist(), key=lambda r: r["id"])
assert [(r["id"], r["region"], str(r["amount"])) for r in rows] == [(2, "it's/%2F é", "2.25"), (3, "US", "3.00")], rows
schema = pa.schema(t.schema().to_arrow()) if hasattr(t.schema(), "to_arrow") else t.schema().to_pyarrow()
deltalake.write_deltalake(path, pa.table({"id": [9], "region": ["eu"], "amount": [None], "seen": [None], "tags": [["x"]]}, schema=schema), mode="append")
`, filepath.Join(s.root, "orders"))
	require.Equal(t, 3.0, s.admin.count(s.schema+".orders"))
	code, fields := s.admin.call("POST", orders+"/rows", rowsOf(object{"id": 9})).problem(t, 409)
	require.Equal(t, "key_conflict", code)
	require.Equal(t, []string{"rows[0].id"}, fields)
	inserted, _, _ := s.admin.write(orders+"/rows", rowsOf(object{"id": 10, "region": "eu"}))
	require.Equal(t, 1.0, inserted)
	require.Equal(t, 4.0, s.admin.count(s.schema+".orders"))
}

// streamsRows: the body is read as a stream, after the table was found.
func (op operation) streamsRows() bool {
	return op.OperationID == "insertRows" || op.OperationID == "mergeRows"
}

func TestBadBodiesOfRows(t *testing.T) {
	s := startServer(t, nil)
	path := s.create("t", nil, col("id", "long", "isPrimaryKey", true), col("n", "integer"), col("price", "decimal(5,2)"), col("day", "date"))
	send := func(to, body string, header ...string) reply { return s.admin.call("POST", path+to, body, header...) }
	for _, to := range []string{"/rows", "/rows/merge"} {
		for _, text := range []string{`{`, `not json`, `{"rows":[{"id":1}`, `{"rows":[{"id":1}]} x`, "\x00\x01", `{"rows":[],"rows":[]}`, `{"rows":` + strings.Repeat("[", 5000)} {
			refused(t, send(to, text), 400)
		}
		refused(t, s.admin.call("POST", path+to, nil), 400)
		refused(t, send(to, `{"rows":[]}`, "Content-Type", "text/plain"), 400)
		require.Equal(t, []string{"no_such"}, refused(t, send(to, `{"rows":[{"id":1}],"no_such":1}`), 422))
		require.Equal(t, []string{"rows"}, refused(t, send(to, `{}`), 422))
		fields := refused(t, send(to, `{"rows":[{"id":1},{"id":1.5,"n":2147483648},{"id":2,"price":"1.234","no_such":1,"day":"2024-02-30"}]}`), 422)
		require.ElementsMatch(t, []string{"rows[1].id", "rows[1].n", "rows[2].price", "rows[2].no_such", "rows[2].day"}, fields)
	}
	require.Equal(t, []string{"when_matched"}, refused(t, send("/rows/merge", `{"rows":[{"id":1}],"when_matched":"x"}`), 422))
	require.Equal(t, []string{"when_not_matched"}, refused(t, send("/rows/merge?when_not_matched=x", `{"rows":[{"id":1}]}`), 422))
	require.Equal(t, []string{"on"}, refused(t, send("/rows/merge", `{"rows":[{"id":1}],"on":["no_such"]}`), 422))
	require.Equal(t, []string{"rows[1].id"}, refused(t, send("/rows/merge", `{"rows":[{"id":1},{"n":2}]}`), 422))
	for _, where := range []string{"id = 1 OR (", "1) OR (1", "id = 1; DROP TABLE t", "*", "read_blob('/etc/passwd') IS NULL", "no_such = 1", "t IS NOT NULL", "COLUMNS(*) > 0", "exists (SELECT t.*)"} {
		r := s.admin.call("POST", path+"/rows/delete", object{"where": where})
		require.Contains(t, []int{400, 422}, r.status, "%s: %s", where, r.body)
		refused(t, r, r.status)
	}
	require.Equal(t, []string{"set.no_such"}, refused(t, s.admin.call("POST", path+"/rows/update", object{"where": "true", "set": object{"no_such": "1"}}), 422))
	s.admin.write(path+"/rows", rowsOf(object{"id": 1}))
	refused(t, s.admin.call("POST", path+"/rows/update", object{"where": "true", "set": object{"n": "'abc'"}}), 422)
	require.Equal(t, 1.0, s.admin.ok("GET", path, nil)["version"], "nothing else was written")
	entries, err := os.ReadDir(filepath.Join(s.config.DataDir, "writes"))
	require.NoError(t, err)
	require.Empty(t, entries, "nothing is left on the way")
}

func TestEveryFormatOfRowsIsTaken(t *testing.T) {
	s := startServer(t, nil)
	path := s.create("t", nil, col("id", "long", "isPrimaryKey", true), col("name", "string"), col("price", "decimal(10,2)"))
	dir := t.TempDir()
	deltaPython(t)(`
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
		r := s.admin.call("POST", path+"/rows", body[1], "Content-Type", body[0])
		require.Equal(t, 200, r.status, "%s: %s", body[0], r.body)
		require.Equal(t, 2.0, r.json(t)["inserted"])
		r = s.admin.call("POST", path+"/rows/merge?when_not_matched=ignore", body[1], "Content-Type", body[0])
		require.Equal(t, 200, r.status, "%s: %s", body[0], r.body)
		require.Equal(t, 2.0, r.json(t)["updated"])
		cut := s.admin.call("POST", path+"/rows", body[1][:len(body[1])/2]+"\x00", "Content-Type", body[0])
		require.Contains(t, []int{400, 422}, cut.status, "%s: %s", body[0], cut.body)
	}
	require.Equal(t, list{
		list{1.0, "a", nil}, list{2.0, nil, "2.50"}, list{3.0, `c,"x`, "3.50"}, list{4.0, nil, nil},
		list{5.0, "e", "5.50"}, list{6.0, nil, nil}, list{7.0, "e", "5.50"}, list{8.0, nil, nil},
	}, s.admin.rows("SELECT * FROM "+s.schema+".t ORDER BY id"))
}

func TestRulesHoldForEveryWrite(t *testing.T) {
	s := startServer(t, nil)
	path := s.create("t", nil, col("id", "long", "isPrimaryKey", true), col("mail", "string", "isUnique", true), col("n", "integer", "nullable", false))
	post := func(to string, body any, status int, code string) []string {
		t.Helper()
		got, fields := s.admin.call("POST", path+to, body).problem(t, status)
		require.Equal(t, code, got)
		return fields
	}
	s.admin.write(path+"/rows", rowsOf(object{"id": 1, "mail": "a", "n": 1}, object{"id": 2, "n": 2}, object{"id": 3, "n": 3}, object{"id": nil, "n": 4}))
	require.Equal(t, []string{"rows[0].n", "rows[2].n"}, post("/rows", rowsOf(object{"id": 8}, object{"id": 8, "n": 1}, object{"id": 1}), 422, "rule_violation"))
	require.Equal(t, []string{"rows[1].id"}, post("/rows", rowsOf(object{"id": 9, "n": 1}, object{"id": 2, "n": 1}), 409, "key_conflict"))
	require.Equal(t, []string{"rows[0].id"}, post("/rows", rowsOf(object{"n": 1}), 409, "key_conflict"), "NULL is a value of a primary key")
	require.Equal(t, []string{"rows[0].mail"}, post("/rows", rowsOf(object{"id": 9, "mail": "a", "n": 1}), 409, "key_conflict"))
	require.Equal(t, []string{"rows[1].id"}, post("/rows", rowsOf(object{"id": 9, "n": 1}, object{"id": 9, "n": 1}), 422, "duplicate_key"))
	require.Equal(t, []string{"rows[1].id"}, post("/rows/merge", rowsOf(object{"id": 9, "n": 1}, object{"id": 9, "n": 2}), 422, "duplicate_key"))
	require.Equal(t, []string{"set.n"}, post("/rows/update", object{"where": "id = 1", "set": object{"n": "NULL"}}, 422, "rule_violation")[:1])
	post("/rows/update", object{"where": "id = 1", "set": object{"id": "2"}}, 409, "key_conflict")
	post("/rows/update", object{"where": "id > 1", "set": object{"id": "7"}}, 422, "duplicate_key")
	post("/rows/merge", object{"on": list{"id"}, "rows": list{object{"id": 2, "mail": "a"}}}, 409, "key_conflict")
	require.Equal(t, 1.0, s.admin.ok("GET", path, nil)["version"], "nothing was written")

	_, updated, _ := s.admin.write(path+"/rows/update", object{"where": "id IS NOT NULL", "set": object{"id": "id + 1"}})
	require.Equal(t, 3.0, updated, "keys that move together are in nobody's way")
	inserted, updated, _ := s.admin.write(path+"/rows/merge", rowsOf(object{"id": nil, "n": 40}, object{"id": 1, "n": 10, "mail": "b"}))
	require.Equal(t, []float64{1, 1}, []float64{inserted, updated})
	_, _, deleted := s.admin.write(path+"/rows/merge", object{"rows": list{object{"id": 4}, object{"id": 99}}, "when_matched": "delete", "when_not_matched": "ignore"})
	require.Equal(t, 1.0, deleted)
	require.Equal(t, list{list{1.0, "b", 10.0}, list{2.0, "a", 1.0}, list{3.0, nil, 2.0}, list{nil, nil, 40.0}}, s.admin.rows("SELECT * FROM "+s.schema+".t ORDER BY id"))

	dry := s.admin.ok("POST", path+"/rows?dry_run=true", rowsOf(object{"id": 50, "n": 1}))
	require.Equal(t, 1.0, dry["inserted"])
	require.Equal(t, 4.0, s.admin.count(s.schema+".t"))
}

func TestKeysAreCheckedInTheFilesThatCanHoldThem(t *testing.T) {
	s := startServer(t, func(c *settings) { c.LogLevel = "debug" })
	path := s.create("t", nil, col("id", "long", "isPrimaryKey", true))
	for _, first := range []int{0, 10, 20} { // no file can hold one of these keys
		s.admin.write(path+"/rows", rowsOf(object{"id": first}, object{"id": first + 5}))
	}
	s.admin.write(path+"/rows", rowsOf(object{"id": 11}))
	s.admin.call("POST", path+"/rows", rowsOf(object{"id": 1}, object{"id": 20})).problem(t, 409)
	figures := string(s.admin.call("GET", "/metrics", nil).body)
	require.Contains(t, figures, `lakewarden_delta_commits_total{op="rows.insert",outcome="committed"} 4`)
	require.NotContains(t, figures, "key_check", "it would tell everybody where hidden keys lie")

	s.stop() // so that nobody writes to the log
	var read []float64
	for line := range strings.Lines(s.log.String()) {
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
	s := startServer(t, nil)
	path := s.create("t", nil, col("id", "long", "isPrimaryKey", true), col("region", "string"), col("secret", "string"), col("n", "integer"))
	s.admin.write(path+"/rows", rowsOf(object{"id": 1, "region": "eu", "secret": "s1", "n": 1}, object{"id": 2, "region": "us", "secret": "s2", "n": 2}, object{"id": 3, "region": "eu", "n": 3}))
	s.policy("t", "region", `{"effect":"permit","subject":{"role":"admin"},"condition":null}`)
	s.policy("t", "region", `{"effect":"permit","subject":{"attribute":"region","op":"eq"},"condition":null}`)
	hidden := s.admin.ok("POST", "/v1/organisations/"+s.boot.OrganisationID+"/policies", object{
		"kind": "cls", "tableFqn": "lake." + s.schema + ".t", "columnName": "secret", "definition": object{"effect": "permit", "subject": object{"role": "admin"}},
	})
	require.NotEmpty(t, hidden)
	eu := s.member("eu@acme.example", "editor", map[string]string{"region": "eu"})
	all := func() list { return s.admin.rows("SELECT id, region, secret, n FROM " + s.schema + ".t ORDER BY id") }
	before := all()
	deny := func(to string, body any, status int, code string) []string {
		t.Helper()
		r := eu.call("POST", path+to, body)
		got, fields := r.problem(t, status)
		require.Equal(t, code, got, "%s", r.body)
		require.NotContains(t, string(r.body), "secret")
		return fields
	}
	require.Equal(t, []string{"rows[1]"}, deny("/rows", rowsOf(object{"id": 10, "region": "eu"}, object{"id": 11, "region": "us"}), 403, "rls_violation"))
	require.Equal(t, []string{"rows[0]"}, deny("/rows", rowsOf(object{"id": 10}), 403, "rls_violation"), "NULL is not visible")
	require.Empty(t, deny("/rows", rowsOf(object{"id": 2, "region": "eu"}), 409, "key_conflict"), "of hidden rows only yes or no is told")
	deny("/rows/update", object{"where": "id = 1", "set": object{"region": "'us'"}}, 403, "rls_violation")
	deny("/rows/merge", rowsOf(object{"id": 2, "region": "eu", "n": 9}), 403, "rls_violation")
	deny("/rows/merge", object{"rows": list{object{"id": 2, "region": "eu"}}, "when_matched": "delete", "when_not_matched": "ignore"}, 403, "rls_violation")
	deny("/rows/merge", rowsOf(object{"id": 1, "region": "us"}), 403, "rls_violation")
	require.Equal(t, before, all())

	_, updated, _ := eu.write(path+"/rows/update", object{"where": "true", "set": object{"n": "n + 100"}})
	require.Equal(t, 2.0, updated)
	_, updated, _ = eu.write(path+"/rows/update", object{"where": "region = 'us'", "set": object{"n": "0"}})
	require.Equal(t, 0.0, updated, "hidden rows are not met")
	inserted, updated, _ := eu.write(path+"/rows/merge", rowsOf(object{"id": 1, "n": 7}, object{"id": 4, "region": "eu"}))
	require.Equal(t, []float64{1, 1}, []float64{inserted, updated})
	// On columns that are no key a hidden row is none.
	_, updated, _ = eu.write(path+"/rows/merge", object{"on": list{"region"}, "rows": list{object{"region": "us", "n": 5}}, "when_not_matched": "ignore"})
	require.Equal(t, 0.0, updated)
	_, _, deleted := eu.write(path+"/rows/delete", object{"where": "id IN (2, 3)"})
	require.Equal(t, 1.0, deleted)
	require.Equal(t, list{list{1.0, "eu", "s1", 7.0}, list{2.0, "us", "s2", 2.0}, list{4.0, "eu", nil, nil}}, all(), "hidden columns keep their values")
	deny("/rows", rowsOf(object{"id": 20, "region": "eu", "no_such": 1}), 422, "invalid_value")

	s.member("viewer@acme.example", "viewer", map[string]string{"region": "eu"}).call("POST", path+"/rows", rowsOf(object{"id": 30, "region": "eu"})).problem(t, 403)
	s.admin.ok("DELETE", path, nil)
	eu.call("POST", path+"/rows", rowsOf(object{"id": 30, "region": "eu"})).problem(t, 404)
}

func TestOneOfManyInsertsOfAKeyWins(t *testing.T) {
	s := startServer(t, nil)
	path := s.create("t", nil, col("id", "long", "isPrimaryKey", true), col("by", "integer"))
	const writers = 50
	status := make(chan int, writers)
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			r := s.admin.call("POST", path+"/rows", rowsOf(object{"id": 1, "by": i}))
			if r.status == 409 && r.json(t)["code"] != "key_conflict" {
				r.status = 0
			}
			status <- r.status
		})
	}
	group.Wait()
	close(status)
	counts := map[int]int{}
	for got := range status {
		counts[got]++
	}
	require.Equal(t, map[int]int{200: 1, 409: writers - 1}, counts)
	require.Equal(t, 1.0, s.admin.count(s.schema+".t"))
	data, err := filepath.Glob(filepath.Join(s.root, "t", "*.parquet"))
	require.NoError(t, err)
	require.Len(t, data, 1, "files of writes that lost are gone")
}

func TestChangesThatRaceAreAllMade(t *testing.T) {
	s := startServer(t, nil)
	path := s.create("t", nil, col("id", "long", "isPrimaryKey", true), col("n", "integer"))
	s.admin.write(path+"/rows", rowsOf(object{"id": 1, "n": 0}))
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			s.admin.write(path+"/rows/update", object{"where": "id = 1", "set": object{"n": "n + 1"}})
			s.admin.write(path+"/rows/merge", rowsOf(object{"id": 100 + i, "n": i}))
		})
	}
	group.Wait()
	require.Equal(t, list{list{4.0}}, s.admin.rows("SELECT n FROM "+s.schema+".t WHERE id = 1"))
	require.Equal(t, 5.0, s.admin.count(s.schema+".t"))
}

func TestTablesThatWritesRefuse(t *testing.T) {
	s := startServer(t, nil)
	appendOnly := s.create("a", object{"properties": object{"delta.appendOnly": "true"}}, col("id", "long"))
	s.admin.write(appendOnly+"/rows", rowsOf(object{"id": 1}))
	for to, body := range map[string]any{
		"/rows/update": object{"where": "true", "set": object{"id": "2"}}, "/rows/delete": object{"where": "true"}, "/rows/merge": object{"on": list{"id"}, "rows": list{object{"id": 1}}},
	} {
		code, fields := s.admin.call("POST", appendOnly+to, body).problem(t, 409)
		require.Equal(t, "unsupported_table_feature", code)
		require.Equal(t, []string{"feature"}, fields)
	}
	require.Equal(t, 1.0, s.admin.count(s.schema+".a"))
}

func TestRowsAreWrittenToS3(t *testing.T) {
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	s := startS3Server(t)
	made := s.admin.ok("POST", configsPath, s3Body(store, bucket, object{"workspaceId": s.boot.WorkspaceID}))
	schema := made["schema"].(string)
	require.Equal(t, 201, s.admin.call("POST", "/v1/tables", s.newTable(schema, "t", object{"partition_by": list{"p"}}, col("id", "long", "isPrimaryKey", true), col("p", "string"))).status)
	path := "/v1/tables/lake/" + schema + "/t"
	s.admin.write(path+"/rows", rowsOf(object{"id": 1, "p": "a"}, object{"id": 2, "p": "b"}, object{"id": 3}))
	require.Equal(t, 3.0, s.admin.count(schema+".t"), "the next statement sees the commit")
	s.admin.write(path+"/rows/merge", rowsOf(object{"id": 2, "p": "c"}, object{"id": 4, "p": "a"}))
	s.admin.write(path+"/rows/update", object{"where": "id = 1", "set": object{"p": "'z'"}})
	s.admin.write(path+"/rows/delete", object{"where": "id = 3"})
	require.Equal(t, list{list{1.0, "z"}, list{2.0, "c"}, list{4.0, "a"}}, s.admin.rows("SELECT id, p FROM "+schema+".t ORDER BY id"))
	code, _ := s.admin.call("POST", path+"/rows", rowsOf(object{"id": 4})).problem(t, 409)
	require.Equal(t, "key_conflict", code)
}

func TestARepeatedRequestIsDoneOnce(t *testing.T) {
	s := startServer(t, nil)
	path := s.create("t", nil, col("id", "long"), col("n", "integer"))
	other := s.create("other", nil, col("id", "long"), col("n", "integer"))
	send := func(path, key string, body any) reply {
		return s.admin.call("POST", path, body, "Idempotency-Key", key)
	}
	same := func(want, got reply) {
		t.Helper()
		require.Equal(t, 200, got.status, "%s", got.body)
		require.JSONEq(t, string(want.body), string(got.body))
	}
	row := rowsOf(object{"id": 1, "n": 1})
	first := send(path+"/rows", "one", row)
	require.Equal(t, 200, first.status, "%s", first.body)
	same(first, send(path+"/rows", "one", row))
	for to, body := range map[string]any{path + "/rows": rowsOf(object{"id": 2}), other + "/rows": row, path + "/rows/merge?on=id": row} {
		code, _ := send(to, "one", body).problem(t, 422)
		require.Equal(t, "idempotency_key_reused", code)
	}
	updated := send(path+"/rows/update", "two", object{"where": "true", "set": object{"n": "n + 1"}})
	merged := send(path+"/rows/merge?on=id", "three", rowsOf(object{"id": 1, "n": 5}, object{"id": 7}))
	require.Equal(t, 1.0, merged.json(t)["updated"])
	deleted := send(path+"/rows/delete", "four", object{"where": "id = 7"})
	s.restart()
	repeat := func() {
		t.Helper()
		same(first, send(path+"/rows", "one", row))
		same(updated, send(path+"/rows/update", "two", object{"where": "true", "set": object{"n": "n + 1"}}))
		same(merged, send(path+"/rows/merge?on=id", "three", rowsOf(object{"id": 1, "n": 5}, object{"id": 7})))
		same(deleted, send(path+"/rows/delete", "four", object{"where": "id = 7"}))
	}
	repeat()
	// A server that ended between a commit and its reply left the commit only.
	store, err := s.openCatalog(context.Background())
	require.NoError(t, err)
	forgotten, err := store.ForgetWriteKeys(context.Background(), time.Now().Add(time.Hour))
	require.NoError(t, err)
	require.EqualValues(t, 4, forgotten)
	require.NoError(t, store.Close())
	repeat()
	require.Equal(t, list{list{1.0, 5.0}}, s.admin.rows("SELECT * FROM "+s.schema+".t"))

	replies := make(chan reply, 8)
	var group sync.WaitGroup
	for range cap(replies) {
		group.Go(func() { replies <- send(other+"/rows", "five", row) })
	}
	group.Wait()
	close(replies)
	versions := map[string]int{}
	for r := range replies {
		require.Equal(t, 200, r.status, "%s", r.body)
		versions[string(r.body)]++
	}
	require.Len(t, versions, 1)
	require.Equal(t, 1.0, s.admin.count(s.schema+".other"))
	require.Contains(t, []int{400, 422}, send(path+"/rows", strings.Repeat("k", 300), row).status)
}

// TestTwinRequestsAmongOthersAreDoneOnce sends every change twice at the same time,
// under one key, while others change the table too.
func TestTwinRequestsAmongOthersAreDoneOnce(t *testing.T) {
	s := startServer(t, nil)
	path := s.create("t", nil, col("id", "long"), col("n", "integer"))
	s.admin.write(path+"/rows", rowsOf(object{"id": 1, "n": 0}, object{"id": 2, "n": 0}))
	const rounds = 4
	var group sync.WaitGroup
	for round := range rounds {
		for range 3 {
			group.Go(func() {
				r := s.admin.call("POST", path+"/rows/update", object{"where": "id = 1", "set": object{"n": "n + 1"}}, "Idempotency-Key", "round"+strconv.Itoa(round))
				require.Contains(t, []int{200, 409}, r.status, "%s", r.body)
			})
		}
		group.Go(func() {
			s.admin.call("POST", path+"/rows/update", object{"where": "id = 2", "set": object{"n": "n + 1"}})
		})
		group.Wait()
		require.Equal(t, list{list{float64(round + 1)}}, s.admin.rows("SELECT n FROM "+s.schema+".t WHERE id = 1"), "round %d", round)
	}
}

func TestAWriteWhoseWorkerIsKilledLeavesAllOrNothing(t *testing.T) {
	s := startServer(t, nil)
	path := s.create("t", nil, col("id", "long", "isPrimaryKey", true), col("v", "string"))
	s.admin.write(path+"/rows", rowsOf(object{"id": -1}))
	var body strings.Builder
	const rows = 200_000
	for i := range rows {
		fmt.Fprintf(&body, "{\"id\":%d,\"v\":\"value %d\"}\n", i, i*7919%rows)
	}
	before := workerProcesses(t)
	done := make(chan reply, 1)
	go func() {
		done <- s.admin.call("POST", path+"/rows/merge", body.String(), "Content-Type", "application/x-ndjson")
	}()
	// The service session of the write makes its folder; then its process dies.
	require.Eventually(t, func() bool {
		found, err := filepath.Glob(filepath.Join(s.config.DataDir, "writes", "write-*", "d*"))
		hidden, hiddenErr := filepath.Glob(filepath.Join(s.config.DataDir, "writes", "write-*", ".*"))
		return err == nil && hiddenErr == nil && len(found)+len(hidden) > 0
	}, 30*time.Second, time.Millisecond)
	for _, pid := range append(before, workerProcesses(t)...) {
		n, err := strconv.Atoi(pid)
		require.NoError(t, err)
		_ = syscall.Kill(n, syscall.SIGKILL) // it may have ended
	}
	r := <-done
	count := s.admin.count(s.schema + ".t")
	if r.status == 200 {
		require.Equal(t, float64(rows+1), count)
	} else {
		code, _ := r.problem(t, 503)
		require.Equal(t, "engine_failed", code)
		require.Equal(t, 1.0, count)
	}
	inserted, _, _ := s.admin.write(path+"/rows", rowsOf(object{"id": rows + 1}))
	require.Equal(t, 1.0, inserted, "the next write has a new process")
}
