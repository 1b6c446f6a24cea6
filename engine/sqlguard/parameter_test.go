package sqlguard_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// constant is a value as a literal and as an argument.
type constant struct {
	literal  string
	argument any
}

func textConstant(s string) constant { return constant{engine.QuoteString(s), s} }

// constantsOf are values for a column of a type; some are not quite of that type.
func constantsOf(random *rand.Rand, typ string) constant {
	n := random.IntN(310)
	whole := constant{fmt.Sprint(n), int64(n)}
	text := fmt.Sprintf("%d.%02d", n, random.IntN(100))
	part := constant{text, json.Number(text)}
	var choices []constant
	switch {
	case strings.HasPrefix(typ, "DECIMAL"):
		choices = []constant{whole, part, {"-" + text, json.Number("-" + text)}}
	case typ == "VARCHAR":
		choices = []constant{textConstant([]string{"open", "paid", "FR", "cust_7", "it's", "sku3"}[random.IntN(6)])}
	case typ == "BOOLEAN":
		choices = []constant{{"true", true}, {"false", false}}
	case typ == "DATE":
		choices = []constant{textConstant(fmt.Sprintf("2020-%02d-%02d", 1+random.IntN(12), 1+random.IntN(28)))}
	case strings.HasPrefix(typ, "TIMESTAMP"):
		day := fmt.Sprintf("2024-01-%02d", 1+random.IntN(28))
		choices = []constant{textConstant(day), textConstant(day + " 09:00:00"), textConstant(day + "T10:30:00.25")}
		if strings.HasSuffix(typ, "ZONE") {
			choices = append(choices, textConstant(day+" 09:00:00+02"))
		}
	default:
		choices = []constant{whole, whole, {"-1", int64(-1)}, part, {"70000", json.Number("70000")}}
	}
	return choices[random.IntN(len(choices))]
}

// comparisonOf is a condition on a column, with literals and with parameters.
func comparisonOf(random *rand.Rand, col engine.Column, args *[]any) (literals, parameters string) {
	next := func() (string, string) {
		c := constantsOf(random, col.Type.String())
		*args = append(*args, c.argument)
		return c.literal, fmt.Sprintf("$%d", len(*args))
	}
	a, pa := next()
	switch op := []string{"=", "<", "<=", ">", ">=", "IN", "BETWEEN", "flipped"}[random.IntN(8)]; op {
	case "IN":
		b, pb := next()
		return fmt.Sprintf("%s IN (%s, %s)", col.Name, a, b), fmt.Sprintf("%s IN (%s, %s)", col.Name, pa, pb)
	case "BETWEEN":
		b, pb := next()
		return fmt.Sprintf("%s BETWEEN %s AND %s", col.Name, a, b), fmt.Sprintf("%s BETWEEN %s AND %s", col.Name, pa, pb)
	case "flipped":
		return a + " <= " + col.Name, pa + " <= " + col.Name
	default:
		return col.Name + " " + op + " " + a, col.Name + " " + op + " " + pa
	}
}

// TestParametersNarrowAsLiteralsDo: a statement with parameters asks for the same
// files as the one with its values as literals, and has the same rows.
func TestParametersNarrowAsLiteralsDo(t *testing.T) {
	w := newWorld(t, shopSetup, shopPredicates)
	random := rand.New(rand.NewPCG(11, 0))
	tables := []string{"customers", "orders", "items", "events"}
	narrowed := 0
	for range 300 {
		table := tables[random.IntN(len(tables))]
		columns := slices.DeleteFunc(slices.Clone(w.columns[table]), func(c engine.Column) bool {
			return strings.ContainsAny(c.Type.String(), "[{") || strings.HasPrefix(c.Type.String(), "STRUCT") || c.Type == sqltype.Double ||
				c.Type == sqltype.Float || c.Type == sqltype.HugeInt
		})
		var args []any
		var literals, parameters []string
		for range 1 + random.IntN(3) {
			l, p := comparisonOf(random, columns[random.IntN(len(columns))], &args)
			literals, parameters = append(literals, l), append(parameters, p)
		}
		head := "SELECT * FROM " + table + " WHERE "
		filtered := random.IntN(2) == 0
		want, wantAsked := w.ran(t, head+strings.Join(literals, " AND "), filtered, engine.Args{})
		got, asked := w.ran(t, head+strings.Join(parameters, " AND "), filtered, engine.Args{Positional: args})
		require.Equal(t, wantAsked, asked, "%s with %v", parameters, args)
		require.Equal(t, want.Rows, got.Rows, "%s with %v", parameters, args)
		if asked[0].Op != engine.ConditionUnknown {
			narrowed++
		}
	}
	require.Greater(t, narrowed, 200)
}

// ran runs a statement over narrowed tables, and returns what they were asked for.
// No value of an argument may stand in SQL.
func (w *world) ran(t *testing.T, text string, filtered bool, args engine.Args) (result, []engine.Condition) {
	t.Helper()
	q, err := parse(t, text)
	require.NoError(t, err)
	relations := w.relations(t, q, filtered)
	w.narrowed(t, relations)
	w.asked = nil
	prepared, err := q.Prepare(t.Context(), sharedParser(), relations, args)
	require.NoError(t, err, text)
	require.Empty(t, w.asked, "tables are asked for each run")
	plan := prepared.Plan(relations, args)
	for _, b := range plan.Barriers {
		var named []any
		for name, value := range b.Args.Named {
			named = append(named, sql.Named(name, value))
		}
		_, err := w.guarded.ExecContext(t.Context(), "CREATE OR REPLACE TEMP TABLE "+b.Relation()+" AS "+b.SQL, named...)
		require.NoError(t, err, b.SQL)
	}
	out, err := runSQL(t, w.guarded, plan.SQL, values(args.Positional)...)
	require.NoError(t, err, plan.SQL)
	return out, w.asked
}

// values are arguments as the driver of tests takes them.
func values(args []any) []any {
	out := slices.Clone(args)
	for i, v := range out {
		if n, ok := v.(json.Number); ok {
			f, _ := n.Float64()
			out[i] = f
		}
	}
	return out
}

// TestArgumentsStandInNoSQL: a copy gets them as parameters, under a name of its
// own for each value, and one prepared statement serves them all.
func TestArgumentsStandInNoSQL(t *testing.T) {
	w := newWorld(t, shopSetup, shopPredicates)
	q, err := parse(t, "SELECT * FROM orders WHERE note = $which AND id IN ($Id, 7)")
	require.NoError(t, err)
	relations := w.relations(t, q, true)
	w.narrowed(t, relations)
	args := func(note string, id any) engine.Args {
		return engine.Args{Named: map[string]any{"WHICH": note, "id": id}}
	}
	prepared, err := q.Prepare(t.Context(), sharedParser(), relations, args("x", int64(1)))
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, note := range []string{"secret-1", "secret-2", `'; DROP`} {
		plan := prepared.Plan(relations, args(note, int64(424242)))
		require.Len(t, plan.Barriers, 1)
		b := plan.Barriers[0]
		require.Equal(t, map[string]any{"lw_value_0": note, "lw_value_1": "424242"}, b.Args.Named)
		for _, text := range []string{plan.SQL, b.SQL} {
			require.NotContains(t, text, note)
			require.NotContains(t, text, "424242")
		}
		require.False(t, seen[b.Name])
		seen[b.Name] = true
	}
	w.asked = nil
	plan := prepared.Plan(relations, args("n", json.Number("0.5")))
	require.Equal(t, map[string]any{"lw_value_0": "n"}, plan.Barriers[0].Args.Named, "no value of the column's type")
	require.Len(t, w.asked, 1)
}

// TestPreparedNamesOnlyItsRelations: every table of the printed statement is one
// of ours, also where a statement mentions one many times.
func TestPreparedNamesOnlyItsRelations(t *testing.T) {
	w := newWorld(t, shopSetup, shopPredicates)
	for _, text := range []string{
		"SELECT * FROM orders a JOIN orders b ON a.id = b.id JOIN items ON order_id = a.id",
		"WITH x AS (SELECT * FROM customers) SELECT * FROM x a, x b WHERE a.id = b.id AND EXISTS (SELECT 1 FROM orders WHERE customer_id = a.id)",
		"SELECT '.main.t', 'lw_1.main.t' FROM customers",
	} {
		q, err := parse(t, text)
		require.NoError(t, err)
		relations := w.relations(t, q, false)
		prepared, err := q.Prepare(t.Context(), sharedParser(), relations, engine.Args{})
		require.NoError(t, err)
		plan := prepared.Plan(relations, engine.Args{})
		named := 0
		for _, r := range relations {
			named = max(named, strings.Count(plan.SQL, r.Source.Relation()))
		}
		require.Positive(t, named)
		total := 0
		for _, name := range w.tables(t) {
			total += strings.Count(plan.SQL, source(name).Relation())
		}
		require.GreaterOrEqual(t, total, len(q.Tables()))
		require.Equal(t, total, strings.Count(plan.SQL, `"src_`))
	}
}
