package anomaly_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/analysistest"
	"github.com/lakewarden/lakewarden/engine/analysis/anomaly"
)

// noise returns a number from 0 to n-1 that looks random and depends on the row.
func noise(salt, n int) string {
	return fmt.Sprintf("CAST(hash(range * 1000 + %d) %% %d AS BIGINT)", salt, n)
}

// trips are 20,000 trips between stations. Planted values replace those of single rows.
func trips(planted map[string]string) string {
	base := []struct{ name, sql string }{
		{"id", "range"},
		{"origin", "['Aber', 'Bree', 'Cole', 'Dale'][1 + " + noise(1, 4) + "]"},
		{"dest", "['Elm', 'Fern', 'Gorse', 'Holly', 'Ivy'][1 + " + noise(2, 5) + "]"},
		{"km", "100 + 37 * " + noise(1, 4) + " + 61 * " + noise(2, 5)},
		{"minutes", "CAST((100 + 37 * " + noise(1, 4) + " + 61 * " + noise(2, 5) + ") * (0.9 + 0.2 * " + noise(3, 1000) + " / 1000) AS BIGINT)"},
		{"start", "(" + noise(4, 1440) + " // 60) * 100 + " + noise(4, 1440) + " % 60"},
		{"finish", "((" + noise(4, 1440) + " + " + noise(5, 90) + ") % 1440 // 60) * 100 + (" + noise(4, 1440) + " + " + noise(5, 90) + ") % 60"},
		{"late", noise(5, 90)},
		{"ticket", "chr(65 + CAST(" + noise(6, 26) + " AS INTEGER)) || lpad(CAST(" + noise(7, 100000) + " AS VARCHAR), 5, '0')"},
		{"adults", noise(8, 5)}, {"children", noise(9, 6)}, {"persons", noise(8, 5) + " + " + noise(9, 6)},
		{"at", "TIMESTAMPTZ '2023-01-01 00:00:00+00' + to_hours(" + noise(10, 8760) + ")"},
		{"month", "month(TIMESTAMPTZ '2023-01-01 00:00:00+00' + to_hours(" + noise(10, 8760) + "))"},
		{"day", "day(TIMESTAMPTZ '2023-01-01 00:00:00+00' + to_hours(" + noise(10, 8760) + "))"},
		{"year", "2023"},
		{"hour", "hour(TIMESTAMPTZ '2023-01-01 00:00:00+00' + to_hours(" + noise(10, 8760) + "))"},
		{"income", "CAST(exp(8 + 2 * sqrt(-2 * ln((1 + " + noise(11, 100000) + ") / 100001.0)) * cos(6.2831853 * " + noise(12, 100000) +
			" / 100000)) AS BIGINT)"},
		{"odd \"\"name", "'x' || " + noise(13, 9)},
	}
	items := make([]string, len(base))
	for i, c := range base {
		items[i] = c.sql + ` AS "` + c.name + `"`
		if sql, ok := planted[c.name]; ok {
			items[i] = "CASE " + sql + " ELSE " + c.sql + ` END AS "` + c.name + `"`
		}
	}
	return "SELECT " + strings.Join(items, ", ") + " FROM range(20000)"
}

func detect(t *testing.T, in analysis.Input) (anomaly.Result, analysis.Answer) {
	t.Helper()
	answer, err := anomaly.DetectAnomalies(t.Context(), in)
	require.NoError(t, err)
	for _, r := range answer.References {
		require.Contains(t, answer.Text, r.Tag())
	}
	return answer.Result.(anomaly.Result), answer
}

// cells returns the kinds of the findings by id and column.
func cells(r anomaly.Result) map[string]string {
	out := map[string]string{}
	for _, f := range r.Findings {
		out[*r.Rows[f.Row-1].Values["id"]+" "+f.Column] = f.Kind
	}
	return out
}

func keyed(in *analysis.Input) {
	in.Limit = 1000
	in.Table.PrimaryKey = []string{"id"}
	in.Columns[0].Key = true
}

func TestPlantedCellsAreFound(t *testing.T) {
	lake := analysistest.New(t, trips(map[string]string{
		"origin":  "WHEN range = 10 THEN 'Abre' WHEN range = 11 THEN 'Elm' WHEN range = 12 THEN 'Bree '",
		"dest":    "WHEN range = 11 THEN 'Aber'",
		"km":      "WHEN range = 20 THEN -198 WHEN range = 21 THEN 26000 WHEN range = 22 THEN 0",
		"minutes": "WHEN range = 30 THEN 2100 WHEN range = 31 THEN -150",
		"start":   "WHEN range = 40 THEN 1275",
		"finish":  "WHEN range = 41 THEN 2512",
		"late":    "WHEN range = 42 THEN 999",
		"ticket":  "WHEN range = 50 THEN '12345' WHEN range = 51 THEN 'a12345'",
		"persons": "WHEN range = 60 THEN 44",
		"month":   "WHEN range = 70 THEN 13",
		"day":     "WHEN range = 71 THEN 32",
		"year":    "WHEN range = 72 THEN 2032",
		"at":      "WHEN range = 73 THEN TIMESTAMPTZ '1970-01-01 00:00:00+00'",
		"hour":    "WHEN range = 74 THEN 27",
	}))
	r, answer := detect(t, lake.Input(keyed))
	found := cells(r)
	for cell, kinds := range map[string]string{
		"10 origin": "rare_category", "11 origin": "swapped", "11 dest": "swapped", "12 origin": "format rare_category",
		"20 km": "wrong_sign broken_dependency", "21 km": "wrong_unit broken_dependency out_of_range", "22 km": "broken_dependency",
		"30 minutes": "wrong_unit unusual_in_group out_of_range", "31 minutes": "wrong_sign",
		"40 start": "impossible_time", "41 finish": "impossible_time", "42 late": "broken_equation out_of_range",
		"50 ticket": "format", "51 ticket": "format", "60 persons": "broken_equation out_of_range",
		"70 month": "out_of_range", "71 day": "out_of_range", "72 year": "out_of_range", "73 at": "inconsistent_date out_of_range",
		"74 hour": "out_of_range",
	} {
		require.Contains(t, found, cell)
		require.Contains(t, strings.Fields(kinds), found[cell], cell)
		delete(found, cell)
	}
	require.Empty(t, found, "findings in rows that are right")
	require.Contains(t, r.Relations, "persons = adults + children")
	require.Contains(t, r.Relations, "late = finish - start in minutes of times of day")
	require.NotEmpty(t, answer.Proposals)
	for _, p := range answer.Proposals {
		update := p.Change.(analysis.UpdateRows)
		require.Equal(t, *p.Effect.Rows, lake.Count("SELECT count(*) FROM lake.sales.t WHERE "+update.Where))
		for _, expr := range update.Set {
			lake.Count("SELECT count(" + expr + ") FROM lake.sales.t WHERE " + update.Where)
		}
	}
	n := int64(0)
	for _, c := range r.Counts {
		n += c.Cells
	}
	require.Equal(t, int64(len(r.Findings)), n)

	few, _ := detect(t, lake.Input(func(in *analysis.Input) { in.Limit = 3 }))
	require.Len(t, few.Findings, 3)
	require.Equal(t, r.Counts, few.Counts)
}

func TestACleanTableHasNoFindings(t *testing.T) {
	r, answer := detect(t, analysistest.New(t, trips(nil)).Input(keyed))
	require.Empty(t, r.Findings)
	require.Empty(t, answer.Proposals)
	require.Contains(t, answer.Text, "looks wrong")
}

func TestFindingsDoNotDependOnTheOrderOfRows(t *testing.T) {
	var answers []string
	for _, order := range []string{"range", "hash(range)"} {
		lake := analysistest.New(t, strings.Replace(trips(map[string]string{"km": "WHEN range % 500 = 3 THEN 7",
			"late": "WHEN range = 5 THEN 400"}),
			"FROM range(20000)", "FROM (SELECT range FROM range(20000) ORDER BY "+order+")", 1))
		_, answer := detect(t, lake.Input(nil))
		encoded, err := json.Marshal(answer)
		require.NoError(t, err)
		answers = append(answers, string(encoded))
	}
	require.Equal(t, answers[0], answers[1])
}

func TestMaskedColumnsAreNotRepaired(t *testing.T) {
	lake := analysistest.New(t, trips(map[string]string{"persons": "WHEN range = 60 THEN 44"}))
	_, answer := detect(t, lake.Input(func(in *analysis.Input) {
		keyed(in)
		for i := range in.Columns {
			in.Columns[i].Masked = in.Columns[i].Name == "persons"
		}
	}))
	require.Empty(t, answer.Proposals)
}

func TestConditionsRestrictWhatIsExamined(t *testing.T) {
	lake := analysistest.New(t, trips(map[string]string{"persons": "WHEN range IN (60, 15000) THEN 44"}))
	r, _ := detect(t, lake.Input(func(in *analysis.Input) { in.Table.Where = "id < 10000 -- half" }))
	require.Equal(t, int64(10000), r.CheckedRows)
	require.Equal(t, map[string]string{"60 persons": "out_of_range"}, cells(r))
	require.NotEqual(t, "44", *r.Findings[0].Expected)
	require.Len(t, *r.Findings[0].Expected, 1, "the sum of the parts")
	r, _ = detect(t, lake.Input(func(in *analysis.Input) { in.Columns = in.Columns[:3] }))
	require.Empty(t, r.Findings, "the request is about other columns")
}

func TestOddTablesAreExamined(t *testing.T) {
	wide := make([]string, min(300, analysistest.WideColumns()))
	for i := range wide {
		wide[i] = fmt.Sprintf(`CAST(hash(range + %d) %% 100 AS BIGINT) AS "select ""%d"`, i*7919, i)
	}
	for name, sql := range map[string]string{
		"empty":       "SELECT 1 AS a, 'x' AS b FROM range(0)",
		"one row":     "SELECT 1 AS a, 'x' AS b",
		"all null":    "SELECT NULL::INTEGER AS a, NULL::VARCHAR AS b, NULL::DATE AS c FROM range(300)",
		"nested only": "SELECT [range] AS a, {'b': range} AS s FROM range(300)",
		"long texts":  "SELECT range AS id, repeat('x', 500000) || range AS body FROM range(60)",
		"constants":   "SELECT 1 AS a, 'x' AS b, TRUE AS c FROM range(1000)",
		"not finite":  "SELECT CASE range % 10 WHEN 0 THEN 'NaN' WHEN 1 THEN 'inf' ELSE range::VARCHAR END::DOUBLE AS f FROM range(1000)",
		"extremes":    "SELECT CASE WHEN range % 2 = 0 THEN 9223372036854775807 ELSE -9223372036854775808 END AS a, range AS b FROM range(1000)",
		"quotes":      "SELECT 'it''s' || (range % 3) AS \"a'b\", '%_\\' || range AS \"c;--\" FROM range(1000)",
		"types": "SELECT MAP {range: 'x'} AS m, {'a': range} AS s, 'a'::BLOB AS b, range::FLOAT AS f, (range / 7)::DECIMAL(38,10) AS d, " +
			"'infinity'::DATE AS inf, " +
			"CASE WHEN range % 3 = 0 THEN 'infinity'::TIMESTAMP " +
			"ELSE TIMESTAMP '2024-01-01' + to_days(CAST(range AS INTEGER)) END AS ts FROM range(600)",
		"wide": "SELECT " + strings.Join(wide, ", ") + " FROM range(500)",
	} {
		t.Run(name, func(t *testing.T) {
			r, answer := detect(t, analysistest.New(t, sql).Input(nil))
			require.Empty(t, r.Findings)
			require.NotEmpty(t, answer.Text)
		})
	}
}

// Many wide rows with long texts do not make an answer without bound.
func TestAnswersAreBounded(t *testing.T) {
	sql := "SELECT range AS id, CASE WHEN range % 331 = 7 THEN 5000.0 + range % 9973 ELSE hash(range) % 1000 / 10.0 END AS amount"
	for i := range 38 {
		sql += fmt.Sprintf(", repeat('😀', 200) AS t%d", i)
	}
	lake := analysistest.New(t, sql+" FROM range(100000)")
	result, _ := detect(t, lake.Input(func(in *analysis.Input) {
		in.Limit = 10_000
		in.Columns = in.Columns[:2]
		in.Table.PrimaryKey = []string{"id"}
	}))
	require.Greater(t, len(result.Rows), 250)
	text, err := json.Marshal(result)
	require.NoError(t, err)
	require.Less(t, len(text), 8<<20)
	last := result.Rows[len(result.Rows)-1]
	require.Equal(t, *last.Key["id"], *last.Values["id"])
}
