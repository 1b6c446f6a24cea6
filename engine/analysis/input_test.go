package analysis_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/analysistest"
)

func TestStatementsReadTheVersionAndTheRowsOfTheRequest(t *testing.T) {
	lake := analysistest.New(t, "SELECT range AS id, 'x' AS \"odd \"\"name\" FROM range(3)",
		"SELECT range AS id, CASE WHEN range = 4 THEN NULL ELSE repeat('é', 300) END AS \"odd \"\"name\" FROM range(10)")
	in := lake.Input(nil)
	all, err := in.Rows(t.Context(), "TRUE")
	require.NoError(t, err)
	require.Equal(t, int64(10), all)

	in.Table.Where = "id > 2 -- comment"
	some, err := in.Rows(t.Context(), "id < 5", in.Columns[0])
	require.NoError(t, err)
	require.Equal(t, int64(2), some)
	none, err := in.Rows(t.Context(), "TRUE")
	require.NoError(t, err)
	require.Equal(t, int64(7), none, "without columns")

	c := in.Columns[1]
	from := in.Table.From(in.Columns...)
	texts, err := in.Texts(t.Context(), "SELECT "+analysis.Shown(c)+" FROM "+from+" WHERE id IN (3, 4) ORDER BY id")
	require.NoError(t, err)
	require.Len(t, texts, 2)
	require.Equal(t, strings.Repeat("é", analysis.MaxText), *texts[0][0])
	require.Nil(t, texts[1][0])

	older, err := in.Older(t.Context(), 0)
	require.NoError(t, err)
	in.Table = older
	all, err = in.Rows(t.Context(), "TRUE")
	require.NoError(t, err)
	require.Equal(t, int64(3), all)
}

func TestKindsOfColumns(t *testing.T) {
	lake := analysistest.New(t, `SELECT 'a' AS v, 1::TINYINT AS i, 1.5::DECIMAL(9,2) AS d, 1.5::DOUBLE AS f, TRUE AS b,
		DATE '2024-01-01' AS day, TIMESTAMP '2024-01-01 00:00:00' AS at, [1] AS l`)
	kinds := []analysis.Kind{analysis.KindText, analysis.KindInteger, analysis.KindDecimal, analysis.KindFloat, analysis.KindBoolean,
		analysis.KindDate, analysis.KindTimestamp, analysis.KindOther}
	in := lake.Input(nil)
	for i, c := range in.Columns {
		require.Equal(t, kinds[i], c.Kind(), c.Name)
		n, err := in.Rows(t.Context(), c.Quoted()+" IS NOT DISTINCT FROM "+literal(t, in, c), c)
		require.NoError(t, err)
		require.Equal(t, int64(1), n, c.Name)
	}
}

// literal returns the literal of the only value of a column.
func literal(t *testing.T, in analysis.Input, c analysis.Column) string {
	t.Helper()
	texts, err := in.Texts(t.Context(), "SELECT CAST("+c.Quoted()+" AS VARCHAR) FROM "+in.Table.From(c))
	require.NoError(t, err)
	return analysis.Literal(c, *texts[0][0])
}
