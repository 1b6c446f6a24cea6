package values_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/analysistest"
	"github.com/lakewarden/lakewarden/engine/analysis/values"
)

// size returns the length of an answer as JSON.
func size(t *testing.T, a analysis.Answer) int {
	t.Helper()
	encoded, err := json.Marshal(a)
	require.NoError(t, err)
	return len(encoded)
}

// nulls runs FixNulls and returns its placeholders by column.
func nulls(t *testing.T, in analysis.Input) (map[string][]string, analysis.Answer) {
	t.Helper()
	a, err := values.FixNulls(t.Context(), in)
	require.NoError(t, err)
	verify(t, in, a)
	found := map[string][]string{}
	for _, c := range a.Result.(values.NullsResult).Columns {
		for _, p := range c.Placeholders {
			found[c.Column] = append(found[c.Column], p.Value)
		}
	}
	return found, a
}

// every replaces each n-th text of a column.
func every(n int, by string, texts []string) []string {
	return repeated(len(texts), func(i int) string {
		if i%n == n-1 {
			return by
		}
		return texts[i]
	})
}

const plantedRows = 1200

func TestPlantedPlaceholdersAreFound(t *testing.T) {
	r := source(1)
	names := repeated(plantedRows, func(int) string {
		return firstNames[r.IntN(len(firstNames))] + " " + lastNames[r.IntN(len(lastNames))]
	})
	towns := pick(r, plantedRows, cities)
	numbers := repeated(plantedRows, func(int) string { return strconv.Itoa(r.IntN(80)) })
	amounts := repeated(plantedRows, func(int) string { return strconv.FormatFloat(20+r.Float64()*180, 'f', 2, 64) })
	dates := repeated(plantedRows, func(int) string { return fmt.Sprintf("20%02d-%02d-%02d", 10+r.IntN(14), 1+r.IntN(12), 1+r.IntN(28)) })
	births := repeated(plantedRows, func(int) string { return fmt.Sprintf("19%02d-%02d-%02d", 40+r.IntN(60), 1+r.IntN(12), 1+r.IntN(28)) })
	mails := repeated(plantedRows, func(i int) string { return fmt.Sprintf("user%d@example.org", i) })
	phones := repeated(plantedRows, func(int) string { return fmt.Sprintf("(%03d) %03d-%04d", 200+r.IntN(700), r.IntN(1000), r.IntN(10000)) })
	for _, plant := range []struct {
		kind  string
		value string
		host  []string
	}{
		{"VARCHAR", "", names}, {"VARCHAR", "   ", names}, {"VARCHAR", "\u00a0", towns}, {"VARCHAR", "N/A", names}, {"VARCHAR", "n/a", towns},
		{"VARCHAR", "NA", names}, {"VARCHAR", "NA", numbers}, {"VARCHAR", "-", towns}, {"VARCHAR", "--", names}, {"VARCHAR", "?", towns},
		{"VARCHAR", "unknown", names}, {"VARCHAR", "Unknown", towns}, {"VARCHAR", "none", names}, {"VARCHAR", "None", towns},
		{"VARCHAR", "null", names}, {"VARCHAR", "NULL", towns}, {"VARCHAR", "nil", names}, {"VARCHAR", "tbd", names}, {"VARCHAR", "TBD", dates},
		{"VARCHAR", "missing", names}, {"VARCHAR", "not available", names}, {"VARCHAR", "#N/A", amounts}, {"VARCHAR", "nan", amounts},
		{"VARCHAR", "NaN", names}, {"VARCHAR", ".", names}, {"VARCHAR", "xxx", names}, {"VARCHAR", "XXXX", towns}, {"VARCHAR", "k.A.", towns},
		{"VARCHAR", "s/o", names}, {"VARCHAR", "inconnu", towns}, {"VARCHAR", "desconocido", names}, {"VARCHAR", "brak", towns},
		{"VARCHAR", "(none)", mails}, {"VARCHAR", "<null>", names}, {"VARCHAR", "none@none.com", mails}, {"VARCHAR", "000-000-0000", phones},
		{"VARCHAR", "see notes", numbers}, {"VARCHAR", "later", dates}, {"VARCHAR", "no address", mails}, {"VARCHAR", "-999", numbers},
		{"VARCHAR", "9999", amounts}, {"VARCHAR", "1900-01-01", dates}, {"VARCHAR", "0000-00-00", dates},
		{"INTEGER", "9999", numbers}, {"INTEGER", "-999", numbers}, {"INTEGER", "-1", numbers}, {"INTEGER", "99999", numbers},
		{"INTEGER", "999", numbers}, {"INTEGER", "2147483647", numbers}, {"INTEGER", "86421", numbers}, {"DOUBLE", "-1", amounts},
		{"DOUBLE", "9999", amounts}, {"DOUBLE", "-99.9", amounts}, {"DOUBLE", "nan", amounts}, {"DECIMAL(10,2)", "99999.99", amounts},
		{"DATE", "1900-01-01", dates}, {"DATE", "1970-01-01", dates}, {"DATE", "9999-12-31", dates}, {"DATE", "0001-01-01", dates},
		{"DATE", "1970-01-01", births}, {"DATE", "1900-01-01", births}, {"DATE", "2001-01-01", dates},
		{"TIMESTAMP", "1970-01-01 00:00:00", dates},
		{"TIMESTAMPTZ", "1900-01-01 00:00:00+00", dates},
	} {
		lake := analysistest.New(t, "SELECT "+list("c", plant.kind, every(37, plant.value, plant.host)))
		found, a := nulls(t, lake.Input(nil))
		planted := "planted " + strconv.Quote(plant.value) + " as " + plant.kind
		require.Len(t, found["c"], 1, planted)
		if plant.kind == "VARCHAR" {
			require.Equal(t, plant.value, found["c"][0], planted)
		}
		require.Len(t, a.Proposals, 1, planted)
		require.Equal(t, int64(plantedRows/37), *a.Proposals[0].Effect.Rows, planted)
	}
}

func TestValuesThatLookLikePlaceholdersStay(t *testing.T) {
	r := source(2)
	numbers := func(n func() int) []string {
		return repeated(plantedRows, func(int) string { return strconv.Itoa(n()) })
	}
	for name, c := range map[string][2]any{
		"country codes":     {"VARCHAR", pick(r, plantedRows, countryCodes)},
		"continents":        {"VARCHAR", pick(r, plantedRows, []string{"AF", "AN", "AS", "EU", "NA", "OC", "SA"})},
		"airports":          {"VARCHAR", pick(r, plantedRows, []string{"NAN", "TBD", "JFK", "FRA", "CDG", "NIL", "LHR", "HND", "XXX", "ORD"})},
		"amounts":           {"VARCHAR", pick(r, plantedRows, []string{"none", "some", "all"})},
		"severities":        {"VARCHAR", pick(r, plantedRows, []string{"Low", "None", "Medium", "High"})},
		"discounts":         {"VARCHAR", pick(r, plantedRows, []string{"None", "Member", "Staff", "Student"})},
		"states of parcels": {"VARCHAR", pick(r, plantedRows, []string{"delivered", "missing", "returned", "damaged"})},
		"genders":           {"VARCHAR", pick(r, plantedRows, []string{"female", "male", "unknown"})},
		"grades":            {"VARCHAR", pick(r, plantedRows, []string{"B", "A", "C", "D", "F", "A+", "B-"})},
		"signs":             {"VARCHAR", pick(r, plantedRows, []string{"+", "-", "++"})},
		"operators":         {"VARCHAR", pick(r, plantedRows, []string{"=", "-", "/", "*", "<"})},
		"ratings":           {"VARCHAR", pick(r, plantedRows, []string{"AAA", "AA", "A", "BBB", "BB", "B", "CCC"})},
		"sizes":             {"VARCHAR", pick(r, plantedRows, []string{"S", "M", "L", "XL", "XXL", "XXXL"})},
		"names":             {"VARCHAR", append(pick(r, plantedRows, lastNames), "Null", "Nan", "Na")},
		"environments":      {"VARCHAR", pick(r, plantedRows, []string{"prod", "test", "dev"})},
		"classes":           {"VARCHAR", pick(r, plantedRows, []string{"1", "2", "3", "4", "K"})},
		"zip codes":         {"VARCHAR", repeated(plantedRows, func(int) string { return fmt.Sprintf("%05d", r.IntN(100000)) })},
		"changes":           {"INTEGER", numbers(func() int { return r.IntN(21) - 10 })},
		"small negatives":   {"INTEGER", numbers(func() int { return int(r.NormFloat64()*2) + 2 })},
		"directions":        {"INTEGER", numbers(func() int { return r.IntN(3) - 1 })},
		"counts":            {"INTEGER", numbers(func() int { return max(0, r.IntN(12)-6) })},
		"amounts of money":  {"INTEGER", numbers(func() int { return int(1000 * r.ExpFloat64()) })},
		"prices":            {"INTEGER", numbers(func() int { return 100*(1+r.IntN(10)) - 1 })},
		"ages":              {"INTEGER", numbers(func() int { return 18 + r.IntN(82) })},
		"quantities to 999": {"INTEGER", numbers(func() int { return 1 + r.IntN(999) })},
		"codes of replies":  {"INTEGER", numbers(func() int { return []int{200, 201, 301, 404, 500}[r.IntN(5)] })},
		"ports":             {"INTEGER", numbers(func() int { return []int{80, 443, 8080, 9999, 22}[r.IntN(5)] })},
		"temperatures":      {"DOUBLE", repeated(plantedRows, func(int) string { return strconv.FormatFloat(r.NormFloat64()*12, 'f', 1, 64) })},
		"dates from 1970":   {"DATE", repeated(plantedRows, func(i int) string { return fmt.Sprintf("%d-01-01", 1970+i%50) })},
		"dates of birth": {"DATE", repeated(plantedRows, func(i int) string {
			return fmt.Sprintf("%d-%02d-%02d", 1900+i%110, 1+i%12, 1+i%28)
		})},
		"firsts of the month": {"DATE", repeated(plantedRows, func(i int) string { return fmt.Sprintf("%d-%02d-01", 2015+i%9, 1+i%12) })},
	} {
		lake := analysistest.New(t, "SELECT "+list("c", c[0].(string), c[1].([]string)))
		found, a := nulls(t, lake.Input(nil))
		require.Empty(t, found["c"], name)
		require.Empty(t, a.Proposals, name)
	}
}

func TestPlaceholdersAreReplacedOnlyWhereNullIsAllowed(t *testing.T) {
	const sql = "SELECT CASE WHEN range % 10 = 0 THEN 'N/A' ELSE 'Name ' || range END AS name FROM range(500)"
	for name, change := range map[string]func(*analysis.Column){
		"masked": func(c *analysis.Column) { c.Masked = true }, "NOT NULL": func(c *analysis.Column) { c.Nullable = false },
		"key": func(c *analysis.Column) { c.Key = true },
	} {
		in := analysistest.New(t, sql).Input(func(in *analysis.Input) { change(&in.Columns[0]) })
		found, a := nulls(t, in)
		require.Equal(t, []string{"N/A"}, found["name"], name)
		require.Empty(t, a.Proposals, name)
	}
}

func TestNullsAreFilledFromAColumnThatDeterminesThem(t *testing.T) {
	lake := analysistest.New(t, `SELECT range AS id, lpad((range % 60)::VARCHAR, 5, '0') AS postcode,
		CASE WHEN range % 13 = 0 THEN NULL WHEN range = 1001 THEN 'Elsewhere'
			WHEN range % 17 = 0 THEN 'N/A' ELSE 'City ' || (range % 60) // 4 END AS city,
		CASE WHEN range % 11 = 0 THEN NULL ELSE range % 7 END AS free, CASE WHEN range % 9 = 0 THEN NULL ELSE 'DE' END AS constant,
		CASE WHEN range % 9 = 0 THEN NULL WHEN range % 97 = 0 THEN 'FR' ELSE 'DE' END AS "nearly constant" FROM range(3000)`)
	in := lake.Input(func(in *analysis.Input) { in.Table.PrimaryKey, in.Columns[0].Key = []string{"id"}, true })
	found, a := nulls(t, in)
	require.Equal(t, map[string][]string{"city": {"N/A"}}, found)
	for _, c := range a.Result.(values.NullsResult).Columns {
		if c.Column != "city" {
			require.Nil(t, c.Replacement, c.Column)
			continue
		}
		require.Equal(t, "postcode", c.Replacement.DeterminedBy)
		require.Equal(t, c.Nulls, c.Replacement.Rows)
		require.Greater(t, c.Replacement.Consistency, 0.99)
	}
	require.Len(t, a.Proposals, 2)
	fill := a.Proposals[1].Change.(analysis.UpdateRows)
	// What the proposal fills in is what the postcode has in other rows.
	wrong := lake.Count(`SELECT count(*) FROM lake.sales.t WHERE (` + fill.Where + `) AND (` + fill.Set["city"] +
		`) IS DISTINCT FROM 'City ' || (id % 60) // 4`)
	require.Zero(t, wrong)
	require.NotEmpty(t, a.References)
	require.Equal(t, "17", *a.Result.(values.NullsResult).Rows[0].Key["id"])
}
