package records_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/analysistest"
	"github.com/lakewarden/lakewarden/engine/analysis/records"
)

// pairsOf returns SQL for a table of 60 rows with other values, and the given rows.
func pairsOf(rows string) string {
	return "SELECT 1000 + range AS id, " + pick("range", "given", 700) + " || ' ' || " + pick("range", "name", 4000) + " AS name, " +
		pick("range", "town", 3000) + " AS town, " + pick("range", "street", 3000) + ` || ' lane' AS street,
		CAST(hash(range) % 1000 AS INTEGER) AS points, NULL::TIMESTAMP AS updated_at, NULL::VARCHAR AS note FROM range(60)
		UNION ALL SELECT * FROM (VALUES ` + rows + `)`
}

func merges(t *testing.T, in analysis.Input) (records.Merges, analysis.Answer) {
	t.Helper()
	answer, err := records.MergeRecords(t.Context(), in)
	require.NoError(t, err)
	requireSound(t, answer)
	return answer.Result.(records.Merges), answer
}

func TestTheBestValuesSurvive(t *testing.T) {
	lake := analysistest.New(t, pairsOf(`
		(1, 'Katherine Johnson', 'White Sulphur Springs', 'Main Street 1', 7, TIMESTAMP '2024-01-01', NULL),
		(2, 'Katherine Johnson', 'White Sulphur Springs', NULL, 7, TIMESTAMP '2024-03-01', NULL),
		(3, 'Katherine Jonson', 'White Sulphur Spring', 'Main Street 1', 7, TIMESTAMP '2024-02-01', 'x')`))
	m, answer := merges(t, withKey(lake, "id"))
	require.Len(t, m.Clusters, 1)
	c := m.Clusters[0]
	require.Equal(t, "3", *c.Keep["id"], "the row with the most values")
	require.Len(t, c.Delete, 2)
	rules := map[string]string{}
	for _, f := range c.Fields {
		rules[f.Column] = f.Rule
	}
	require.Equal(t, map[string]string{"name": "most_frequent", "town": "most_frequent", "street": "only_value", "updated_at": "newest",
		"note": "only_value"}, rules)
	require.Len(t, answer.Proposals, 1)
	p := answer.Proposals[0]
	require.Equal(t, int64(3), *p.Effect.Rows)
	require.Equal(t, analysis.MergeRows{
		Rows: []map[string]any{{"id": json.Number("3"), "name": "Katherine Johnson", "town": "White Sulphur Springs",
			"updated_at": "2024-03-01 00:00:00"}},
		Delete: []map[string]any{{"id": json.Number("1")}, {"id": json.Number("2")}},
	}, p.Change)
	require.Contains(t, p.Title, "id 3")
}

func TestNewestAndLongestValuesDecideBetweenTwo(t *testing.T) {
	lake := analysistest.New(t, pairsOf(`
		(1, 'Katherine Johnson', 'White Sulphur Springs', 'Main Street 1', 7, NULL, NULL),
		(2, 'Katherine Johnso', 'White Sulphur Springs', 'Main Street 1', 7, NULL, NULL),
		(3, 'Edward Longbottom', 'Upper Whittlesham', 'Church Road 9', 7, TIMESTAMP '2024-01-01', NULL),
		(4, 'Edward Longbotto', 'Upper Whittlesham', 'Church Road 9', 7, TIMESTAMP '2024-03-01', NULL)`))
	m, _ := merges(t, withKey(lake, "id"))
	require.Len(t, m.Clusters, 2)
	got := map[string]string{}
	for _, c := range m.Clusters {
		for _, f := range c.Fields {
			if f.Column == "name" {
				got[*f.Value] = f.Rule
			}
		}
	}
	require.Equal(t, map[string]string{"Katherine Johnson": "most_complete", "Edward Longbotto": "newest"}, got)
}

func TestEqualRowsAreDeletedOnly(t *testing.T) {
	lake := analysistest.New(t, pairsOf(`(1, 'Katherine Johnson', 'White Sulphur Springs', 'Main Street 1', 7, NULL, NULL),
		(2, 'Katherine Johnson', 'White Sulphur Springs', 'Main Street 1', 7, NULL, NULL)`))
	_, answer := merges(t, withKey(lake, "id"))
	require.Len(t, answer.Proposals, 1)
	require.Equal(t, analysis.MergeRows{Rows: []map[string]any{}, Delete: []map[string]any{{"id": json.Number("2")}}},
		answer.Proposals[0].Change)
	require.Equal(t, int64(1), *answer.Proposals[0].Effect.Rows)
}

func TestRowsWithoutAKeyAreDescribedOnly(t *testing.T) {
	lake := analysistest.New(t, "SELECT * EXCLUDE id FROM ("+pairsOf(`
		(1, 'Katherine Johnson', 'White Sulphur Springs', 'Main Street 1', 7, NULL, NULL),
		(2, 'Katherine Jonson', 'White Sulphur Springs', 'Main Street 1', 7, NULL, NULL)`)+")")
	m, answer := merges(t, withKey(lake, ""))
	require.Len(t, m.Clusters, 1)
	require.Nil(t, m.Clusters[0].Keep)
	require.Len(t, answer.Proposals, 1)
	require.Nil(t, answer.Proposals[0].Change)
	require.NotEmpty(t, answer.Warnings)
}

func TestContradictingRowsAreNotMerged(t *testing.T) {
	for name, sql := range map[string]string{
		"identifiers": "SELECT *, 'AB' || (hash(id) % 1000000000) AS passport FROM (%)",
		"long texts":  "SELECT *, repeat(md5('' || id), 100) AS essay FROM (%)",
		"nested":      "SELECT *, [id] AS list FROM (%)",
	} {
		rows := pairsOf(`(1, 'Katherine Johnson', 'White Sulphur Springs', 'Main Street 1', 7, NULL, NULL),
			(2, 'Katherine Jonson', 'White Sulphur Springs', 'Main Street 1', 7, NULL, NULL)`)
		before, after, _ := cutPercent(sql)
		m, answer := merges(t, withKey(analysistest.New(t, before+rows+after), "id"))
		require.Equal(t, int64(1), m.ClusterCount, name)
		require.Empty(t, m.Clusters, name)
		require.Empty(t, answer.Proposals, name)
		require.NotEmpty(t, answer.Warnings, name)
	}
}

func cutPercent(sql string) (before, after string, found bool) {
	for i := range sql {
		if sql[i] == '%' && sql[i+1] == ')' {
			return sql[:i], sql[i+1:], true
		}
	}
	return sql, "", false
}

func TestMaskedColumnsAreNotWritten(t *testing.T) {
	lake := analysistest.New(t, pairsOf(`(1, 'Katherine Johnson', 'White Sulphur Springs', 'Main Street 1', 7, NULL, NULL),
		(2, 'Katherine Johnso', 'White Sulphur Springs', 'Main Street 1', 7, NULL, 'y')`))
	in := withKey(lake, "id")
	for i := range in.Columns {
		in.Columns[i].Masked = in.Columns[i].Name == "name"
	}
	_, answer := merges(t, in)
	require.Len(t, answer.Proposals, 1)
	require.Equal(t, analysis.MergeRows{Rows: []map[string]any{}, Delete: []map[string]any{{"id": json.Number("1")}}},
		answer.Proposals[0].Change)
}
