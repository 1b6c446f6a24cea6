package sqlguard_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
	"github.com/lakewarden/lakewarden/engine/sqlguard/grammar"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

func TestTableReferences(t *testing.T) {
	q, err := parse(t, "SELECT *\nFROM lake.s.t AS x AT (VERSION => 3)\n  JOIN é.u AT (TIMESTAMP => TIMESTAMP '2024-01-31 12:00:00+02') "+
		"USING (a), v")
	require.NoError(t, err)
	three := int64(3)
	at := time.Date(2024, 1, 31, 10, 0, 0, 0, time.UTC)
	require.Equal(t, []sqlguard.TableRef{
		{Catalog: "lake", Schema: "s", Name: "t", Alias: "x", AtVersion: &three, Position: refusal.Position{Line: 2, Column: 6}},
		{Schema: "é", Name: "u", Alias: "u", AtTimestamp: &at, Position: refusal.Position{Line: 3, Column: 8}},
		{Name: "v", Alias: "v", Position: refusal.Position{Line: 3, Column: 76}},
	}, q.Tables())
}

func TestTimeTravelLeavesTheTree(t *testing.T) {
	for _, at := range []string{"VERSION => 0", "TIMESTAMP => '2024-01-31'", "TIMESTAMP => DATE '2024-01-31'",
		"TIMESTAMP => '2024-01-31T10:00:00Z'"} {
		q, err := parse(t, "SELECT * FROM t AT ("+at+")")
		require.NoError(t, err, at)
		plan, err := q.Bind(t.Context(), sharedParser(), []sqlguard.Relation{{Columns: []engine.Column{{Name: "a", Type: sqltype.Integer}},
			Source: source("t")}})
		require.NoError(t, err)
		require.NotContains(t, plan.SQL, "AT (")
	}
}

func TestParameters(t *testing.T) {
	for text, want := range map[string]sqlguard.Parameters{
		"SELECT 1":                              {Named: []string{}},
		"SELECT ?, ?":                           {Positional: 2, Named: []string{}},
		"SELECT $2, $1, $2 LIMIT $3":            {Positional: 3, Named: []string{}},
		"SELECT $b, $a, $b":                     {Named: []string{"a", "b"}},
		"SELECT * FROM (SELECT ? AS x) WHERE x": {Positional: 1, Named: []string{}},
	} {
		q, err := parse(t, text)
		require.NoError(t, err, text)
		require.Equal(t, want, q.Parameters(), text)
	}
}

func TestParametersSurviveBinding(t *testing.T) {
	w := newWorld(t, shopSetup, shopPredicates)
	plan := w.bind(t, "SELECT count(*), repeat('x', $2), lpad('y', $2, 'z') FROM orders WHERE amount > $1 OR id = $2 GROUP BY ALL", false)
	var n int
	var s, p string
	require.NoError(t, w.guarded.QueryRowContext(t.Context(), plan.SQL, 190.5, 3).Scan(&n, &s, &p))
	require.Equal(t, "xxx", s)
	require.Equal(t, "zzy", p)
	require.Positive(t, n)
}

func TestKinds(t *testing.T) {
	for text, want := range map[string]sqlguard.Kind{
		"SELECT 1": sqlguard.KindSelect, "DESCRIBE t": sqlguard.KindSelect, "SUMMARIZE t": sqlguard.KindSelect,
		"EXPLAIN SELECT 1": sqlguard.KindExplain, " -- c\n explain /* x /* y */ */ FROM t": sqlguard.KindExplain,
		"SHOW TABLES": sqlguard.KindShowTables, "SHOW TABLES FROM lake.s": sqlguard.KindShowTables, "SHOW ALL TABLES": sqlguard.KindShowAllTables,
	} {
		q, err := parse(t, text)
		require.NoError(t, err, text)
		require.Equal(t, want, q.Kind(), text)
	}
	q, err := parse(t, "SHOW TABLES FROM lake.s")
	require.NoError(t, err)
	catalog, schema := q.ShowSchema()
	require.Equal(t, []string{"lake", "s"}, []string{catalog, schema})
	_, err = q.Bind(t.Context(), sharedParser(), nil)
	require.Equal(t, refusal.CodeStatement, codeOf(err))
}

func TestErrorsPointAtTheText(t *testing.T) {
	for text, want := range map[string]refusal.Error{
		"SELECT 'é',\n  lowr(x)":       {Code: refusal.CodeFunctionUnknown, Line: 2, Column: 3, Name: "lowr"},
		"SELECT a,\n'é', FROM FROM t":  {Code: refusal.CodeSyntax, Line: 2, Column: 11, Name: "FROM"},
		"EXPLAIN SELECT write_blob(x)": {Code: refusal.CodeFunction, Line: 1, Column: 16, Name: "write_blob"},
		"SELECT x::BIGNUM":             {Code: refusal.CodeType, Line: 1, Column: 9, Name: "BIGNUM"},
	} {
		_, err := parse(t, text)
		var got *refusal.Error
		require.ErrorAs(t, err, &got, text)
		require.Equal(t, []any{want.Code, want.Line, want.Column, want.Name}, []any{got.Code, got.Line, got.Column, got.Name}, "%s: %v", text,
			got)
	}
	_, err := parse(t, "SELECT lowr(x)")
	var got *refusal.Error
	require.ErrorAs(t, err, &got)
	require.Contains(t, got.Near, "lower")
	require.LessOrEqual(t, len(got.Near), 3)
}

func TestNames(t *testing.T) {
	q, err := parse(t, "SELECT a,\n  t.b, A FROM t WHERE lower(c) = 'x'")
	require.NoError(t, err)
	names := q.Names()
	require.Equal(t, []refusal.Position{{Line: 1, Column: 8}, {Line: 2, Column: 8}}, names["a"])
	require.Equal(t, []refusal.Position{{Line: 2, Column: 3}}, names["b"])
	require.Equal(t, []refusal.Position{{Line: 2, Column: 3}}, names["t.b"])
	require.Equal(t, []refusal.Position{{Line: 2, Column: 29}}, names["c"])
	require.Equal(t, refusal.Position{Line: 2, Column: 3}, q.Position("B"))
	require.Equal(t, refusal.Position{}, q.Position("nosuch"))
}

func TestConstantsOfTheSession(t *testing.T) {
	w := newWorld(t, shopSetup, shopPredicates)
	opts := sqlguard.Options{Catalog: "lake", Schema: "cfg_1", User: "ann", Version: "L 1"}
	text := "SELECT current_user, user, session_user, current_user(), upper(current_user), current_catalog, current_database(), " +
		"current_schema, current_schema(), current_schemas(true), version() FROM orders LIMIT 1"
	q, err := sqlguard.Parse(t.Context(), sharedParser(), text, opts)
	require.NoError(t, err)
	plan, err := q.Bind(t.Context(), sharedParser(), w.relations(t, q, false))
	require.NoError(t, err)
	got, err := w.run(t, plan)
	require.NoError(t, err)
	want, err := runSQL(t, w.plain, text)
	require.NoError(t, err)
	require.Equal(t, want.Names, got.Names)
	require.Equal(t, want.Types, got.Types)
	require.Equal(t, `[]string{"string ann", "string ann", "string ann", "string ann", "string ANN", "string lake", "string lake", "string `+
		`cfg_1", "string cfg_1", "[]interface {} [cfg_1]", "string L 1"}`, got.Rows[0])

	// A column of that name wins, as in the engine.
	for _, s := range []string{`SELECT "user" FROM (SELECT 7 AS "user")`, `WITH c("user") AS (SELECT 7) SELECT user FROM c`} {
		got, err := w.run(t, w.bind(t, s, false))
		require.NoError(t, err)
		require.Equal(t, []string{`[]string{"int32 7"}`}, got.Rows, s)
	}
}

func TestNondeterministic(t *testing.T) {
	for text, want := range map[string]bool{
		"SELECT 1": false, "SELECT random()": true, "SELECT now()": true, "SELECT current_date": true, "SELECT current_timestamp": true,
		"SELECT 1 WHERE EXISTS (SELECT uuid())": true, "FROM t TABLESAMPLE 5%": true, "FROM t USING SAMPLE 5": true,
		"SELECT abs(a) FROM t": false,
	} {
		q, err := parse(t, text)
		require.NoError(t, err)
		require.Equal(t, want, q.Nondeterministic(), text)
	}
}

// TestSamplesAreTakenRowByRow: no sample of the statement is left that takes
// whole row groups.
func TestSamplesAreTakenRowByRow(t *testing.T) {
	w := newWorld(t, shopSetup, shopPredicates)
	for text, samples := range map[string]int{
		"SELECT id FROM orders TABLESAMPLE 50%":                                                                 1,
		"SELECT id FROM orders TABLESAMPLE SYSTEM (50%) REPEATABLE (7)":                                         1,
		"SELECT id FROM orders USING SAMPLE 50%":                                                                1,
		"SELECT id FROM orders USING SAMPLE 50% (system, 7)":                                                    1,
		"SELECT id FROM (SELECT id FROM orders TABLESAMPLE 50%) x TABLESAMPLE 50%":                              2,
		"SELECT * FROM range(100) TABLESAMPLE 50%":                                                              1,
		"SELECT * FROM (VALUES (1), (2)) v TABLESAMPLE 50%":                                                     1,
		"WITH c AS (FROM orders TABLESAMPLE 50%) SELECT (SELECT count(*) FROM c TABLESAMPLE SYSTEM (50%)) AS n": 2,
	} {
		for _, filtered := range []bool{false, true} {
			plan := w.bind(t, text, filtered)
			require.NotContains(t, strings.ToLower(plan.SQL), "system", text)
			require.Equal(t, samples, strings.Count(strings.ToLower(plan.SQL), "bernoulli"), plan.SQL)
			_, err := w.run(t, plan)
			require.NoError(t, err, text)
		}
	}
}

// TestLimits checks each cap on both sides.
func TestLimits(t *testing.T) {
	try := func(limits grammar.Limits, text string) refusal.Code {
		_, err := sqlguard.Parse(t.Context(), sharedParser(), text, sqlguard.Options{Limits: limits})
		return codeOf(err)
	}
	require.Empty(t, try(grammar.Limits{Bytes: 8}, "SELECT 1"))
	require.Equal(t, refusal.CodeTooLarge, try(grammar.Limits{Bytes: 7}, "SELECT 1"))
	require.Empty(t, try(grammar.Limits{ListItems: 4}, "SELECT 1 IN (1, 2, 3)"))
	require.Equal(t, refusal.CodeTooComplex, try(grammar.Limits{ListItems: 3}, "SELECT 1 IN (1, 2, 3)"))
	require.Empty(t, try(grammar.Limits{Identifier: 40}, `SELECT 1 AS "`+strings.Repeat("é", 20)+`"`))
	require.Equal(t, refusal.CodeTooComplex, try(grammar.Limits{Identifier: 40}, `SELECT 1 AS "`+strings.Repeat("é", 20)+`x"`))
	require.Empty(t, try(grammar.Limits{Depth: 60}, "SELECT "+strings.Repeat("abs(", 10)+"1"+strings.Repeat(")", 10)))
	require.Equal(t, refusal.CodeTooComplex, try(grammar.Limits{Depth: 60}, "SELECT "+strings.Repeat("abs(", 40)+"1"+strings.Repeat(")", 40)))
	require.Empty(t, try(grammar.Limits{Nodes: 100}, "SELECT 1"))
	require.Equal(t, refusal.CodeTooComplex, try(grammar.Limits{Nodes: 100}, "SELECT "+strings.Repeat("1, ", 100)+"1"))
}

// TestBindIsRepeatable: a query is bound for several principals at once.
func TestBindIsRepeatable(t *testing.T) {
	w := newWorld(t, shopSetup, shopPredicates)
	text := "SELECT c.name, repeat(c.name, o.id % 2), current_user FROM lake.main.customers c JOIN orders o ON lake.main.orders.id = 1 OR " +
		"o.customer_id = c.id AND o.status = 'open'"
	q, err := parse(t, text)
	require.NoError(t, err)
	first, err := q.Bind(t.Context(), sharedParser(), w.relations(t, q, true))
	require.NoError(t, err)
	done := make(chan *sqlguard.Plan)
	for i := range 8 {
		go func() {
			plan, _ := q.Bind(t.Context(), sharedParser(), w.relations(t, q, i%2 == 0))
			done <- plan
		}()
	}
	for range 8 {
		plan := <-done
		require.NotNil(t, plan)
		if plan.ReadsFiltered {
			require.Equal(t, first, plan)
		}
	}
}
