package query_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// oddTypes are those that Delta has not; each row of the two kinds.
const oddTypes = `SELECT * FROM (VALUES
	(1, 99999999999999999999999999999999999999::HUGEINT, 18446744073709551615::UBIGINT, 255::UTINYINT, 'f47ac10b-58cc-4372-a567-0e02b2c3d479'::UUID, TIME '23:59:59.999999', TIME_NS '00:00:00.000000001', TIMESTAMP_S '2024-02-29 01:02:03', TIMESTAMP_MS '2024-02-29 01:02:03.004', TIMESTAMP_NS '2024-02-29 01:02:03.000000005', [1,2]::INTEGER[2], [{'a': [1, NULL], 'b': MAP {'k': DATE '2024-02-29'}}], [[1.5::DECIMAL(9,1)], NULL, []], NULL),
	(2, -99999999999999999999999999999999999999, 0, 0, '00000000-0000-0000-0000-000000000000', '00:00:00', '23:59:59.999999999', '1969-12-31 23:59:59', '1969-12-31 23:59:59.999', '1969-12-31 23:59:59.999999999', [NULL, 3], [NULL, {'a': NULL, 'b': MAP {}}], [], NULL),
	(3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL))
	t(id, h, ub, ut, u, ti, tn, ts_s, ts_ms, ts_ns, arr, st, ll, nothing) ORDER BY id`

// sameAsArrow compares the Parquet file with the Arrow stream of the same rows,
// as pyarrow reads both and as DuckDB reads both. What Parquet has no type for
// is widened without loss: seconds to milliseconds, arrays of a fixed length to
// lists. DuckDB reads times of nanoseconds (tn) from Parquet as microseconds.
const sameAsArrow = `
import sys, duckdb, pyarrow as pa, pyarrow.ipc as ipc, pyarrow.parquet as pq
parquet, stream = sys.argv[1], sys.argv[2]
a = ipc.open_stream(open(stream, 'rb')).read_all()
p = pq.read_table(parquet)
assert a.column_names == p.column_names, (a.column_names, p.column_names)
for name in a.column_names:
    x, y = a[name], p[name]
    if 'NaN' in str(x) or 'nan' in str(x):
        assert str(x.to_pylist()) == str(y.to_pylist()), name
        continue
    if pa.types.is_timestamp(x.type) and x.type.unit == 's':
        x = x.cast(pa.timestamp('ms'))
    if pa.types.is_fixed_size_list(x.type):
        assert x.to_pylist() == y.to_pylist(), name
        continue
    x = x.combine_chunks().cast(y.type) if x.type != y.type else x.combine_chunks()
    assert x.to_pylist() == y.to_pylist() if not (pa.types.is_timestamp(y.type) or pa.types.is_time(y.type)) else x.equals(y.combine_chunks()), (name, x, y)
d = duckdb.connect()
d.register('stream', a)
left = d.execute("SELECT COLUMNS(c -> c <> 'tn')::VARCHAR FROM read_parquet(?)", [parquet]).fetchall()
right = d.execute("SELECT COLUMNS(c -> c <> 'tn')::VARCHAR FROM stream").fetchall()
assert left == right, (left, right)
`

func TestParquetIsReadBackEqual(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("types", harness.EveryType, nil, harness.EveryColumn...)
	for name, sql := range map[string]string{
		"types of Delta": "SELECT * FROM " + s.Schema + ".types ORDER BY id",
		"other types":    oddTypes,
		"no rows":        "SELECT 1 AS a, 'x' AS b, [1] AS c WHERE false",
		"many rows":      "SELECT i, 'row ' || i AS word, i % 7 = 0 AS seventh FROM range(300000) t(i)",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			fetch := func(format, file string) string {
				r := s.Admin.Call("POST", "/v1/query", map[string]any{"sql": sql}, "Accept", format)
				require.Equal(t, 200, r.Status, "%s", r.Body)
				require.Equal(t, format, r.Header.Get("Content-Type"))
				path := filepath.Join(dir, file)
				require.NoError(t, os.WriteFile(path, r.Body, 0o600))
				return path
			}
			harness.Python(t, sameAsArrow, fetch(harness.ParquetType, "p.parquet"), fetch("application/vnd.apache.arrow.stream", "a.arrow"))
		})
	}
}

func TestParquetRefusesTypesThatItWouldChange(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	for _, sql := range []string{"SELECT union_value(k := 1) AS x", "SELECT [union_value(k := 1)] AS x"} {
		code, fields := s.Admin.Call("POST", "/v1/query", map[string]any{"sql": sql}, "Accept", harness.ParquetType).Problem(t, 422)
		require.Equal(t, "type_not_supported", code, sql)
		require.Equal(t, []string{"sql"}, fields)
	}
	code, _ := s.Admin.Call("POST", "/v1/query", map[string]any{"sql": "SELECT 170141183460469231731687303715884105727::HUGEINT AS x"},
		"Accept", harness.ParquetType).Problem(t, 422)
	require.Equal(t, "value_error", code)
	code, _ = s.Admin.Call("POST", "/v1/query", map[string]any{"sql": "SELECT (i - 10)::UTINYINT AS x FROM range(20) t(i)"}, "Accept",
		harness.ParquetType).Problem(t, 422)
	require.Equal(t, "value_error", code)
	// A name twice: readers pick by position.
	r := s.Admin.Call("POST", "/v1/query", map[string]any{"sql": "SELECT 1 AS a, 'x' AS a"}, "Accept", harness.ParquetType)
	require.Equal(t, 200, r.Status, "%s", r.Body)
	trailer, _ := trailers(s.Admin, harness.ParquetType, map[string]any{"sql": "SELECT * FROM range(100)", "row_limit": 10})
	require.Equal(t, "true", trailer.Get("X-Truncated"))
}
