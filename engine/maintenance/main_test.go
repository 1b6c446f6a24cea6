package maintenance_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/deletion"
	"github.com/lakewarden/lakewarden/engine/oracletest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var twoColumns = delta.Struct{Fields: []delta.Field{
	{Name: "id", Type: delta.Long, Nullable: true},
	{Name: "p", Type: delta.String, Nullable: true},
}}

// deltaRSScript has the functions that delta-rs answers requests with.
const deltaRSScript = `
import datetime, decimal, json, os, random, sys
from deltalake import DeltaTable, QueryBuilder, write_deltalake
import pyarrow as pa
def vacuum(path, **options):
    return sorted(DeltaTable(path).vacuum(enforce_retention_duration=False, **options))
def query(sql):
    import duckdb
    return [r[0] for r in duckdb.sql(sql).fetchall()]
def rows(path):
    table = pa.table(QueryBuilder().register("t", DeltaTable(path)).execute("SELECT * FROM t").read_all())
    return sorted(json.dumps(r, default=str, sort_keys=True) for r in table.to_pylist())
def write(path, first, n, p, partitioned=False, vectors=False):
    ids = list(range(first, first + n))
    t = pa.table({"id": pa.array(ids, pa.int64()), "p": pa.array([p] * n, pa.string()), "x": pa.array([i / 7 for i in ids]),
        "l": pa.array([[i] for i in ids], pa.list_(pa.int32())),
        "d": pa.array([decimal.Decimal(i).scaleb(-2) for i in ids], pa.decimal128(38, 2)),
        "t": pa.array([datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc) + datetime.timedelta(microseconds=i)
            for i in ids], pa.timestamp("us", "UTC"))})
    write_deltalake(path, t, mode="append", partition_by=["p"] if partitioned else None,
        configuration={"delta.enableDeletionVectors": "true"} if vectors else None)
    return DeltaTable(path).version()
def members(path):
    def piece(ids, **columns):
        write_deltalake(path, pa.table({"id": pa.array(ids, pa.int64()), **columns}), mode="append", schema_mode="merge")
    one = pa.struct([("a", pa.int32())])
    two = pa.struct([("a", pa.int32()), ("b", pa.string())])
    piece([1, 2], s=pa.array([{"a": 1}, None], one))
    piece([3], s=pa.array([{"a": 3, "b": "x"}], two))
    piece([4])
    piece([5], s=pa.array([{"a": None, "b": None}], two), l=pa.array([[{"a": 5, "b": "y"}, None]], pa.list_(two)))
    return DeltaTable(path).version()
def remove(path, where):
    return DeltaTable(path).delete(where)
def grid(path, side, files):
    cells = [(x, y) for x in range(side) for y in range(side)]
    random.Random(1).shuffle(cells)
    part = len(cells) // files
    for i in range(files):
        some = cells[i * part:(i + 1) * part]
        write_deltalake(path, pa.table({"x": pa.array([c[0] for c in some], pa.int64()), "y": pa.array(["%05d" % c[1] for c in some]),
            "l": pa.array([[c[0]] for c in some], pa.list_(pa.int32()))}), mode="append")
    return 0
sys.path.append(os.path.join("..", "datafile", "testdata"))
from identities import identities
`

// ask returns the answer of delta-rs, or fails the test.
func ask[T any](tb require.TestingT, p *oracletest.Process, request map[string]any) T {
	answer, failed := oracletest.Ask[T](tb, p, request)
	require.Empty(tb, failed)
	return answer
}

// deletedOf is a set of rows.
func deletedOf(rows ...int64) (*deletion.Rows, error) { return deletion.Of(slices.Values(rows)) }
