package sqlguard

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb/sandbox"
	"github.com/lakewarden/lakewarden/engine/sqlguard/leakproof"
)

// streamConditions are conditions under which rows of one table pass one by one.
func streamConditions() []string {
	out := []string{
		"id = id", "id < 40", "v_s LIKE 'd%' OR v_i32 IN (1, 2, 3, 4)", "v_i64 BETWEEN 10 AND 250 AND NOT v_b", "coalesce(v_s, '') <> 'x,y'",
		"v_i32 = 1 OR v_i32 = 2 OR v_i32 = 3 OR v_i32 = 4 OR v_i32 = 5 OR v_i32 = 6 OR v_f > 3",
		"v_i32 IN (1, 2, 3) OR v_i32 IN (4, 5, 6) OR v_i32 NOT IN (7, 8)", "CASE WHEN v_dec > 20 THEN v_b ELSE v_d < DATE '2020-03-01' END",
	}
	for _, kind := range []string{"integer", "decimal", "double", "text", "date", "timestamp", "instant", "boolean"} {
		for _, c := range ofKind(kind) {
			out = append(out, c+" IS DISTINCT FROM "+ofKind(kind)[0])
		}
	}
	return out
}

var streamResults = []string{"*", "id, v_f", "v_i32 * 1.5, lower(v_s)", "v_d, v_bin, x_s", "'x'"}

// TestStreamedStatements: rows that pass one by one need no sorting. They come in
// the order of copies, in batches that do not tell of what was left out.
func TestStreamedStatements(t *testing.T) {
	for _, threads := range []int{1, 2} {
		w := newTwoWorlds(t, threads)
		for i, condition := range streamConditions() {
			text := "SELECT " + streamResults[i%len(streamResults)] + " FROM t WHERE " + condition
			plan, reason := w.plain(t, leakproof.Default, text, 1)
			require.NotNil(t, plan, "%s: %s", text, reason)
			require.True(t, plan.Rebatch)
			_, differs, detail := w.differ(t, leakproof.Default, text)
			require.False(t, differs, detail)
			q, err := Parse(t.Context(), testParser(), text, Options{})
			require.NoError(t, err)
			copies, err := q.Bind(t.Context(), testParser(), w.relations(q, 1))
			require.NoError(t, err)
			require.NotEmpty(t, copies.Barriers)
			copies.Rebatch = true
			plan, _ = w.plain(t, leakproof.Default, text, 1)
			require.Equal(t, w.answers(t, copies, 1), w.answers(t, plan, 1), text)
		}
	}
}

// TestStreamedStatementsHaveNoJoin: the engine does nothing with the rows that
// could change their order.
func TestStreamedStatementsHaveNoJoin(t *testing.T) {
	w := newTwoWorlds(t, 2)
	db, err := sql.Open("duckdb", "")
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	run := func(text string) {
		_, err := conn.ExecContext(t.Context(), text)
		require.NoError(t, err, text)
	}
	run("SET disabled_optimizers=" + engine.QuoteString(strings.Join(sandbox.DisabledOptimizers, ",")))
	run("SET TimeZone='UTC'")
	operators := func(plan *Plan) []string {
		src := plan.Sources[0]
		_, _, view := src.Name()
		run("CREATE OR REPLACE TEMP VIEW " + engine.QuoteIdent(view) + " AS SELECT * FROM read_parquet(" +
			engine.QuoteString(filepath.Join(src.Location, "t*.parquet")) + ")")
		var key, text string
		require.NoError(t, conn.QueryRowContext(t.Context(), "EXPLAIN (FORMAT json) "+plan.SQL).Scan(&key, &text))
		var tree []planNode
		require.NoError(t, json.Unmarshal([]byte(text), &tree))
		return names(tree)
	}
	allowed := []string{"PROJECTION", "FILTER", "READ_PARQUET", "READ_PARQUET ", "EMPTY_RESULT", "TABLE_SCAN"}
	for i, condition := range streamConditions() {
		for w.turn = range policies {
			plan, _ := w.plain(t, leakproof.Default, "SELECT "+streamResults[i%len(streamResults)]+" FROM t WHERE "+condition, 1)
			for _, name := range operators(plan) {
				require.Contains(t, allowed, strings.TrimSpace(name), plan.SQL)
			}
		}
	}
	// What is kept out would be a join.
	plan, _ := w.plain(t, leakproof.Default, "SELECT id FROM t WHERE id > 0", 1)
	plan.SQL = strings.Replace(plan.SQL, "(id > 0)", "(id IN (1, 2, 3, 4, 5) OR v_f > 3)", 1)
	plan.SQL = strings.Replace(plan.SQL, `"t".id`, `"t".id, "t".v_f`, 1)
	plan.SQL = strings.Replace(plan.SQL, "SELECT t.id", "SELECT t.id, t.v_f", 1)
	require.True(t, slices.ContainsFunc(operators(plan), func(n string) bool { return strings.Contains(n, "JOIN") }), plan.SQL)
}

type planNode struct {
	Name     string
	Children []planNode
}

func names(nodes []planNode) []string {
	var out []string
	for _, n := range nodes {
		out = append(append(out, n.Name), names(n.Children)...)
	}
	return out
}

// TestStatementsThatDoNotStream: whatever may change the order of rows, a long
// list in a policy included.
func TestStatementsThatDoNotStream(t *testing.T) {
	w := newTwoWorlds(t, 1)
	for _, text := range []string{
		"SELECT id FROM t WHERE v_i32 IN (1, 2, 3, 4, 5)", "SELECT id, v_i32 NOT IN (1, 2, 3, 4, 5) FROM t", "SELECT id FROM t LIMIT 3",
		"SELECT id FROM t WHERE EXISTS (SELECT 1 FROM d)", "SELECT id, (SELECT max(id) FROM d) FROM t", "SELECT a.id FROM t a, d b",
		"SELECT id FROM (SELECT id FROM t) q", "WITH w AS (SELECT id FROM d) SELECT id FROM t", "WITH w AS (SELECT id FROM t) SELECT id FROM w",
	} {
		q := parseFor(t, text)
		reason, ok := q.LeakProof(w.relations(q, 0), noArgs)
		require.False(t, ok, text)
		require.Equal(t, "no order", reason, text)
	}
	q := parseFor(t, "SELECT id FROM t")
	for items, plain := range map[int]bool{leakproof.MaxInRow: true, leakproof.MaxInRow + 1: false} {
		relations := w.relations(q, 0)
		list := strings.TrimSuffix(strings.Repeat("'a', ", items), ", ")
		relations[0].Predicate = fmt.Sprintf(`"t"."tenant" IN (%s)`, list)
		prepared, err := q.preparePlain(t.Context(), testParser(), relations, nil)
		require.NoError(t, err)
		require.Equal(t, plain, prepared != nil)
	}
}
