package profile_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/analysistest"
	"github.com/lakewarden/lakewarden/engine/analysis/profile"
)

const sales = `SELECT range AS id, ['north', 'south', 'east'][1 + CAST(range % 100 // 45 AS INTEGER)] AS region,
	CASE WHEN range % 4 = 0 THEN NULL ELSE range % 50 END AS "odd ""name", range * 1.5::DOUBLE AS amount,
	DATE '2024-01-01' + CAST(range % 366 AS INTEGER) AS day, [range] AS l FROM range(1000)`

func TestProfilesAreExact(t *testing.T) {
	in := analysistest.New(t, sales).Input(nil)
	list, err := profile.Columns(t.Context(), in, in.Columns)
	require.NoError(t, err)
	require.Len(t, list, 6)
	region, odd, amount, day := list[1], list[2], list[3], list[4]
	require.Equal(t, int64(3), region.Distinct)
	require.True(t, region.Exact)
	require.Equal(t, []profile.Value{{Value: "north", Rows: 450}, {Value: "south", Rows: 450}, {Value: "east", Rows: 100}}, region.Top)
	require.Equal(t, int64(4), region.Shortest)
	require.Equal(t, int64(250), odd.Nulls)
	require.Equal(t, int64(50), odd.Distinct)
	require.InDelta(t, 749.25, amount.Mean, 0)
	require.InDelta(t, 748.5, amount.Quantile(0.5), 1.5)
	require.Equal(t, "2024-01-01", day.Min)
	require.Equal(t, "2024-12-31", day.Max)
	require.Empty(t, list[0].Top)
}

func summary(t *testing.T, in analysis.Input) (profile.SummaryResult, string) {
	t.Helper()
	answer, err := profile.Summary(t.Context(), in)
	require.NoError(t, err)
	encoded, err := json.Marshal(answer.Result)
	require.NoError(t, err)
	require.Less(t, len(encoded), 400_000)
	return answer.Result.(profile.SummaryResult), answer.Text
}

func TestSummaryTellsWhatTheTableIsAbout(t *testing.T) {
	r, text := summary(t, analysistest.New(t, sales).Input(nil))
	require.Equal(t, int64(1000), r.Rows)
	require.Equal(t, []string{"id"}, r.Identifiers)
	require.Equal(t, int64(0), *r.DuplicateRows)
	require.Equal(t, profile.DateRange{Column: "day", From: "2024-01-01", To: "2024-12-31"}, *r.DateRange)
	for _, part := range []string{"1,000 rows and 6 columns", "2024-01-01 to 2024-12-31",
		`odd "name is missing most often, in 25 % of the rows`,
		`region (3 values, most often "north" with 45 % of the rows)`} {
		require.Contains(t, text, part)
	}
}

func TestAnswersDoNotDependOnTheOrderOfRows(t *testing.T) {
	var texts []string
	for _, order := range []string{"id", "hash(id)", "id DESC"} {
		in := analysistest.New(t, "SELECT * FROM ("+sales+") ORDER BY "+order).Input(nil)
		answer, err := profile.Summary(t.Context(), in)
		require.NoError(t, err)
		encoded, err := json.Marshal(answer)
		require.NoError(t, err)
		texts = append(texts, string(encoded))
	}
	require.Equal(t, texts[0], texts[1])
	require.Equal(t, texts[0], texts[2])
}

func TestSummaryOfOddTables(t *testing.T) {
	r, text := summary(t, analysistest.New(t, `SELECT 1 AS a, NULL::VARCHAR AS b FROM range(0)`).Input(nil))
	require.Equal(t, int64(0), r.Rows)
	require.Contains(t, text, "0 rows")
	r, _ = summary(t, analysistest.New(t, `SELECT NULL::VARCHAR AS "select", NULL::DOUBLE AS "ü b", 'NaN'::DOUBLE AS n`).Input(nil))
	require.Equal(t, int64(1), r.Columns[0].Nulls)
	r, _ = summary(t, analysistest.New(t, `SELECT 'x' AS a, TRUE AS b FROM range(5)`).Input(nil))
	require.Equal(t, int64(4), *r.DuplicateRows)
	r, _ = summary(t, analysistest.New(t, `SELECT repeat('é', 3000000) || (range // 2) AS a FROM range(10)`).Input(nil))
	require.Nil(t, r.DuplicateRows)
	require.Len(t, []rune(*r.Columns[0].Min), analysis.MaxText)
	r, _ = summary(t, analysistest.New(t, `SELECT MAP {range: 'x'} AS m, {'a': range} AS s, [range] AS l, 'a'::BLOB AS b, range::FLOAT AS f,
		1.5::DECIMAL(38,10) AS d,
		TIMESTAMP '2024-01-01 00:00:00' AS ts, 'infinity'::DATE AS inf, range % 2 = 0 AS ok FROM range(60)`).Input(nil))
	require.Len(t, r.Columns, 9)
	columns := make([]string, analysistest.WideColumns())
	for i := range columns {
		columns[i] = fmt.Sprintf("range %% %d || repeat('x', 300) AS c%d", i+2, i)
	}
	r, _ = summary(t, analysistest.New(t, "SELECT "+strings.Join(columns, ", ")+" FROM range(50)").Input(nil))
	require.Len(t, r.Columns, analysistest.WideColumns())
}
