package maintenance_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
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

// deltaRS is a process of delta-rs that answers one request a line.
type deltaRS struct {
	in  io.Writer
	out *bufio.Reader
}

const deltaRSLoop = `
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
for line in sys.stdin:
    question = json.loads(line)
    try:
        answer = globals()[question.pop("do")](**question)
        print(json.dumps({"ok": answer}, default=str), flush=True)
    except Exception as e:
        print(json.dumps({"error": repr(e)}), flush=True)
os._exit(0)
`

func startDeltaRS(t *testing.T) *deltaRS {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), oracletest.Python(t), "-B", "-c", deltaRSLoop)
	cmd.Env = append(os.Environ(), "TZ=UTC")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, in.Close())
		require.NoError(t, cmd.Wait())
	})
	return &deltaRS{in: in, out: bufio.NewReader(out)}
}

// ask returns the answer of delta-rs, or fails the test.
func ask[T any](tb require.TestingT, d *deltaRS, question map[string]any) T {
	line, err := json.Marshal(question)
	require.NoError(tb, err)
	_, err = d.in.Write(append(line, '\n'))
	require.NoError(tb, err)
	answer, err := d.out.ReadBytes('\n')
	require.NoError(tb, err)
	var got struct {
		OK    T
		Error string
	}
	require.NoError(tb, json.Unmarshal(answer, &got), "%s", answer)
	require.Empty(tb, got.Error)
	return got.OK
}

// deletedOf is a set of rows.
func deletedOf(rows ...int64) (*deletion.Rows, error) { return deletion.Of(slices.Values(rows)) }
