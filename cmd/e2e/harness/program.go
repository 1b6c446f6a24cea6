package harness

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/lakewarden/engines"
	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/oracletest"
	"github.com/lakewarden/lakewarden/engine/worker"
)

// asProgram makes the test binary behave as the program itself.
const asProgram = "LAKEWARDEN_TEST_AS_PROGRAM"

// WorkerOptions returns the options of an engine in processes that start this program
// and have the files of eng.
func WorkerOptions(t testing.TB, eng *duckdb.Engine) worker.Options {
	t.Helper()
	opts, err := engines.WorkerOptions(engines.WorkerSetup{Extensions: eng.Verified()})
	require.NoError(t, err)
	return opts
}

// Program is the command line with a data directory and an address of its own.
type Program struct {
	t       *testing.T
	Dir     string
	Address string
	Env     []string
}

// NewProgram returns the command line of a server with an empty data directory.
func NewProgram(t *testing.T) *Program {
	t.Helper()
	extensions := oracletest.Extensions(t)
	address, err := oracletest.FreeAddress()
	require.NoError(t, err)
	p := &Program{t: t, Dir: t.TempDir(), Address: address}
	p.Env = append(os.Environ(), asProgram+"=1", "LAKEWARDEN_DATA_DIR="+filepath.Join(p.Dir, "data"), "LAKEWARDEN_LISTEN="+p.Address,
		"LAKEWARDEN_EXTENSION_DIR="+extensions, "LAKEWARDEN_MEMORY_MIB=1024", "LAKEWARDEN_STATEMENT_MEMORY_MIB=256")
	return p
}

func (p *Program) command(args ...string) (*exec.Cmd, *bytes.Buffer, *bytes.Buffer) {
	p.t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	var stdout, stderr bytes.Buffer
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = p.Env, p.Dir, &stdout, &stderr
	return cmd, &stdout, &stderr
}

// Run runs a command to its end.
func (p *Program) Run(args ...string) (stdout, stderr string, err error) {
	p.t.Helper()
	cmd, out, text := p.command(args...)
	err = cmd.Run()
	return out.String(), text.String(), err
}

// Begin starts a command. The caller waits for its end.
func (p *Program) Begin(args ...string) *exec.Cmd {
	p.t.Helper()
	cmd, _, _ := p.command(args...)
	require.NoError(p.t, cmd.Start())
	p.t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd
}

// JSON runs a command that must succeed; its whole stdout is one JSON object.
func (p *Program) JSON(args ...string) map[string]any {
	p.t.Helper()
	stdout, stderr, err := p.Run(args...)
	require.NoError(p.t, err, "%s", stderr)
	dec := json.NewDecoder(strings.NewReader(stdout))
	var object map[string]any
	require.NoError(p.t, dec.Decode(&object), "%s", stdout)
	require.ErrorIs(p.t, dec.Decode(new(any)), io.EOF)
	return object
}

// Serve starts the server and waits until it is ready.
func (p *Program) Serve() (*exec.Cmd, *bytes.Buffer) {
	p.t.Helper()
	cmd, _, stderr := p.command("serve")
	require.NoError(p.t, cmd.Start())
	p.t.Cleanup(func() { _ = cmd.Process.Kill() })
	require.Eventually(p.t, func() bool {
		resp, err := http.Get("http://" + p.Address + "/readyz")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}, time.Minute, 20*time.Millisecond)
	return cmd, stderr
}

// Client returns a caller of the started server.
func (p *Program) Client(key string) *Client {
	return &Client{T: p.t, URL: "http://" + p.Address, Key: key}
}
