package maintenance_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakewarden/lakewarden/engine/delta"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var twoColumns = delta.Struct{Fields: []delta.Field{
	{Name: "id", Type: delta.Long, Nullable: true},
	{Name: "p", Type: delta.String, Nullable: true},
}}

// python finds the interpreter that has deltalake. It is absent on a fresh
// checkout; where tests must be complete its absence is a failure.
func python(t *testing.T) string {
	t.Helper()
	for _, c := range []string{os.Getenv("LAKEWARDEN_TEST_PYTHON"), filepath.Join("..", "..", "bin", "venv", "bin", "python")} {
		if _, err := os.Stat(c); c != "" && err == nil {
			return c
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatal("no Python with deltalake: run make test-deps")
	}
	t.Skip("no Python with deltalake: run make test-deps or set LAKEWARDEN_TEST_PYTHON")
	return ""
}

// deltaRS is a process of delta-rs that answers one question a line.
type deltaRS struct {
	in  io.Writer
	out *bufio.Reader
}

const deltaRSLoop = `
import json, sys, os
from deltalake import DeltaTable, QueryBuilder, write_deltalake
import pyarrow as pa
def vacuum(path, **options):
    return sorted(DeltaTable(path).vacuum(enforce_retention_duration=False, **options))
def rows(path):
    return sorted(json.dumps(r, default=str, sort_keys=True) for r in pa.table(DeltaTable(path).to_pyarrow_table()).to_pylist())
def append(path, ids, p):
    schema = DeltaTable(path).to_pyarrow_table().schema
    write_deltalake(path, pa.table({"id": pa.array(ids, pa.int64()), "p": pa.array([p] * len(ids), pa.string())}), mode="append")
    return DeltaTable(path).version()
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
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), python(t), "-c", deltaRSLoop)
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
