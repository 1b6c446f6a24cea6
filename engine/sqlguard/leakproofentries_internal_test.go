package sqlguard

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard/leakproof"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// kindsOfTypes are the kinds of the proof by type.
var kindsOfTypes = map[string]string{"BOOLEAN": "boolean", "TINYINT": "integer", "SMALLINT": "integer", "INTEGER": "integer",
	"BIGINT":        "integer",
	"DECIMAL(15,2)": "decimal", "DECIMAL(24,4)": "decimal", "DOUBLE": "double", "VARCHAR": "text", "BLOB": "binary", "DATE": "date",
	"TIMESTAMP": "timestamp", "TIMESTAMP WITH TIME ZONE": "instant"}

// ofKind are columns by the kind of their type.
func ofKind(kind string) []string {
	var out []string
	for _, c := range hiddenSchema()[3:] {
		if kindsOfTypes[c.Type.String()] == kind {
			out = append(out, c.Name)
		}
	}
	return out
}

var constantsFor = map[string][]string{
	"pattern": {"'%a%'", "'da%'", "'_'", `'\'`, "'%y'", "''"}, "place": {"1", "2", "1000000"}, "size": {"0", "2", "1000000"},
	"divisor": {"1", "7"}, "part": {"'year'", "'month'", "'day'", "'quarter'"},
}

var constantOfKind = map[string]string{"text": "'a'", "integer": "2", "decimal": "0.5", "date": "DATE '2020-01-02'",
	"timestamp": "TIMESTAMP '2020-01-02 03:04:05'"}

// expressionsOf are calls of a signature with every fitting column.
func expressionsOf(s leakproof.Signature) []string {
	calls := []string{""}
	for _, kind := range s.Arguments {
		choices := constantsFor[kind]
		if choices == nil {
			// What stands on one column only may move into the scan.
			choices = append(ofKind(kind), constantOfKind[kind])
		}
		var next []string
		for _, c := range calls {
			for _, choice := range choices {
				next = append(next, strings.TrimPrefix(c+", "+choice, ", "))
			}
		}
		calls = next
	}
	out := make([]string, len(calls))
	for i, args := range calls {
		switch s.Name {
		case "~~", "!~~", "||", "%":
			op := map[string]string{"~~": " LIKE ", "!~~": " NOT LIKE "}[s.Name]
			if op == "" {
				op = " " + s.Name + " "
			}
			out[i] = strings.Replace(args, ", ", op, 1)
		default:
			out[i] = s.Name + "(" + args + ")"
		}
	}
	return out
}

// forms are expressions of everything that is no function.
func forms() []string {
	var out []string
	for _, kind := range []string{"integer", "decimal", "double", "text", "binary", "date", "timestamp", "instant", "boolean"} {
		names := ofKind(kind)
		for i, a := range names {
			b := names[(i+1)%len(names)]
			for _, op := range []string{"=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"} {
				out = append(out, a+" "+op+" "+b)
			}
			out = append(out, a+" IS NULL", "NOT ("+a+" IS NOT NULL)", "coalesce("+a+", "+b+")", "CASE WHEN "+a+" = "+b+" THEN "+a+" ELSE NULL END",
				a+" BETWEEN "+b+" AND "+a, a+" = "+b+" OR "+a+" < "+b)
		}
	}
	out = append(out, "x_s IN ('a', 'SECRET-7')", "x_s NOT IN ('a')", "x_i64 IN (1, 2)", "x_d = '2020-01-01'", "x_d < DATE '2020-01-01'",
		"x_ts > TIMESTAMP '2020-01-01 00:00:00'",
		"x_dec < 24", "x_dec BETWEEN 0.05 AND 0.07", "x_i32 < 0.5", "x_dec < x_i64", "x_dec > x_f", "x_i8 = x_wide")
	for _, to := range []struct{ from, to string }{{"integer", "DOUBLE"}, {"decimal", "DOUBLE"}, {"integer", "VARCHAR"},
		{"decimal", "VARCHAR"},
		{"boolean", "VARCHAR"}, {"date", "VARCHAR"}, {"text", "VARCHAR"}, {"integer", "BIGINT"}} {
		for _, c := range ofKind(to.from) {
			out = append(out, "CAST("+c+" AS "+to.to+")")
		}
	}
	return out
}

// placesFor puts an expression wherever it may stand.
func placesFor(e string) []string {
	return []string{
		"SELECT count(*) FROM t WHERE (" + e + ") IS NULL",
		"SELECT id, (" + e + ") AS e FROM t ORDER BY id",
		"SELECT (" + e + ") AS e, count(*) AS n FROM t GROUP BY e ORDER BY n, e",
		"SELECT DISTINCT (" + e + ") AS e FROM t WHERE id % 2 = 0",
		"SELECT id FROM t ORDER BY (" + e + ") DESC, v_i32 LIMIT 7",
		"SELECT count(*), min(a.id) FROM t a JOIN (SELECT id, (" + e + ") AS e FROM d) b ON a.id = b.id AND b.e IS NULL",
		"SELECT g, count((" + e + ")) AS c, min((" + e + ")), max((" + e + ")) FROM t GROUP BY g",
		"SELECT count(*) FROM t a WHERE EXISTS (SELECT 1 FROM d WHERE d.id = a.id AND ((" + e + ")) IS NOT NULL)",
		"SELECT count(*) FROM t WHERE id IN (SELECT id FROM d WHERE (" + e + ") IS NULL) OR g = (SELECT min(g) FROM d WHERE (" + e + ") IS NULL)",
	}
}

// TestLeakProofEntriesCannotFail computes every entry over all rows, those of
// extreme values included: what is said to be unable to fail does not.
func TestLeakProofEntriesCannotFail(t *testing.T) {
	w := newTwoWorlds(t, 1)
	all := slices.Concat(forms(), sums())
	for _, signatures := range leakproof.Default.Functions {
		for _, s := range signatures {
			all = append(all, expressionsOf(s)...)
		}
	}
	var counts []string
	for _, e := range all {
		if _, fallible, err := proveExpression(t, e); err == nil && !fallible {
			counts = append(counts, "count("+e+")")
		}
	}
	require.Greater(t, len(counts), 900)
	w.requireNoFailure(t, counts)
}

// proveExpression is the proof of one expression over t: its type, and whether it may
// fail.
func proveExpression(t testing.TB, e string) (typ sqltype.Type, fallible bool, err error) {
	t.Helper()
	q := parseFor(t, "SELECT "+e+" AS e FROM t")
	return leakproof.Default.Expression(q.query().Nodes("select_list")[0], leakproof.Table{Alias: "t", Columns: hiddenSchema()}, nil)
}

// sums are arithmetic of every pair of numbers.
func sums() []string {
	var out []string
	numbers := slices.Concat(ofKind("integer"), ofKind("decimal"), ofKind("double"), []string{"1", "0.05", "300", "3000000000", "year(v_d)",
		"(v_i8 % 5)", "CASE WHEN v_b THEN v_dec ELSE 0 END", "CASE WHEN v_b THEN v_i32 ELSE v_i64 END", "(1 - v_dec)",
		"CASE WHEN v_b THEN 1.5 ELSE 2 END",
		// Literals take the type of what they stand beside.
		"coalesce(v_i8, 0)", "CASE WHEN v_b THEN 1 WHEN v_i16 = 1 THEN 2 ELSE v_i16 END", "coalesce(v_i16, 300)", "coalesce(v_i8, 300)",
		"coalesce(v_i8, -128)", "-128", "coalesce(1, 2, v_i8)", "coalesce(v_i16, 7, 1.5)", "CASE WHEN v_b THEN v_i16 ELSE 0 END"})
	for _, a := range numbers {
		for _, b := range numbers {
			for _, op := range []string{"+", "-", "*", "/"} {
				if !strings.HasPrefix(a, "x") && !strings.HasPrefix(b, "x") || op == "*" {
					out = append(out, a+" "+op+" "+b)
				}
			}
		}
	}
	return out
}

// TestProvenTypesAreTheEngines: the proof reckons with the types that the engine
// gives to arithmetic.
func TestProvenTypesAreTheEngines(t *testing.T) {
	w := newTwoWorlds(t, 1)
	all := slices.Concat(sums(), forms())
	checked := 0
	for chunk := range slices.Chunk(all, 40) {
		var items, want []string
		for _, e := range chunk {
			if typ, _, err := proveExpression(t, e); err == nil && typ != nil {
				items, want = append(items, "("+e+")"), append(want, e+": "+typ.String())
			}
		}
		q := parseFor(t, "SELECT "+strings.Join(items, ", ")+" FROM t WHERE false")
		relations := w.relations(q, 0)
		relations[0].Filtered, relations[0].Predicate = false, ""
		plan, err := q.Bind(t.Context(), testParser(), relations)
		require.NoError(t, err)
		res, err := w.sessions[0].Query(t.Context(), engine.Statement{SQL: plan.SQL, Sources: plan.Sources})
		require.NoError(t, err, plan.SQL)
		for i, c := range res.Columns() {
			require.Equal(t, want[i], want[i][:strings.LastIndex(want[i], ": ")]+": "+c.Type.String())
			checked++
		}
		require.NoError(t, res.Close())
	}
	require.Greater(t, checked, 900)
}

// TestLeakProofEntries tries every entry of the list against extreme hidden
// values, in every place in turn.
func TestLeakProofEntries(t *testing.T) {
	w := newTwoWorlds(t, 1)
	for _, signatures := range leakproof.Default.Functions {
		for _, s := range signatures {
			t.Run(s.Name+" "+strings.Join(s.Arguments, " "), func(t *testing.T) {
				plain, leaks := w.try(t, leakproof.Default, expressionsOf(s), 1)
				require.Positive(t, plain, "no statement was plain")
				require.Empty(t, leaks)
			})
		}
	}
	t.Run("forms", func(t *testing.T) {
		all := forms()
		plain, leaks := w.try(t, leakproof.Default, all, 1)
		require.Greater(t, plain, len(all)/2)
		require.Empty(t, leaks)
	})
}

// try runs expressions in so many places each, taken in turn. It returns how many
// statements were plain, and those whose answers differ.
func (w *twoWorlds) try(t testing.TB, list *leakproof.List, expressions []string, each int) (plain int, leaks []string) {
	t.Helper()
	for i, e := range expressions {
		places := placesFor(e)
		for k := range each {
			isPlain, differs, detail := w.differ(t, list, places[(each*i+k)%len(places)])
			if isPlain {
				plain++
			}
			if differs {
				leaks = append(leaks, detail)
			}
		}
	}
	return plain, leaks
}

// requireNoFailure asks for expressions over all rows of the second world.
func (w *twoWorlds) requireNoFailure(t *testing.T, expressions []string) {
	t.Helper()
	for chunk := range slices.Chunk(expressions, 25) {
		q := parseFor(t, "SELECT "+strings.Join(chunk, ", ")+" FROM t")
		relations := w.relations(q, 1)
		relations[0].Filtered, relations[0].Predicate = false, ""
		plan, err := q.Bind(t.Context(), testParser(), relations)
		require.NoError(t, err)
		require.NotContains(t, w.answers(t, plan, 1), "failed", plan.SQL)
	}
}
