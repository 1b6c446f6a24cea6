package hostile_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestHostileUploadsReachNothing uploads files whose names, options and contents try to
// become SQL, paths or URLs.
func TestHostileUploadsReachNothing(t *testing.T) {
	s := harness.Start(t, nil)
	s.Create("victim", nil, harness.Col("id", "long"))
	s.Admin.Write(s.TablePath("victim")+"/rows", harness.RowsOf(map[string]any{"id": 1}))
	root := s.Config.DataDir
	texts := []string{
		`'); DROP TABLE victim; --`, `', header=true) UNION ALL SELECT content, '', '', '', '', 1 FROM read_text('/etc/passwd') --`,
		`../../../etc/passwd`, filepath.Join(root, "catalog.db"), `{schema}`, `"`, `'`, `\`,
		"\u202e", `a/../../b?x=1#y`, strings.Repeat("x", 4000),
		`$(touch /tmp/x)`, "%00", `s3://bucket/x`, `http://127.0.0.1/`,
	}
	for _, text := range texts {
		for _, field := range []string{"csv_null", "csv_delimiter", "csv_quote", "csv_date_format", "csv_timestamp_format", "csv_header",
			"csv_encoding", "csv_decimal", "csv_null_in", "csv_skip", "csv_comment", "csv_thousands", "schema", "name"} {
			r := s.Admin.Infer(harness.Upload{Name: text, Content: "a,b\n1,x\n2,y\n", Fields: []string{field, text}})
			if r.Status != 200 {
				harness.Refused(t, r, r.Status)
				continue
			}
			require.EqualValues(t, 2, r.JSON(t)["rowCount"], "%s: %s", field, text)
			require.NotContains(t, string(r.Body), "root:")
		}
		quoted := `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
		r := s.Admin.Infer(harness.Upload{Name: text, Content: quoted + ",b\n" + quoted + ",1\n" + quoted + ",2\n"})
		require.Equal(t, 200, r.Status, "%s", r.Body)
		got := r.JSON(t)
		path := got["load"].(map[string]any)["path"].(string)
		require.NotContains(t, strings.TrimSuffix(strings.TrimPrefix(path, "/v1/tables/lake/{schema}/"), "/rows"), "/", path)
		require.NotContains(t, path, "..")
	}
	require.EqualValues(t, 1, s.Admin.Count(s.Schema+".victim"))
	require.NotContains(t, s.Log.String(), `"msg":"panic"`)
}
