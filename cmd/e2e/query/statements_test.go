package query_test

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

func TestParameters(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	run := func(sql, parameters string) harness.Reply {
		return s.Admin.Call("POST", "/v1/query", fmt.Sprintf(`{"sql":%q,"parameters":%s}`, sql, parameters))
	}
	for _, c := range []struct{ sql, parameters, want string }{
		{"SELECT ? + ?", `[1, 2]`, `[[3]]`},
		{"SELECT $2 || $1", `["a", "b"]`, `[["ba"]]`},
		{"SELECT $name || $name", `{"name": "x"}`, `[["xx"]]`},
		{"SELECT ?", `[null]`, `[[null]]`},
		{"SELECT ?", `[true]`, `[[true]]`},
		{"SELECT ?", `[9007199254740993]`, `[[9007199254740993]]`},
		{"SELECT ?", `[-9223372036854775808]`, `[[-9223372036854775808]]`},
		{"SELECT ?::DECIMAL(38,9)", `["12345678901234567890.123456789"]`, `[["12345678901234567890.123456789"]]`},
		{"SELECT ?", `["'; DROP TABLE x; --"]`, `[["'; DROP TABLE x; --"]]`},
		{"SELECT ?::DATE + 1", `["2024-02-28"]`, `[["2024-02-29T00:00:00"]]`},
		{"SELECT 2 IN (SELECT unnest(?))", `[[1, 2, 3]]`, `[[true]]`},
		{"SELECT list_sum(?)", `[[1, 2, 3]]`, ``},
		{"SELECT 1", `[]`, `[[1]]`},
		{"SELECT 1", `{}`, `[[1]]`},
		{"SELECT 1", `null`, `[[1]]`},
	} {
		r := run(c.sql, c.parameters)
		require.Equal(t, 200, r.Status, "%s %s: %s", c.sql, c.parameters, r.Body)
		if c.want != "" && !strings.Contains(c.sql, "DATE") {
			require.Contains(t, string(r.Body), `"rows":`+c.want, "%s", c.sql)
		}
	}
	for _, c := range []struct {
		sql, parameters string
		status          int
		code            string
	}{
		{"SELECT ?", `[]`, 400, "invalid_parameter"},
		{"SELECT ? + ?", `[1]`, 400, "invalid_parameter"},
		{"SELECT ?", `[1, 2]`, 400, "invalid_parameter"},
		{"SELECT $a", `{"b": 1}`, 400, "invalid_parameter"},
		{"SELECT $a", `{"a": 1, "b": 2}`, 400, "invalid_parameter"},
		{"SELECT $a", `[1]`, 400, "invalid_parameter"},
		{"SELECT ?", `{"a": 1}`, 400, "invalid_parameter"},
		{"SELECT ?", `null`, 400, "invalid_parameter"},
		{"SELECT ?", `"x"`, 422, "invalid_field"},
		{"SELECT ?", `[{"a": 1}]`, 422, "invalid_field"},
		{"SELECT ?", `[[[1]]]`, 422, "invalid_field"},
		{"SELECT ?::INTEGER", `["x"]`, 422, "value_error"},
	} {
		r := run(c.sql, c.parameters)
		require.Equal(t, c.status, r.Status, "%s %s: %s", c.sql, c.parameters, r.Body)
		code, _ := r.Problem(t, c.status)
		require.Equal(t, c.code, code, "%s %s", c.sql, c.parameters)
	}
}

func TestNamesWithoutASchema(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("t", `SELECT 1 AS id`, nil, column{"id", "long"})
	require.Equal(t, 1.0, s.Admin.Count("t"), "the only schema needs no name")
	require.Equal(t, 1.0, s.Admin.Count("lake.main_data.t"))
	s.Admin.OK("POST", harness.ConfigsPath, harness.LocalConfig("second", "second"))
	code, _ := s.Admin.Query("SELECT * FROM t").Problem(t, 400)
	require.Equal(t, "table_not_found", code)
	for _, schema := range []string{s.Schema, "main_data"} {
		r := s.Admin.Call("POST", "/v1/query", map[string]any{"sql": "SELECT count(*) FROM t", "schema": schema})
		require.Equal(t, 200, r.Status, "%s", r.Body)
	}
	s.Admin.Call("POST", "/v1/query", map[string]any{"sql": "SELECT count(*) FROM t", "schema": "second"}).Problem(t, 400)
	s.Admin.Call("POST", "/v1/query", map[string]any{"sql": "SELECT count(*) FROM t", "schema": "no such"}).Problem(t, 400)
	s.Admin.Query("SELECT * FROM other.main_data.t").Problem(t, 400)
}

func TestTimeTravel(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	dir := s.Table("t", `SELECT i AS id FROM range(10) t(i)`, nil, column{"id", "long"})
	for range 3 {
		harness.AppendRows(t, dir, `SELECT i + 100 AS id FROM range(10) t(i)`)
	}
	table := s.Schema + ".t"
	versions := s.Admin.OK("GET", s.TablePath("t")+"/history", nil)["versions"].([]any)
	require.Len(t, versions, 5)
	for version, rows := range []float64{0, 10, 20, 30, 40} {
		require.Equal(t, rows, s.Admin.Count(fmt.Sprintf("%s AT (VERSION => %d)", table, version)), "version %d", version)
	}
	require.Equal(t, 40.0, s.Admin.Count(table))
	newest := versions[0].(map[string]any)["timestamp"].(string)
	at, err := time.Parse(time.RFC3339Nano, newest)
	require.NoError(t, err)
	require.Equal(t, 40.0, s.Admin.Count(fmt.Sprintf("%s AT (TIMESTAMP => '%s')", table, at.Add(time.Hour).Format("2006-01-02 15:04:05"))))
	require.Equal(t, []any{[]any{10.0}}, s.Admin.Rows(fmt.Sprintf("SELECT count(*) FROM %s a JOIN %s b AT (VERSION => 1) USING (id)", table,
		table)))
	for _, bad := range []string{"AT (VERSION => 5)", "AT (VERSION => 99999999999)", "AT (TIMESTAMP => '1970-01-01')"} {
		code, _ := s.Admin.Query("SELECT * FROM "+table+" "+bad).Problem(t, 404)
		require.Equal(t, "version_not_found", code, bad)
	}
	for _, bad := range []string{"AT (VERSION => -1)", "AT (VERSION => id)", "AT (VERSION => 'x')", "AT (TIMESTAMP => 'x')",
		"AT (VERSION => ?)"} {
		r := s.Admin.Query("SELECT * FROM " + table + " " + bad)
		require.Equal(t, 400, r.Status, "%s: %s", bad, r.Body)
	}
	// The filter of today holds on the rows of yesterday.
	s.Policy("t", "id", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"lt","value":3}}`)
	require.Equal(t, 3.0, s.Admin.Count(table+" AT (VERSION => 1)"))
}

func TestShowDescribeSummarize(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("b", `SELECT 1 AS id, 'x' AS word`, nil, column{"id", "long"}, column{"word", "string"})
	s.Table("a", `SELECT 1 AS id`, nil, column{"id", "long"})
	for _, sql := range []string{"SHOW TABLES", "SHOW TABLES FROM " + s.Schema, "SHOW ALL TABLES"} {
		r := s.Admin.Query(sql)
		require.Equal(t, 200, r.Status, "%s", r.Body)
		require.Contains(t, string(r.Body), `"a"`)
		require.Contains(t, string(r.Body), `"b"`)
	}
	rows := s.Admin.Rows("DESCRIBE " + s.Schema + ".b")
	require.Len(t, rows, 2)
	require.Equal(t, []any{"id", "BIGINT"}, rows[0].([]any)[:2])
	require.Len(t, s.Admin.Rows("SUMMARIZE "+s.Schema+".b"), 2)
	s.Admin.Query("SHOW TABLES FROM nowhere").Problem(t, 400)
}

func TestErrorsOfStatementsSayWhere(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("orders", `SELECT 1 AS id, 'x' AS customer`, nil, column{"id", "long"}, column{"customer", "string"})
	for _, c := range []struct{ sql, code, message string }{
		{"SELEC 1", "syntax_error", `line 1, column 1`},
		{"SELECT 1\nFROM\n  WHERE", "syntax_error", `line 3`},
		{"SELECT\n  custmer FROM orders", "column_not_found", `line 2, column 3: .*"custmer".*near: customer`},
		{"SELECT o.custmer FROM orders o", "column_not_found", `"custmer".*near: customer`},
		{"SELECT *\nFROM ordrs", "table_not_found", `line 2, column 6: .*"ordrs".*near: orders`},
		{"SELECT * FROM main_data.ordrs", "table_not_found", `line 1, column 15: .*near: orders`},
		{"SELECT * FROM elsewhere.orders", "table_not_found", `near: main_data\.orders`},
		{"SELECT no_such_function(1)", "function_not_found", `line 1, column 8`},
		{"SELECT read_text('/etc/passwd')", "function_not_", `line 1, column 8`},
		{"SELECT 1; SELECT 2", "statement_not_allowed", ``},
		{"DROP TABLE orders", "statement_not_allowed", ``},
		{"SELECT id || [1] FROM orders", "type_mismatch", `line 1, column 8: types do not fit; add a cast`},
		{"SELECT id\nFROM orders\nWHERE customer > 1", "type_mismatch", `line 3, column 16: types do not fit`},
		{"SELECT '€' AS e FROM orders WHERE customer > 1", "type_mismatch", `line 1, column 44: `},
		{"SELECT repeat(customer, 2) FROM orders WHERE CASE WHEN customer > 1 THEN true END", "type_mismatch", `line 1, column 65: `},
		{"SELECT current_user, id FROM orders o WHERE o.id IS NOT NULL AND true AND customer > 1", "type_mismatch", `line 1, column 84: `},
		{"WITH x AS (SELECT * FROM orders) SELECT id FROM x, (VALUES (1)) v(n)\nWHERE customer > 1", "type_mismatch", `line 2, column 16: `},
		{"SELECT 'a' + 1", "type_mismatch", `line 1, column 12: types do not fit: "\+"; add a cast`},
		{"SELECT abs('x')", "type_mismatch", `line 1, column 8: types do not fit: "abs"; add a cast`},
		{"SELECT abs(customer) FROM orders", "type_mismatch", `line 1, column 8: types do not fit: "abs"`},
		{"SELECT substr(customer) FROM orders", "type_mismatch", `line 1, column 8: types do not fit: "substr"`},
		{"SELECT id, count(*) FROM orders", "invalid_statement", `line 1, column 8: "id" is neither in GROUP BY nor in an aggregate`},
		{"SELECT id FROM orders ORDER BY 5", "invalid_statement", `line 1, column 32: there is no result column of that number`},
		{"SELECT id FROM orders GROUP BY 5", "invalid_statement", `there is no result column of that number`},
		{"SELECT sum(count(*)) FROM orders", "invalid_statement", `line 1, column 12: an aggregate or window function is nested in ` +
			`an aggregate; compute the inner one in a subquery`},
		{"SELECT id FROM orders WHERE count(*) > 1", "invalid_statement",
			`line 1, column 29: an aggregate is used where rows are not grouped yet; use HAVING or a subquery`},
		{"SELECT id FROM orders WHERE row_number() OVER () > 1", "invalid_statement",
			`line 1, column 29: a window function is used where .*; use QUALIFY or a subquery`},
		{"SELECT (SELECT 1, 2)", "invalid_statement", `line 1, column 8: a subquery used as a value has more than one column`},
		{"SELECT 1 UNION SELECT 1, 2", "invalid_statement", `the sides have different numbers of columns`},
		{"SELECT id FROM orders a, orders b", "ambiguous_name", `line 1, column 8: ambiguous column: "id"; near: a\.id, b\.id`},
		{"SELECT * FROM orders a JOIN orders b USING (nope)", "column_not_found", `column not found`},
		{"SELECT * EXCLUDE (custmer) FROM orders", "column_not_found", `"custmer".*near: customer`},
		{"PIVOT orders ON customer", "statement_not_allowed", `add IN \(…\)`},
		{"SELECT * FROM (PIVOT orders ON customer USING count(*))", "statement_not_allowed", `add IN \(…\)`},
		{"SELECT 'a' COLLATE xx", "type_not_allowed", `line 1, column \d+: there is no such collation: "xx"`},
		{"SELECT 'a'::ENUM('a')", "type_not_allowed", `line 1, column 11: the type ENUM is not served`},
		{"SELECT 1::DECIMAL(40,2)", "type_not_allowed", `line 1, column 9: .*at most 38`},
		{"SELECT lake.abs(1)", "column_not_found", `line 1, column 8: column not found: "lake"`},
		{"SELECT lake.main.abs(1)", "function_not_allowed", `line 1, column 8: `},
	} {
		r := s.Admin.Query(c.sql)
		require.Equal(t, 400, r.Status, "%s: %s", c.sql, r.Body)
		code, _ := r.Problem(t, 400)
		require.Contains(t, code, c.code, "%s: %s", c.sql, r.Body)
		text := strings.NewReplacer(`\"`, `"`, `\n`, " ").Replace(string(r.Body))
		require.Regexp(t, c.message, text, c.sql)
		require.NotContains(t, text, "LINE 1:", "the engine's words")
		require.NotContains(t, text, "src_")
	}
	for sql, code := range map[string]string{
		"SELECT customer::INTEGER FROM orders": "value_error", "SELECT 9223372036854775807 + id FROM orders": "value_error",
	} {
		got, _ := s.Admin.Query(sql).Problem(t, 422)
		require.Equal(t, code, got, sql)
	}
}

func TestASlowStatementEndsAtItsTime(t *testing.T) {
	s := harness.Shared(t)
	started := time.Now()
	r := s.Admin.Call("POST", "/v1/query",
		map[string]any{"sql": "SELECT count(*) FROM range(100000000) a(i), range(100000) b(j) WHERE i * j % 7 = 3", "timeout_ms": 200})
	code, _ := r.Problem(t, 422)
	require.Equal(t, "query_timeout", code)
	require.Less(t, time.Since(started), time.Minute)
	_, fields := s.Admin.Call("POST", "/v1/query", map[string]any{"sql": "SELECT 1", "timeout_ms": 99999999}).Problem(t, 422)
	require.Equal(t, []string{"timeout_ms"}, fields)
	require.Equal(t, []any{[]any{1.0}}, s.Admin.Rows("SELECT 1"))
}

// TestPagesOfRowsAreCompleteAndStable walks a table while another engine
// appends to it.
func TestPagesOfRowsAreCompleteAndStable(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	dir := s.Table("t", `SELECT i AS id, i % 7 AS part, 'w' || i AS word FROM range(1050) t(i)`, []string{"part"}, column{"id", "long"},
		column{"part", "long"}, column{"word", "string"})
	s.Policy("t", "id", `{"effect":"permit","subject":{"everyone":true},"condition":{"op":"gte","value":50}}`)
	path := s.TablePath("t") + "/rows"
	for _, order := range []string{"", "&order_by=id", "&order_by=part%20desc&order_by=id%20asc", "&order_by=part", "&order_by=part,word"} {
		seen := map[float64]int{}
		var ids []float64
		token, pages := "", 0
		for {
			r := s.Admin.Call("GET", path+"?page_size=100&select=id&select=part&page_token="+url.QueryEscape(token)+order, nil)
			require.Equal(t, 200, r.Status, "%s", r.Body)
			page := r.JSON(t)
			for _, row := range page["rows"].([]any) {
				id := row.([]any)[0].(float64)
				seen[id]++
				ids = append(ids, id)
			}
			pages++
			next, more := page["next_page_token"].(string)
			if !more {
				break
			}
			token = next
			if pages < 4 {
				harness.AppendRows(t, dir, `SELECT i AS id, 3 AS part, 'new' AS word FROM range(2000, 2050) t(i)`)
			}
		}
		if order == "&order_by=id" {
			for i := 1; i < len(ids); i++ {
				require.LessOrEqual(t, ids[i-1], ids[i])
			}
		}
		for id, times := range seen {
			require.True(t, times == 1 || id >= 2000, "%v came %d times, order %q", id, times, order)
		}
		require.GreaterOrEqual(t, len(seen), 1000)
		require.NotContains(t, seen, 49.0)
	}
	for _, list := range []string{"select=part,id", "select=part&select=id", "select=part, id"} {
		got := s.Admin.OK("GET", path+"?page_size=1&order_by=id&"+strings.ReplaceAll(list, " ", "%20"), nil)
		require.Equal(t, []any{[]any{1.0, 50.0}}, got["rows"], list)
	}
	got := s.Admin.OK("GET", path+"?where="+url.QueryEscape("word = 'w77'"), nil)
	require.Equal(t, []any{[]any{77.0, 0.0, "w77"}}, got["rows"])
	for _, bad := range []string{"id = 1) OR (1=1", "id = 1; DROP TABLE t", "1=1 UNION SELECT 1", "id = (SELECT", "id = 1 -- x\n) --"} {
		r := s.Admin.Call("GET", path+"?where="+url.QueryEscape(bad), nil)
		require.Contains(t, []int{400, 422}, r.Status, "%s: %s", bad, r.Body)
		r.Problem(t, r.Status)
	}
	code, _ := s.Admin.Call("GET", path+"?order_by=nope", nil).Problem(t, 400)
	require.Equal(t, "column_not_found", code)
	s.Admin.Call("GET", path+"?select=nope", nil).Problem(t, 400)
	first := s.Admin.OK("GET", path+"?page_size=10", nil)["next_page_token"].(string)
	_, fields := s.Admin.Call("GET", path+"?page_size=10&where=1%3D1&page_token="+url.QueryEscape(first), nil).Problem(t, 422)
	require.Equal(t, []string{"page_token"}, fields, "a token belongs to its request")
	r := s.Admin.Call("GET", path+"?page_size=10", nil, "Accept", "text/csv")
	require.Equal(t, http.StatusOK, r.Status)
	require.Equal(t, 11, strings.Count(string(r.Body), "\n"))
}

// TestACommitOfAnotherEngineIsSeenByTheNextStatement appends with delta-rs.
func TestACommitOfAnotherEngineIsSeenByTheNextStatement(t *testing.T) {
	t.Parallel()
	python := harness.DeltaPython(t)
	s := harness.Shared(t)
	s.Table("t", `SELECT i AS id, 'w' || i AS word FROM range(10) t(i)`, nil, column{"id", "long"}, column{"word", "string"})
	require.Equal(t, 10.0, s.Admin.Count(s.Schema+".t"))
	for i := 1; i <= 3; i++ {
		python(`
import sys, pyarrow as pa
from deltalake import write_deltalake
write_deltalake(sys.argv[1], pa.table({"id": pa.array([100, 101], pa.int64()), "word": ["a", None]}), mode="append")`,
			filepath.Join(s.Root, "t"))
		require.Equal(t, float64(10+2*i), s.Admin.Count(s.Schema+".t"))
	}
	require.Contains(t, string(s.Admin.Call("GET", s.TablePath("t")+"/history", nil).Body), "delta-rs")
	python(`
import sys
from deltalake import DeltaTable
DeltaTable(sys.argv[1]).delete("id >= 100")`, filepath.Join(s.Root, "t"))
	require.Equal(t, 10.0, s.Admin.Count(s.Schema+".t"))
}

func TestTheInformationSchemaShowsWhatTheCallerSees(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("b", `SELECT 1 AS id, 'x' AS word`, nil, column{"id", "long"}, column{"word", "string"})
	s.Table("a", `SELECT 1 AS id`, nil, column{"id", "long"})
	tables := "SELECT table_schema, table_name, table_type FROM information_schema.tables ORDER BY ALL"
	require.Equal(t, []any{[]any{s.Schema, "a", "BASE TABLE"}, []any{s.Schema, "b", "BASE TABLE"}}, s.Admin.Rows(tables))
	require.Equal(t, []any{[]any{"a", "id", 1.0, "BIGINT"}, []any{"b", "id", 1.0, "BIGINT"}, []any{"b", "word", 2.0, "VARCHAR"}},
		s.Admin.Rows("SELECT table_name, column_name, ordinal_position, data_type FROM lake.information_schema.columns"))
	require.Equal(t, []any{[]any{2.0}}, s.Admin.Rows(`SELECT count(*) FROM information_schema.schemata`))
	require.Equal(t, []any{[]any{1.0}}, s.Admin.Rows(`SELECT count(*) FROM information_schema.columns c JOIN `+s.Schema+
		`.a t ON c.ordinal_position = t.id AND c.table_name = 'a'`))

	// A personal configuration of somebody else is not there.
	member := s.Member("reader@demo.example", "viewer", nil)
	s.Admin.OK("POST", harness.ConfigsPath, harness.LocalConfig("mine", "mine"))
	require.Equal(t, []any{[]any{3.0}}, s.Admin.Rows(`SELECT count(*) FROM information_schema.schemata`))
	require.Equal(t, []any{[]any{2.0}}, member.Rows(`SELECT count(*) FROM information_schema.schemata`))

	code, _ := s.Admin.Query("SELECT * FROM information_schema.table").Problem(t, 400)
	require.Equal(t, "table_not_found", code)
	code, _ = s.Admin.Query("SELECT * FROM information_schema.tables AT (VERSION => 1)").Problem(t, 404)
	require.Equal(t, "version_not_found", code)
}

func TestALongStatementIsRefusedWithItsLimit(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	for _, letter := range []string{"a", "€"} {
		r := s.Admin.Query("SELECT '" + strings.Repeat(letter, 262_000) + strings.Repeat(" ", 200) + "'" + strings.Repeat(" ", 100))
		code, fields := r.Problem(t, 422)
		require.Equal(t, "invalid_field", code)
		require.Equal(t, []string{"sql"}, fields)
		require.Contains(t, r.Details(t)["sql"], "262144")
	}
}
