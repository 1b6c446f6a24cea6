package write_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// manyRows writes a file of few bytes for its rows.
const manyRows = `
import sys, pyarrow as pa, pyarrow.parquet as pq
for name, n in (("most", 1000), ("more", 1001), ("many", 30_000_000)):
    rows = pa.table({"id": pa.nulls(n, pa.int64() if n < 2000 else pa.bool_())})
    pq.write_table(rows, sys.argv[1] + "/" + name)
`

func TestRowsOfABodyAreBounded(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, func(c *harness.Settings) { c.BodyRows = 1000 })
	path := s.Create("t", nil, harness.Col("id", "long"))
	dir := t.TempDir()
	harness.Python(t, manyRows, dir)
	parquet := func(name string) string {
		body, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		return string(body)
	}
	require.EqualValues(t, 1000, s.Admin.OK("GET", "/v1/limits", nil)["body_rows"])
	require.Less(t, len(parquet("many")), 3<<20)
	for media, bodies := range map[string]map[string]bool{
		harness.ParquetType:    {parquet("most"): true, parquet("more"): false, parquet("many"): false},
		"text/csv":             {"id\n" + strings.Repeat("1\n", 1000): true, "id\n" + strings.Repeat("1\n", 1001): false},
		"application/x-ndjson": {strings.Repeat("[1]\n", 1000): true, strings.Repeat("[1]\n", 1001): false},
		"application/json":     {`{"rows":[[1]` + strings.Repeat(",[1]", 1000) + `]}`: false},
	} {
		for body, taken := range bodies {
			for _, to := range []string{"/rows?dry_run=true", "/rows/merge?on=id&when_matched=ignore&dry_run=true"} {
				r := s.Admin.Call("POST", path+to, body, "Content-Type", media)
				if taken {
					require.Contains(t, []int{200, 422}, r.Status, "%s", r.Body)
					require.NotContains(t, string(r.Body), "too_many_rows")
					continue
				}
				code, fields := r.Problem(t, 422)
				require.Equal(t, "too_many_rows", code, media)
				require.Equal(t, []string{"rows"}, fields)
			}
		}
	}
}
