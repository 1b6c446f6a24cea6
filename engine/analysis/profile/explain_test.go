package profile_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/analysistest"
	"github.com/lakewarden/lakewarden/engine/analysis/profile"
)

const visits = `SELECT range AS id, CASE WHEN range = 7 THEN 'mars' ELSE ['paris', 'rome', 'oslo'][1 + CAST(range % 3 AS INTEGER)] END AS
city,
	CASE WHEN range = 7 THEN 90000 WHEN range = 8 THEN NULL ELSE range % 500 END AS price, range % 2 = 0 AS ok,
	CASE WHEN range = 9 THEN repeat('z', 90) ELSE 'note ' || range END AS note FROM range(3000)`

func explainRows(t *testing.T, in analysis.Input) (profile.RowsResult, analysis.Answer) {
	t.Helper()
	answer, err := profile.ExplainRows(t.Context(), in)
	require.NoError(t, err)
	for _, r := range answer.References {
		require.Contains(t, answer.Text, r.Tag())
	}
	return answer.Result.(profile.RowsResult), answer
}

func observations(r profile.RowsResult, row int) map[string]string {
	out := map[string]string{}
	for _, c := range r.Cells {
		if c.Row == row {
			out[c.Column] = c.Observation
		}
	}
	return out
}

func TestRowsOfKeysAreExplained(t *testing.T) {
	lake := analysistest.New(t, visits)
	keys := []map[string]any{{"id": json.Number("7")}, {"id": json.Number("100000")}, {"id": "8"}, {"nothing": true}, {"id": "x'; --"},
		{"id": json.Number("9"), "ok": false}, {"price": nil, "city": "oslo"}}
	r, answer := explainRows(t, lake.Input(func(in *analysis.Input) { in.Keys, in.Table.PrimaryKey = keys, []string{"id"} }))
	require.Len(t, r.Rows, 4)
	require.Equal(t, "7", *r.Rows[0].Key["id"])
	require.Equal(t, map[string]string{"id": "unique", "city": "rare", "price": "extreme_high", "ok": "typical", "note": "unique"},
		observations(r, 1))
	require.Equal(t, "missing", observations(r, 2)["price"])
	require.Equal(t, []string{"No row matches keys[1].", "No row matches keys[3].", "No row matches keys[4]."}, answer.Warnings)
	require.Contains(t, answer.Text, "price [[1:price]] is above more than 99.9 % of all values")
	require.NotContains(t, answer.Text, "100000")
}

// A key that is not the value of a row explains no other row.
func TestKeysAreNotRounded(t *testing.T) {
	lake := analysistest.New(t, "SELECT range AS id, range / 2 AS half, range || '000000' AS code FROM range(20)")
	for key, rows := range map[[2]any]int{
		{"id", 1.5}: 0, {"id", "1.5"}: 0, {"id", "1e0"}: 0, {"id", true}: 0, {"id", 2.0}: 1, {"id", "-0"}: 1, {"half", 1.5}: 1,
		{"code", 12000000.0}: 1,
	} {
		r, _ := explainRows(t, lake.Input(func(in *analysis.Input) { in.Keys = []map[string]any{{key[0].(string): key[1]}} }))
		require.Len(t, r.Rows, rows, "%v", key)
	}
}

func TestRowsOfAConditionAreComparedWithTheWholeTable(t *testing.T) {
	lake := analysistest.New(t, visits)
	r, answer := explainRows(t, lake.Input(func(in *analysis.Input) { in.Table.Where = "id BETWEEN 100 AND 102 -- some" }))
	require.Equal(t, int64(3000), r.Compared)
	require.Len(t, r.Rows, 3)
	require.Contains(t, answer.Text, "No value is unusual.")
	for _, c := range r.Cells {
		if c.Column == "price" && c.Row == 1 {
			require.InDelta(t, 0.2, *c.Percentile, 0.01)
			require.Equal(t, "city rome", *c.Group)
			require.InDelta(t, 0.2, *c.InGroup, 0.01)
		}
	}
	many, answer := explainRows(t, lake.Input(nil))
	require.Len(t, many.Rows, profile.MaxExplained)
	require.Len(t, answer.Warnings, 1)
	none, _ := explainRows(t, lake.Input(func(in *analysis.Input) { in.Table.Where = "id < 0" }))
	require.Empty(t, none.Cells)
}

func TestOddRowsAreExplained(t *testing.T) {
	lake := analysistest.New(t, `SELECT 'NaN'::DOUBLE AS f, 1.5::DECIMAL(9,2) AS d, TIMESTAMPTZ '2024-01-01 00:00:00+00' AS at, [1] AS l,
		repeat('x', 5000000) AS "a""b", 'it''s' AS q, NULL::DATE AS n`)
	r, _ := explainRows(t, lake.Input(nil))
	require.Equal(t, map[string]string{"f": "only_value", "d": "only_value", "at": "only_value", "l": "not_compared", `a"b`: "not_compared",
		"q": "only_value", "n": "missing"}, observations(r, 1))
}
