package rules_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/analysistest"
	"github.com/lakewarden/lakewarden/engine/analysis/rules"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/deltasql"
	"github.com/lakewarden/lakewarden/engine/duckdb"
)

// orders has rules of all kinds. Measures are mixed by multiplication with primes.
const orders = `SELECT range AS id, 'C-' || lpad(CAST(range * 7 % 5000 AS VARCHAR), 6, '0') AS "Code ""x""",
	CASE WHEN range % 5 = 0 THEN 'cancelled' WHEN range % 3 = 0 THEN 'open' ELSE 'shipped' END AS status,
	DATE '2024-01-01' + CAST(range * 31 % 365 AS INTEGER) AS ordered,
	CASE WHEN range % 5 = 0 OR range % 3 = 0 THEN NULL
		ELSE DATE '2024-01-01' + CAST(range * 31 % 365 AS INTEGER) + CAST(range * 17 % 23 AS INTEGER) END AS shipped,
	CASE WHEN range % 5 = 0 OR range % 3 = 0 THEN NULL ELSE range * 13 % 7 END AS carrier,
	(range * 37 % 1009) AS net, (range * 41 % 211) AS tax,
	(range * 37 % 1009) + (range * 41 % 211) + CASE WHEN range IN (17, 4000) THEN 1 ELSE 0 END AS total,
	(range * 29 % 1000) / 1000.0::DOUBLE AS rate, 1 + range * 43 % 12 AS month,
	CASE WHEN range = 77 THEN -5 ELSE 1 + range * 71 % 90 END AS quantity
	FROM range(5000)`

var types = map[string]string{"BIGINT": "long", "INTEGER": "integer", "VARCHAR": "string", "DATE": "date", "DOUBLE": "double",
	"TIMESTAMP": "timestamp",
	"BOOLEAN":   "boolean", "DECIMAL(10,2)": "decimal(10,2)"}

// suggest runs the analysis and checks what is true of every answer: all expressions are
// accepted as constraints, and their violations are right.
func suggest(t *testing.T, lake *analysistest.Lake, change func(*analysis.Input)) (rules.Result, analysis.Answer) {
	t.Helper()
	in := lake.Input(func(in *analysis.Input) {
		in.Limit = 100
		if change != nil {
			change(in)
		}
	})
	answer, err := rules.SuggestConstraints(t.Context(), in)
	require.NoError(t, err)
	result := answer.Result.(rules.Result)
	var schema delta.Struct
	for _, c := range in.Table.Columns {
		typ, err := deltasql.ParseType(types[c.Type.String()])
		require.NoError(t, err, c.Type.String())
		schema.Fields = append(schema.Fields, delta.Field{Name: c.Name, Type: typ, Nullable: true})
	}
	parser := duckdb.NewParser()
	for _, c := range result.Checks {
		_, err := constraint.ParseCheck(t.Context(), parser, schema, c.Expr)
		require.NoError(t, err, c.Expr)
		require.Equal(t, lake.Count("SELECT count(*) FROM lake.sales.t WHERE ("+c.Expr+") IS NOT TRUE"), c.Violations, c.Expr)
	}
	return result, answer
}

func expressions(r rules.Result) []string {
	var out []string
	for _, c := range r.Checks {
		out = append(out, c.Expr)
	}
	return out
}

func notNullable(in *analysis.Input) {
	for i, c := range in.Columns {
		if c.Name != "shipped" && c.Name != "carrier" {
			in.Columns[i].Nullable = false
		}
	}
}

func TestRulesOfOrders(t *testing.T) {
	r, answer := suggest(t, analysistest.New(t, orders), notNullable)
	list := expressions(r)
	for _, want := range []string{
		`"shipped" IS NULL OR "ordered" <= "shipped"`,
		`"total" = "net" + "tax"`,
		`"rate" BETWEEN 0 AND 1`,
		`"month" BETWEEN 1 AND 12`,
		`"status" <> 'cancelled' OR "shipped" IS NULL`,
		`"status" <> 'shipped' OR "shipped" IS NOT NULL`,
		`("shipped" IS NULL) = ("carrier" IS NULL)`,
		`"quantity" >= 0`,
		`"status" <> ''`,
	} {
		require.Contains(t, list, want)
	}
	for _, c := range r.Checks {
		if slices.Contains(c.Columns, "total") && len(c.Columns) == 3 {
			require.Equal(t, int64(2), c.Violations)
		}
	}
	require.Len(t, r.Keys, 2)
	require.Equal(t, []string{"id"}, r.Keys[0].Columns)
	require.True(t, r.Keys[0].Primary)
	require.Equal(t, []string{`Code "x"`}, r.Keys[1].Columns)
	require.Empty(t, r.NotNull)
	require.IsType(t, analysis.SetPrimaryKey{}, answer.Proposals[0].Change)
	require.Len(t, answer.Proposals, len(r.Checks)+2)
}

func TestKnownRulesAreNotSuggestedAgain(t *testing.T) {
	lake := analysistest.New(t, orders)
	r, _ := suggest(t, lake, func(in *analysis.Input) {
		in.Table.Checks = []analysis.Check{{Name: "sum", Expr: "`total` = `net` + `tax`"}, {Name: "m", Expr: "month < 13"}}
		in.Table.PrimaryKey = []string{"id"}
		for i := range in.Columns {
			in.Columns[i].Key = in.Columns[i].Name == "id"
			in.Columns[i].Masked = in.Columns[i].Name == "rate"
		}
	})
	for _, c := range r.Checks {
		require.NotContains(t, c.Columns, "rate")
		require.NotContains(t, c.Columns, "month")
		require.NotEqual(t, []string{"total", "net", "tax"}, c.Columns)
	}
	require.Len(t, r.Keys, 1)
	require.False(t, r.Keys[0].Primary)
	require.Len(t, r.NotNull, 9, "all but shipped, carrier and the masked one")
}

func TestCompositeKeys(t *testing.T) {
	lake := analysistest.New(t, `SELECT range // 40 AS invoice, range % 40 AS line, range * 7919 % 100 AS amount, range * 104729 % 31 AS
other FROM range(8000)`)
	r, answer := suggest(t, lake, nil)
	require.NotEmpty(t, r.Keys)
	require.Equal(t, []string{"invoice", "line"}, r.Keys[0].Columns)
	require.True(t, r.Keys[0].Primary)
	require.Equal(t, analysis.SetPrimaryKey{Columns: []string{"invoice", "line"}}, answer.Proposals[0].Change)
}

func TestNothingIsSuggestedByChance(t *testing.T) {
	few, answer := suggest(t, analysistest.New(t, `SELECT range AS a, 2 * range AS b FROM range(20)`), nil)
	require.Empty(t, few.Checks)
	require.Empty(t, answer.Proposals)
	empty, _ := suggest(t, analysistest.New(t, `SELECT 1 AS a, 'x' AS b FROM range(0)`), nil)
	require.Empty(t, empty.Keys)
	mixed, _ := suggest(t, analysistest.New(t, `SELECT CAST(hash(range) % 1000 AS BIGINT) - 500 AS a, CAST(hash(range + 1000000) % 100 AS
BIGINT) - 50 AS b, NULL::VARCHAR AS c,
		hash(range + 7) % 2 = 0 AS d FROM range(3000)`), nil)
	require.Empty(t, mixed.Checks)
	require.Empty(t, mixed.Keys)
}

func TestWideAndLongTables(t *testing.T) {
	columns := make([]string, analysistest.WideColumns())
	for i := range columns {
		columns[i] = "range * " + strings.Repeat("1", 1+i%5) + " % 97 AS \"select " + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + " " +
			strings.Repeat("y", i/26) + "\""
	}
	r, _ := suggest(t, analysistest.New(t, "SELECT "+strings.Join(columns, ", ")+" FROM range(200)"), nil)
	require.Len(t, r.NotNull, min(100, len(columns)))
	long, _ := suggest(t, analysistest.New(t, "SELECT range AS id, repeat('x', 1000000) || range AS body FROM range(40)"), nil)
	require.Len(t, long.NotNull, 2)
}
