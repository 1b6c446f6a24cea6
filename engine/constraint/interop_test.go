package constraint_test

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/oracletest"
)

//go:embed constraints.py
var constraintsPy string

// oracleSchema are the columns that constraints.py knows.
func oracleSchema(t *testing.T) delta.Struct {
	return columns(t, "id", "long", "i", "integer", "Sm", "short", "name", "string", "d", "double",
		"dec", "decimal(12,2)", "day", "date", "ts", "timestamp", "ok", "boolean")
}

// randomRow has small values, and NULLs.
func randomRow(r *rand.Rand) []any {
	pick := func(values ...any) any { return values[r.IntN(len(values))] }
	return []any{
		pick(nil, -2, 0, 1, 2, 5, 1000003), pick(nil, -3, 0, 1, 2, 7), pick(nil, -1, 0, 2, 3),
		pick(nil, "", "a", "ab", "b", "a%", "éa", "A"), pick(nil, -1.5, 0.1, 0.5, 2, 1e300),
		pick(nil, "-1.50", "0.10", "0.30", "2.00", "9999999999.99"), pick(nil, "2024-02-29", "1999-12-31", "2024-03-01"),
		pick(nil, "2024-01-01 00:00:00", "2024-01-01 00:00:00.000001", "1969-12-31 23:59:59"), pick(nil, true, false),
	}
}

// generator makes random conditions in the words of a user.
type generator struct{ *rand.Rand }

func (g generator) pick(choices ...string) string { return choices[g.IntN(len(choices))] }

func (g generator) condition(depth int) string {
	if depth > 0 {
		switch g.IntN(5) {
		case 0:
			return "(" + g.condition(depth-1) + " AND " + g.condition(depth-1) + ")"
		case 1:
			return "(" + g.condition(depth-1) + " OR " + g.condition(depth-1) + ")"
		case 2:
			return "NOT (" + g.condition(depth-1) + ")"
		case 3:
			return "CASE WHEN " + g.condition(depth-1) + " THEN " + g.condition(depth-1) + " ELSE " + g.condition(0) + " END"
		}
	}
	compare := g.pick("=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")
	switch g.IntN(9) {
	case 0:
		return g.whole(1) + " " + compare + " " + g.whole(1)
	case 1:
		return g.decimal(1) + " " + compare + " " + g.decimal(1)
	case 2:
		return "d " + compare + " " + g.pick("0.5", "0.1", "2", "i", "-1.5", "1e300", "d * 2", "d + 0.1")
	case 3:
		return g.pick("name", "coalesce(name, 'a')") + " " + compare + " " + g.pick("'a'", "'éa'", "''", "name")
	case 4:
		return "name " + g.pick("LIKE", "NOT LIKE") + " " + g.pick("'a%'", "'_'", "'%a'", "'_a'", "'%'", "'a'")
	case 5:
		return "day " + compare + " " + g.pick("'2024-02-29'", "DATE '2000-01-01'", "greatest(day, DATE '2024-02-29')")
	case 6:
		return "ts " + compare + " '2024-01-01T00:00:00" + g.pick("", ".000001", ".5") + g.pick("Z", "+00:00", "+01:00") + "'"
	case 7:
		return g.pick("ok", "name IS NULL", "day IS NOT NULL", "ok = true", "name IN ('a', 'b')", "Sm NOT IN (1, 2)", "id BETWEEN 0 AND i",
			"i NOT BETWEEN Sm AND 2")
	}
	return "extract(" + g.pick("year", "month", "day") + " FROM day) " + compare + " " + g.pick("2024", "2", "29", "i")
}

func (g generator) whole(depth int) string {
	if depth > 0 && g.IntN(2) == 0 {
		return "(" + g.whole(depth-1) + g.pick(" + ", " - ", " * ") + g.whole(depth-1) + ")"
	}
	return g.pick("id", "i", "Sm", "0", "1", "-2", "abs(i)", "-Sm", "length(name)", "i % 2", "id % -3", "coalesce(Sm, 1)", "least(id, i)")
}

func (g generator) decimal(depth int) string {
	if depth > 0 && g.IntN(2) == 0 {
		return "(" + g.decimal(depth-1) + g.pick(" + ", " - ", " * ") + g.decimal(0) + ")"
	}
	return g.pick("dec", "0.2", "0.1", "-1.5", "abs(dec)", "i", "2")
}

// literals is a row for VALUES.
func literals(row []any, types ...string) string {
	literals := make([]string, len(row))
	for i, v := range row {
		literals[i] = "NULL"
		if v != nil {
			literals[i] = "'" + strings.TrimSuffix(fmt.Sprint(v), "+00") + "'"
		}
		literals[i] = "CAST(" + literals[i] + " AS " + types[i] + ")"
	}
	return strings.Join(literals, ", ")
}

type oracleCase struct {
	Expr   string  `json:"expr"`
	Broken []int64 `json:"broken"`
}

func TestDeltaRSRefusesTheRowsThatWeRefuse(t *testing.T) {
	python := oracletest.Python(t)
	r := rand.New(rand.NewPCG(1, 2))
	schema, s := oracleSchema(t), scope(t)
	var rows [][]any
	var values []string
	for range 25 {
		row := randomRow(r)
		rows = append(rows, row)
		values = append(values, literals(row, "BIGINT", "INTEGER", "SMALLINT", "VARCHAR", "DOUBLE", "DECIMAL(12,2)", "DATE", "TIMESTAMP",
			"BOOLEAN"))
	}
	staged := relation("id, i, Sm, name, d, dec, day, ts, ok", values...)
	staged.From = "(SELECT * REPLACE (make_timestamptz(epoch_us(ts)) AS ts) FROM " + staged.From + ")"

	var cases []oracleCase
	for g := (generator{r}); len(cases) < 60; {
		text := g.condition(2)
		check, err := constraint.ParseCheck(t.Context(), sharedParser(), schema, text)
		require.NoError(t, err, text)
		if len(check.Columns()) == 0 {
			continue
		}
		reason, portable := check.Portable()
		require.True(t, portable, "%s: %s", text, reason)
		log, err := constraint.ParseSpark(schema, check.Spark())
		require.NoError(t, err, check.Spark())
		require.Equal(t, check.Broken("r"), log.Broken("r"), "%s means the same when it is read back", text)
		report, err := s.Broken(t.Context(), []constraint.Rule{constraint.CheckRule("c", check)}, staged)
		require.NoError(t, err, text)
		c := oracleCase{Expr: check.Spark(), Broken: []int64{}}
		for _, b := range report.Breaches {
			c.Broken = append(c.Broken, b.Row)
		}
		cases = append(cases, c)
	}
	work, err := json.Marshal(map[string]any{"dir": t.TempDir(), "cases": cases, "rows": rows})
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), python, "-c", constraintsPy)
	cmd.Stdin, cmd.Env = bytes.NewReader(work), append(os.Environ(), "TZ=UTC")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Empty(t, string(out))
}
