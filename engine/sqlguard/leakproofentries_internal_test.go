package sqlguard

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ofKind are columns by the kind of their type.
func ofKind(kind string) []string {
	var out []string
	for _, c := range hiddenSchema()[3:] {
		if v, ok := columnValueOf(c.Type); ok && string(v.kind) == kind {
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
func expressionsOf(s signature) []string {
	calls := []string{""}
	for _, kind := range s.arguments {
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
		switch s.name {
		case "~~", "!~~", "||", "%":
			op := map[string]string{"~~": " LIKE ", "!~~": " NOT LIKE "}[s.name]
			if op == "" {
				op = " " + s.name + " "
			}
			out[i] = strings.Replace(args, ", ", op, 1)
		case "prefix", "suffix", "contains":
			out[i] = s.name + "(" + args + ")"
		default:
			out[i] = s.name + "(" + args + ")"
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
	out = append(out, "x_s IN ('a', 'SECRET-7')", "x_s NOT IN ('a')", "x_i64 IN (1, 2)", "x_d = '2020-01-01'", "x_d < DATE '2020-01-01'", "x_ts > TIMESTAMP '2020-01-01 00:00:00'",
		"x_dec < 24", "x_dec BETWEEN 0.05 AND 0.07", "x_i32 < 0.5", "x_dec < x_i64", "x_dec > x_f", "x_i8 = x_wide")
	for _, to := range []struct{ from, to string }{{"integer", "DOUBLE"}, {"decimal", "DOUBLE"}, {"integer", "VARCHAR"}, {"decimal", "VARCHAR"},
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

// TestLeakProofEntries tries every entry of the list in every place against
// extreme hidden values.
func TestLeakProofEntries(t *testing.T) {
	w := newTwoWorlds(t, 1)
	for _, signatures := range leakProof.functions {
		for _, s := range signatures {
			t.Run(s.name+" "+strings.Join(s.arguments, " "), func(t *testing.T) {
				require.Positive(t, w.try(t, leakProof, expressionsOf(s)), "no statement was plain")
			})
		}
	}
	t.Run("forms", func(t *testing.T) {
		all := forms()
		require.Greater(t, w.try(t, leakProof, all), 5*len(all))
	})
}

// try runs expressions in every place and returns how many statements were plain.
func (w *twoWorlds) try(t *testing.T, list *leakList, expressions []string) int {
	t.Helper()
	count := 0
	for _, e := range expressions {
		for _, text := range placesFor(e) {
			plain, differs, detail := w.differ(t, list, text)
			if plain {
				count++
			}
			if differs {
				t.Errorf("the worlds differ: %s", detail)
			}
		}
	}
	return count
}
