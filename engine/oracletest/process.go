package oracletest

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// Process is a Python process that answers requests, one a line. One goroutine may
// use it at a time.
type Process struct {
	in  io.Writer
	out *bufio.Reader
}

// answerRequests calls the function that a request names with its other members.
const answerRequests = `
import json, os, sys
for line in sys.stdin:
    request = json.loads(line)
    try:
        answer = globals()[request.pop("do")](**request)
        print(json.dumps({"ok": answer}, default=str), flush=True)
    except Exception as e:
        print(json.dumps({"error": repr(e)}), flush=True)
os._exit(0)
`

// StartProcess starts a process that answers requests with the functions of a
// script. It ends with the test.
func StartProcess(t *testing.T, script string) *Process {
	t.Helper()
	//nolint:gosec // the interpreter of the tests
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), Python(t), "-B", "-c", script+answerRequests)
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
	return &Process{in: in, out: bufio.NewReader(out)}
}

// Ask returns the answer to a request, or the error that its function has raised.
// The member "do" names the function.
func Ask[T any](tb require.TestingT, p *Process, request map[string]any) (T, string) {
	line, err := json.Marshal(request)
	require.NoError(tb, err)
	_, err = p.in.Write(append(line, '\n'))
	require.NoError(tb, err)
	answer, err := p.out.ReadBytes('\n')
	require.NoError(tb, err)
	var got struct {
		OK    T
		Error string
	}
	require.NoError(tb, json.Unmarshal(answer, &got), "%s", answer)
	return got.OK, got.Error
}
