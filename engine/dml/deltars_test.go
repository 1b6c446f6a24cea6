package dml_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/oracletest"
)

// deltaRS is a process of delta-rs that answers one request a line.
type deltaRS struct {
	in  io.Writer
	out *bufio.Reader
}

const deltaRSLoop = `
import json, os, sys
from deltalake import DeltaTable, QueryBuilder, write_deltalake
import pyarrow as pa
def text(table, kind=False):
    out = []
    for r in table.to_pylist():
        st = r.get("st")
        cells = [r["id"], r["v"], r["p"], None if st is None else st["x"], None if st is None or st["l"] is None else len(st["l"])]
        out.append(("%s " % r["_change_type"] if kind else "") + "|".join("~" if c is None else str(c) for c in cells))
    return sorted(out)
def rows(path):
    return text(pa.table(QueryBuilder().register("t", DeltaTable(path)).execute("SELECT * FROM t").read_all()))
def feed(path, version):
    return text(pa.table(DeltaTable(path).load_cdf(starting_version=version, ending_version=version).read_all()), True)
def append(path, id, v, p):
    columns = {"id": pa.array([id], pa.int64()), "v": pa.array([v], pa.string()), "p": pa.array([p], pa.string())}
    write_deltalake(path, pa.table(columns), mode="append")
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
	//nolint:gosec // the interpreter of the tests
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

// ask returns the answer of delta-rs, or its error.
func ask[T any](tb require.TestingT, d *deltaRS, question map[string]any) (T, string) {
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
	return got.OK, got.Error
}
