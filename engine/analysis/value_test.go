package analysis_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/analysistest"
)

func TestLiteralsKeepEveryCharacter(t *testing.T) {
	lake := analysistest.New(t, "SELECT 'x' AS v FROM range(1)")
	in := lake.Input(nil)
	for _, text := range []string{"", "it''s", `"\n' --`, "a\x00b", "\x00", "'\x00'\x00\x00"} {
		got, err := in.Texts(t.Context(), "SELECT "+analysis.Literal(in.Columns[0], text)+" FROM "+in.Table.From(in.Columns...))
		require.NoError(t, err)
		require.Equal(t, text, *got[0][0])
	}
}

// Texts with the character NUL, which no statement can hold, are analysed like others.
func TestTextsWithNulAreAnalysed(t *testing.T) {
	lake := analysistest.New(t, `SELECT range AS id, CASE WHEN range % 7 = 0 THEN 'B' || chr(0) || 'onn' WHEN range % 3 = 0 THEN 'bonn'
		WHEN range % 5 = 0 THEN 'n' || chr(0) || '/a' ELSE 'Bonn' END AS city, 'k' || chr(0) || (range % 5) AS code FROM range(300)`)
	for action, run := range analyses {
		in := lake.Input(func(in *analysis.Input) {
			in.SourceColumns = []analysis.SourceColumn{{Name: "city"}}
			if action == analysis.ExplainRows {
				in.Keys = []map[string]any{{"city": "B\x00onn"}}
			}
		})
		_, err := run(t.Context(), in)
		require.NoError(t, err, action)
	}
}
