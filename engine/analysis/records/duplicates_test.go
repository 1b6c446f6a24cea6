package records_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/analysistest"
	"github.com/lakewarden/lakewarden/engine/analysis/records"
)

// withKey returns an input whose table has a primary key, without the columns that tests
// keep for themselves.
func withKey(lake *analysistest.Lake, key string) analysis.Input {
	return lake.Input(func(in *analysis.Input) {
		if key != "" {
			in.Table.PrimaryKey = []string{key}
		}
		in.Table.Columns = slices.DeleteFunc(slices.Clone(in.Table.Columns), func(c analysis.Column) bool { return c.Name == "entity" })
		in.Columns = in.Table.Columns
		for i := range in.Columns {
			in.Columns[i].Key = in.Columns[i].Name == key
		}
	})
}

func duplicates(tb testing.TB, in analysis.Input) (records.Duplicates, analysis.Answer) {
	tb.Helper()
	answer, err := records.FindDuplicates(tb.Context(), in)
	require.NoError(tb, err)
	requireSound(tb, answer)
	return answer.Result.(records.Duplicates), answer
}

// requireSound checks what holds for every answer.
func requireSound(tb testing.TB, answer analysis.Answer) {
	tb.Helper()
	body, err := json.Marshal(answer.Result)
	require.NoError(tb, err)
	require.NotContains(tb, strings.ReplaceAll(string(body), `"keep":null`, ""), `s":null`, "lists are never null")
	rest := answer.Text
	for {
		_, after, found := strings.Cut(rest, "[[")
		if !found {
			break
		}
		tag, following, _ := strings.Cut(after, "]]")
		rest = following
		require.True(tb, slices.ContainsFunc(answer.References, func(r analysis.Reference) bool { return r.Tag() == "[["+tag+"]]" }), tag)
	}
}

// quality returns precision and recall of the pairs in the clusters, where truth has the
// entity by key.
func quality(d records.Duplicates, truth map[string]string) (precision, recall float64) {
	clusters, sizes := map[int][]string{}, map[string]int{}
	for _, m := range d.Members {
		clusters[m.Cluster] = append(clusters[m.Cluster], truth[*m.Key["id"]])
	}
	for _, entity := range truth {
		sizes[entity]++
	}
	right, wrong, all := 0, 0, 0
	for _, n := range sizes {
		all += n * (n - 1) / 2
	}
	for _, entities := range clusters {
		for i, a := range entities {
			for _, b := range entities[:i] {
				if a == b {
					right++
				} else {
					wrong++
				}
			}
		}
	}
	return float64(right) / float64(max(right+wrong, 1)), float64(right) / float64(max(all, 1))
}

func entities(tb testing.TB, lake *analysistest.Lake) map[string]string {
	tb.Helper()
	in := lake.Input(nil)
	rows, err := in.Texts(tb.Context(), "SELECT CAST(id AS VARCHAR), CAST(entity AS VARCHAR) FROM "+in.Table.From())
	require.NoError(tb, err)
	truth := map[string]string{}
	for _, row := range rows {
		truth[*row[0]] = *row[1]
	}
	return truth
}

func TestPeopleWithErrorsAreFound(t *testing.T) {
	for _, size := range [][2]int{{400, 100}, {4000, 1500}} {
		lake := analysistest.New(t, people(size[0], size[1]))
		in := withKey(lake, "id")
		in.Limit = 10_000
		d, answer := duplicates(t, in)
		precision, recall := quality(d, entities(t, lake))
		require.Greater(t, precision, 0.99)
		require.Greater(t, recall, 0.98)
		require.Equal(t, int64(size[0]+size[1]), d.RowsCompared)
		require.Len(t, d.Clusters, int(d.ClusterCount))
		require.Equal(t, int(d.DuplicateRows)+len(d.Clusters), len(d.Members))
		require.NotContains(t, d.ComparedColumns, "id")
		require.Contains(t, answer.Text, " another row, in ")
		require.NotEmpty(t, answer.References)
		for _, c := range d.Clusters {
			for _, row := range c.Rows {
				require.Equal(t, row, d.Rows[row-1].Row)
			}
		}

		in.Limit = 3
		few, _ := duplicates(t, in)
		require.Len(t, few.Clusters, 3)
		require.Equal(t, d.ClusterCount, few.ClusterCount, "counts are of all clusters")
		require.Equal(t, d.DuplicateRows, few.DuplicateRows)
		require.Equal(t, d.Clusters[0].Confidence, few.Clusters[0].Confidence)
	}
}

func TestTheOrderOfRowsDoesNotMatter(t *testing.T) {
	sql := people(1500, 500)
	var answers []string
	for _, order := range []string{"id", "hash(id)", "surname DESC, id"} {
		lake := analysistest.New(t, "SELECT * FROM ("+sql+") ORDER BY "+order)
		d, answer := duplicates(t, withKey(lake, "id"))
		body, err := json.Marshal([]any{d, answer.Text, answer.References, answer.Warnings})
		require.NoError(t, err)
		answers = append(answers, string(body))
	}
	require.Equal(t, answers[0], answers[1])
	require.Equal(t, answers[0], answers[2])
}

func TestTablesWithoutDuplicates(t *testing.T) {
	number := func(salt string, n int) string { return fmt.Sprintf("CAST(hash(i || '%s') %% %d AS BIGINT)", salt, n) }
	rows := func(items string, n int) string {
		return fmt.Sprintf("SELECT %s FROM (SELECT range AS i FROM range(%d))", items, n)
	}
	tables := map[string]string{
		"people": "SELECT * EXCLUDE entity FROM (" + people(4000, 0) + ")",
		"sensor": rows("TIMESTAMP '2024-01-01' + to_seconds(i // 20 * 60) AS at, 'sensor ' || (i % 20) AS sensor, round(20 + "+
			number("v", 100)+" / 10.0, 1) AS degrees, 'ok' AS status", 8000),
		"events": rows("TIMESTAMP '2024-01-01' + to_milliseconds(i * 1357) AS at, "+number("u", 300)+" AS person, '/page/' || "+
			number("p", 200)+" AS url, ['view', 'buy'][1 + "+number("e", 2)+"] AS event", 8000),
		"prices": rows("DATE '2020-01-01' + CAST(i // 50 AS INTEGER) AS day, 'SYM' || (i % 50) AS symbol, round("+number("o", 1000)+
			" / 100.0, 2) AS opened, 1000 * "+number("v", 5000)+" AS volume", 6000),
		"rents": rows("i AS id, 'Tenant ' || (i % 300) AS tenant, CAST(500 + (i % 300) * 3 AS DECIMAL(9,2)) AS amount, "+
			"DATE '2020-01-01' + CAST(30 * (i // 300) AS INTEGER) AS due, 'Building ' || (i % 20) AS building", 6000),
		"survey": rows(number("a", 5)+" AS a, "+number("b", 5)+" AS b, "+number("c", 5)+" AS c", 3000),
		"variants": rows("i AS id, "+pick("(i // 12)", "brand", 40)+" || ' ' || "+pick("(i // 12)", "model", 4000)+
			" AS product, ['S', 'M', 'L', 'XL'][1 + i % 4] AS size, ['red', 'blue', 'black'][1 + i // 4 % 3] AS colour", 3000),
	}
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		lake := analysistest.New(t, tables[name])
		key := ""
		if strings.Contains(tables[name], "AS id") {
			key = "id"
		}
		d, _ := duplicates(t, withKey(lake, key))
		require.LessOrEqual(t, d.ClusterCount, int64(1), "%s: %v", name, d.Rows)
		answer, err := records.MergeRecords(t.Context(), withKey(lake, key))
		require.NoError(t, err)
		require.LessOrEqual(t, len(answer.Proposals), 1, name)
	}
}

func TestEqualRowsAreDuplicatesOnlyIfThatIsNoCoincidence(t *testing.T) {
	const names = "SELECT range AS id, md5('n' || range // 2) AS name, md5('t' || range // 2) AS town FROM range(200)"
	d, _ := duplicates(t, withKey(analysistest.New(t, names), "id"))
	require.Equal(t, int64(100), d.ExactDuplicates)
	require.Equal(t, int64(100), d.ClusterCount)
	require.True(t, d.Clusters[0].Exact)
	require.Len(t, d.Members, 40, "of 20 clusters")

	d, answer := duplicates(t, withKey(analysistest.New(t, "SELECT range % 3 AS a, range % 2 AS b FROM range(200)"), ""))
	require.Zero(t, d.ExactDuplicates)
	require.NotEmpty(t, answer.Warnings)
}

func TestTablesOfEveryShape(t *testing.T) {
	wide := make([]string, analysistest.WideColumns())
	for i := range wide {
		wide[i] = fmt.Sprintf("md5('%d' || range // 2) AS c%d", i, i)
	}
	for name, sql := range map[string]string{
		"empty":    "SELECT 1 AS id, 'a' AS name LIMIT 0",
		"one row":  "SELECT 1 AS id, 'a' AS name",
		"nulls":    "SELECT range AS id, NULL::VARCHAR AS name FROM range(50)",
		"constant": "SELECT range AS id, 'x' AS name FROM range(50)",
		"odd names": `SELECT range AS id, md5('' || range // 2) AS "a""b", md5('x' || range // 2) AS "select",
			md5('y' || range // 2) AS "ü ' -" FROM range(60)`,
		"long":   "SELECT range AS id, repeat(md5('' || range // 2), 9000) AS text, md5('a' || range // 2) AS name FROM range(40)",
		"nested": "SELECT range AS id, [range] AS l, {'a': range} AS s, md5('' || range // 2) AS name FROM range(50)",
		"wide":   "SELECT range AS id, " + strings.Join(wide, ", ") + " FROM range(40)",
		"hostile": `SELECT range AS id, ''' OR 1=1 --' || chr(10) || chr(31) || range // 2 AS name,
			'"; DROP TABLE t' || md5('' || range // 2) AS town FROM range(60)`,
	} {
		lake := analysistest.New(t, sql)
		for _, key := range []string{"", "id"} {
			in := withKey(lake, key)
			d, answer := duplicates(t, in)
			body, err := json.Marshal([]any{d, answer.References})
			require.NoError(t, err)
			require.Less(t, len(body), 200_000, name)
			merges, err := records.MergeRecords(t.Context(), in)
			require.NoError(t, err, name)
			requireSound(t, merges)
			if body, err = json.Marshal([]any{merges.Result, merges.References, merges.Proposals}); name != "wide" {
				require.NoError(t, err)
				require.Less(t, len(body), 200_000, name)
			}
		}
	}
}

func TestASearchCanBeCancelled(t *testing.T) {
	lake := analysistest.New(t, people(2000, 500))
	ctx, cancel := context.WithCancel(t.Context())
	in := withKey(lake, "id")
	in.Progress = func(done, _ int) {
		if done == 3 {
			cancel()
		}
	}
	_, err := records.FindDuplicates(ctx, in)
	require.ErrorIs(t, err, context.Canceled)
}

func BenchmarkMillionRows(b *testing.B) {
	lake := analysistest.New(b, people(800_000, 200_000))
	truth := entities(b, lake)
	in := withKey(lake, "id")
	for b.Loop() {
		in.Limit = 10_000
		d, _ := duplicates(b, in)
		b.ReportMetric(float64(d.ClusterCount), "clusters")
	}
	b.ReportMetric(float64(len(truth)), "rows")
}

// The day on which something is due says nothing that the day on which it was lent has not
// said.
func TestColumnsThatFollowFromOthersAreNoFurtherEvidence(t *testing.T) {
	lake := analysistest.New(t, `SELECT range AS id, 40000 + CAST(hash(range) % 8000 AS BIGINT) AS book,
		1 + CAST(hash(range + 70000) % 2500 AS BIGINT) AS reader, lent, lent + 28 AS due,
		lent + CAST(hash(range + 90000) % 45 AS INTEGER) AS returned,
		CAST(hash(range + 50000) % 3 AS BIGINT) AS renewals
		FROM (SELECT range, DATE '2024-01-01' + CAST(hash(range + 30000) % 365 AS INTEGER) AS lent FROM range(1000))`)
	answer, err := records.FindDuplicates(t.Context(), lake.Input(nil))
	require.NoError(t, err)
	require.Zero(t, answer.Result.(records.Duplicates).ClusterCount)
}
