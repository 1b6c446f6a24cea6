package sqlguard_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
)

// predicateConditions is what predicates of test tables tell pruning.
var predicateConditions = map[string]engine.Condition{
	shopPredicates["customers"]: engine.AnyOf(when("country", engine.ConditionIn, "FR", "DE"), when("id", engine.ConditionLess, "10")),
	shopPredicates["orders"]:    engine.AnyOf(when("status", engine.ConditionNotEqual, "done"), when("id", engine.ConditionLess, "20")),
	shopPredicates["items"]:     when("sku", engine.ConditionNotEqual, "sku4"),
	joinPredicates["a"]:         when("k", engine.ConditionGreater, "0"),
	joinPredicates["b"]:         when("d", engine.ConditionLessOrEqual, "2024-01-02"),
	joinPredicates["e"]:         when("s", engine.ConditionNotEqual, "s1"),
	tpchPredicates["customer"]:  when("c_nationkey", engine.ConditionLess, "15"),
	tpchPredicates["supplier"]:  when("s_acctbal", engine.ConditionGreater, "-500"),
}

// narrowed lets relations read exactly the rows that fulfil a condition, and
// none of the others, which is the most that pruning can leave out.
func (w *world) narrowed(t testing.TB, relations []sqlguard.Relation) {
	t.Helper()
	for i := range relations {
		r := &relations[i]
		if r.Filtered {
			r.Condition = predicateConditions[r.Predicate]
			r.Shielded = len(w.asked)%2 == 0
		}
		whole := r.Source
		r.Narrow = func(visible, asked engine.Condition) engine.Source {
			c := engine.AllOf(visible, asked)
			w.asked = append(w.asked, c)
			address, err := json.Marshal(c)
			require.NoError(t, err)
			out := whole
			out.Files = engine.NewFileList(r.Columns, true, []engine.FileGroup{{Paths: []string{string(address)}}})
			_, _, view := out.Name()
			mustExec(t, w.guarded, "CREATE OR REPLACE TEMP VIEW "+engine.QuoteIdent(view)+" AS SELECT * FROM "+whole.Relation()+
				" WHERE "+conditionSQL(c, r.Columns))
			return out
		}
	}
}

var conditionSigns = map[engine.ConditionOp]string{
	engine.ConditionEqual: "=", engine.ConditionNotEqual: "<>", engine.ConditionLess: "<", engine.ConditionLessOrEqual: "<=",
	engine.ConditionGreater: ">", engine.ConditionGreaterOrEqual: ">=",
}

// conditionSQL says in SQL what the contract says of a condition.
func conditionSQL(c engine.Condition, columns []engine.Column) string {
	typ := ""
	for _, col := range columns {
		if col.Name == c.Column {
			typ = col.Type.String()
		}
	}
	values := make([]string, len(c.Values))
	for i, v := range c.Values {
		text := string(v)
		if typ == "TIMESTAMP WITH TIME ZONE" {
			text += "+00"
		}
		values[i] = "CAST(" + engine.QuoteString(text) + " AS " + typ + ")"
	}
	parts := make([]string, len(c.Children))
	for i, part := range c.Children {
		parts[i] = "(" + conditionSQL(part, columns) + ")"
	}
	name := engine.QuoteIdent(c.Column)
	switch c.Op {
	case engine.ConditionUnknown:
		return "true"
	case engine.ConditionNever:
		return "false"
	case engine.ConditionAnd:
		return strings.Join(parts, " AND ")
	case engine.ConditionOr:
		return strings.Join(parts, " OR ")
	case engine.ConditionIn:
		return name + " IN (" + strings.Join(values, ", ") + ")"
	case engine.ConditionIsNull:
		return name + " IS NULL"
	case engine.ConditionIsNotNull:
		return name + " IS NOT NULL"
	}
	return name + " " + conditionSigns[c.Op] + " " + values[0]
}

func when(column string, op engine.ConditionOp, values ...engine.ConditionValue) engine.Condition {
	return engine.Condition{Op: op, Column: column, Values: values}
}

// askedFor returns what the statement's tables were asked for.
func (w *world) askedFor(t *testing.T, statement string, relations func([]sqlguard.Relation)) ([]engine.Condition, *sqlguard.Plan) {
	t.Helper()
	q, err := parse(t, statement)
	require.NoError(t, err)
	list := w.relations(t, q, false)
	relations(list)
	w.narrowed(t, list)
	w.asked = nil
	plan, err := q.Bind(t.Context(), sharedParser(), list)
	require.NoError(t, err)
	return w.asked, plan
}

func unchanged([]sqlguard.Relation) {}

// TestConditionsForDataSkipping lists what the tables of statements are asked
// for.
func TestConditionsForDataSkipping(t *testing.T) {
	w := newWorld(t, shopSetup, shopPredicates)
	for statement, want := range map[string][]engine.Condition{
		"SELECT * FROM orders":                          {{}},
		"SELECT * FROM orders WHERE id = -5":            {when("id", engine.ConditionEqual, "-5")},
		"SELECT * FROM orders WHERE 5 > id":             {when("id", engine.ConditionLess, "5")},
		"SELECT * FROM orders WHERE amount >= 9.50":     {when("amount", engine.ConditionGreaterOrEqual, "9.50")},
		"SELECT * FROM orders WHERE id = 5 OR id = 6":   {{}},
		"SELECT * FROM orders WHERE note IS NULL":       {when("note", engine.ConditionIsNull)},
		"SELECT * FROM items WHERE price = 5":           {{}}, // floating point has no text that is exact
		"SELECT * FROM events WHERE flag":               {{}},
		"SELECT * FROM events WHERE flag = true":        {when("flag", engine.ConditionEqual, "true")},
		"SELECT * FROM events WHERE kind IN ('a','''')": {when("kind", engine.ConditionIn, "a", "'")},
		"SELECT * FROM orders WHERE placed BETWEEN DATE '2024-01-02' AND '2024-01-03T10:00:00.5'": {engine.AllOf(
			when("placed", engine.ConditionGreaterOrEqual, "2024-01-02 00:00:00"),
			when("placed", engine.ConditionLessOrEqual, "2024-01-03 10:00:00.5"))},
		"SELECT * FROM events WHERE seen < '2024-01-01 01:00:00+02'":            {when("seen", engine.ConditionLess, "2023-12-31 23:00:00")},
		"SELECT * FROM events WHERE seen < TIMESTAMP '2024-01-01 01:00:00'":     {when("seen", engine.ConditionLess, "2024-01-01 01:00:00")},
		"SELECT * FROM orders TABLESAMPLE 50% WHERE id = 5":                     {{}},
		"SELECT * FROM customers c LEFT JOIN orders o ON c.id = 1 AND o.id = 2": {{}, when("id", engine.ConditionEqual, "2")},
		"SELECT * FROM customers WHERE id = 1 UNION ALL SELECT * FROM customers WHERE signup < '2020-02-01'": {
			when("id", engine.ConditionEqual, "1"), when("signup", engine.ConditionLess, "2020-02-01")},
	} {
		t.Run(statement, func(t *testing.T) {
			got, plan := w.askedFor(t, statement, unchanged)
			require.Equal(t, want, got)
			require.Len(t, plan.Sources, len(want))
		})
	}
}

// TestPolicyConditionIsAlwaysAsked: NoPushdown and samples leave out what the
// statement says, never what the policy says.
func TestPolicyConditionIsAlwaysAsked(t *testing.T) {
	w := newWorld(t, shopSetup, shopPredicates)
	policy, statement := predicateConditions[shopPredicates["orders"]], when("id", engine.ConditionEqual, "5")
	require.NotZero(t, policy)
	filter := func(keep bool) func([]sqlguard.Relation) {
		return func(r []sqlguard.Relation) {
			r[0].Filtered, r[0].Predicate, r[0].NoPushdown = true, shopPredicates["orders"], keep
		}
	}
	got, plan := w.askedFor(t, "SELECT * FROM orders WHERE id = 5", filter(false))
	require.Equal(t, []engine.Condition{engine.AllOf(policy, statement)}, got)
	require.Contains(t, plan.Barriers[0].SQL, plan.Sources[0].Relation())
	require.NotNil(t, plan.Barriers[0].Source.Files)
	got, _ = w.askedFor(t, "SELECT * FROM orders WHERE id = 5", filter(true))
	require.Equal(t, []engine.Condition{policy}, got)
	got, _ = w.askedFor(t, "SELECT * FROM orders TABLESAMPLE 50% WHERE id = 5", filter(false))
	require.Equal(t, []engine.Condition{policy}, got)
}

// TestEqualSourcesAreOne: what decides is the content, not who made the list.
func TestEqualSourcesAreOne(t *testing.T) {
	w := newWorld(t, shopSetup, shopPredicates)
	_, plan := w.askedFor(t, "SELECT * FROM orders a JOIN orders b ON a.id = 1 AND b.id = 1 JOIN orders c ON c.id = 2", unchanged)
	require.Len(t, plan.Sources, 2)
	require.Contains(t, plan.SQL, `"temp"."main"."src_`)
}

// TestMaskedColumnsSayNothing: a condition over a mask is none over the column.
func TestMaskedColumnsSayNothing(t *testing.T) {
	w := newWorld(t, shopSetup, shopPredicates)
	got, _ := w.askedFor(t, "SELECT * FROM customers WHERE name = 'x' AND id = 1", func(r []sqlguard.Relation) {
		r[0].ColumnExpr = map[string]string{"name": "'***'"}
	})
	require.Equal(t, []engine.Condition{when("id", engine.ConditionEqual, "1")}, got)
}

var joinSetup = []string{
	`CREATE TABLE a AS SELECT nullif(i % 5, 4)::INTEGER AS k, nullif('s' || i % 3, 's2') AS s, (i % 4 / 2)::DECIMAL(6,2) AS n FROM range(9) ` +
		`r(i)`,
	`CREATE TABLE b AS SELECT nullif(i % 6, 5)::BIGINT AS k, DATE '2024-01-01' + (i % 3)::INTEGER AS d,
		nullif(TIMESTAMP '2024-01-01 00:00:00' + to_hours((i % 4)::INTEGER), TIMESTAMP '2024-01-01 03:00:00') AS ts FROM range(11) r(i)`,
	`CREATE TABLE e AS SELECT (i % 4)::INTEGER AS k, nullif(i % 3, 2) = 1 AS f, 's' || i % 3 AS s,
		TIMESTAMPTZ '2024-01-01 00:00:00+00' + to_hours((i % 3)::INTEGER) AS z FROM range(7) r(i)`,
}

var joinPredicates = map[string]string{"a": `"t"."k" > 0`, "b": `"t"."d" <= DATE '2024-01-02'`, "e": `"t"."s" <> 's1'`}

// joins writes random statements of three tables.
type joins struct{ *rand.Rand }

func (r joins) one(of ...string) string { return of[r.IntN(len(of))] }

// condition is one that may move, or one that must not.
func (r joins) condition() string {
	return r.one("a.k = 1", "a.k < 3", "2 >= b.k", "b.k IN (0, 2)", "e.k BETWEEN 1 AND 2", "a.s = 's1'", "a.s IS NULL", "a.k IS NULL",
		"b.k IS NULL", "ts IS NULL", "ts IS NOT NULL", "n >= 0.5", "d = '2024-01-02'", "d > DATE '2024-01-01'", "ts < '2024-01-01 02:00:00'",
		"z >= TIMESTAMPTZ '2024-01-01 01:00:00+00'", "f = true", "f = false", "f IS NULL", "e.s = 's0'", "a.k = b.k", "b.k = e.k", "a.s = e.s",
		"a.k = 1 OR b.k = 2", "NOT a.k = 1", "coalesce(b.k, 7) = 7", "a.k <> 1")
}

func (r joins) conditions(least int) string {
	list := make([]string, least+r.IntN(3))
	for i := range list {
		list[i] = r.condition()
	}
	return strings.Join(list, " AND ")
}

// on leaves out names that the join's two sides do not have.
func (r joins) on(absent string) string {
	for {
		if c := r.conditions(1); absent == "" || !mentions(c, absent) {
			return c
		}
	}
}

func mentions(conditions, table string) bool {
	own := map[string][]string{"a": {"a.", "n "}, "b": {"b.", "d ", "ts "}, "e": {"e.", "f ", "z "}}[table]
	for _, word := range own {
		if strings.HasPrefix(conditions, word) || strings.Contains(conditions, " "+word) || strings.Contains(conditions, "("+word) {
			return true
		}
	}
	return false
}

func (r joins) statement() string {
	kind := func() string { return r.one("", "LEFT ", "RIGHT ", "FULL ") + "JOIN" }
	from := fmt.Sprintf("a %s b ON %s %s e ON %s", kind(), r.on("e"), kind(), r.on(""))
	if r.IntN(3) == 0 {
		from = fmt.Sprintf("a %s (b %s e ON %s) ON %s", kind(), kind(), r.on("a"), r.on(""))
	}
	where := r.conditions(0)
	if where != "" {
		where = " WHERE " + where
	}
	return "SELECT a.*, b.*, e.* FROM " + from + where
}

// TestNarrowedJoins: whatever joins stand between a condition and its table, the
// answer over what fulfils the condition is the answer over the whole table.
func TestNarrowedJoins(t *testing.T) {
	w := newWorld(t, joinSetup, joinPredicates)
	r := joins{rand.New(rand.NewPCG(1, 2))}
	for range 300 {
		w.compare(t, r.statement())
	}
	said := 0
	for _, c := range w.asked {
		if c.Op != engine.ConditionUnknown {
			said++
		}
	}
	require.Greater(t, said, 300, "tables that were read narrowed")
}

// TestLookupColumn: one table, one column that equals an argument or a constant.
func TestLookupColumn(t *testing.T) {
	w := newWorld(t, shopSetup, shopPredicates)
	args := engine.Args{Positional: []any{int64(5)}}
	for statement, want := range map[string]string{
		"SELECT * FROM orders WHERE id = $1":                                  "id",
		"SELECT * FROM orders WHERE $1 = ID AND amount > 1":                   "id",
		"SELECT * FROM orders WHERE amount > $1 AND id = 5":                   "id",
		"SELECT * FROM orders WHERE id >= $1":                                 "",
		"SELECT * FROM orders WHERE id = $1 OR id = 6":                        "",
		"SELECT * FROM items WHERE price = $1":                                "",
		"SELECT * FROM orders a JOIN orders b ON a.id = b.id WHERE a.id = $1": "",
	} {
		q, err := parse(t, statement)
		require.NoError(t, err)
		made, err := q.Prepare(t.Context(), sharedParser(), w.relations(t, q, true), args)
		require.NoError(t, err, statement)
		require.Equal(t, want, made.LookupColumn(), statement)
	}
}
