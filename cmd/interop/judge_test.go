package interop

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/oracletest"
)

// request is one request, a line, to a process that runs engines.
type request struct {
	Engine string `json:"engine,omitempty"`
	Do     string `json:"do"`
	Table  string `json:"table,omitempty"`
	// Folder is the local folder of the table, for engines without a client of its store.
	Folder string `json:"-"`
	Name   string `json:"name,omitempty"`
	URL    string `json:"url,omitempty"`
	Path   string `json:"path,omitempty"`
	Key    string `json:"key,omitempty"`
	Old    *int64 `json:"old"`
	New    int64  `json:"new,omitempty"`
	SQL    string `json:"sql,omitempty"`
	// Range of versions of which changes are read.
	From int64 `json:"from,omitempty"`
	To   int64 `json:"to,omitempty"`
}

// answer is the response. Refused is the engine's own error.
type answer struct {
	Refused string   `json:"refused"`
	Version string   `json:"version"`
	Columns []string `json:"columns"`
	Rows    []string `json:"rows"`
	// Status and Body are the server's response to a write. For conditions, Status
	// is the number of conditions that were tried.
	Status int    `json:"status"`
	Body   string `json:"body"`
}

// contents holds the rows of a table in canonical form.
type contents struct {
	Columns, Rows []string
}

func (a answer) contents() contents { return contents{a.Columns, a.Rows} }

// statementTimeout bounds one statement of an engine on a busy machine.
const statementTimeout = 4 * time.Minute

// process answers requests line by line.
type process struct {
	mu      sync.Mutex // held from a request until its answer
	name    string
	in      *json.Encoder
	out     *bufio.Reader
	command *exec.Cmd
	log     *os.File
}

// startProcess runs a program of testdata until the test ends.
func startProcess(t *testing.T, script string, options any, env ...string) *process {
	t.Helper()
	text, err := json.Marshal(options)
	require.NoError(t, err)
	path, err := filepath.Abs(filepath.Join("testdata", script))
	require.NoError(t, err)
	p := &process{name: script, command: exec.Command(oracletest.Python(t), "-B", path, string(text))}
	p.command.Env = append(os.Environ(), append(env, "TZ=UTC")...)
	p.log, err = os.Create(filepath.Join(t.TempDir(), script+".log"))
	require.NoError(t, err)
	p.command.Stderr = p.log
	in, err := p.command.StdinPipe()
	require.NoError(t, err)
	out, err := p.command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.command.Start())
	p.in, p.out = json.NewEncoder(in), bufio.NewReaderSize(out, 1<<20)
	t.Cleanup(func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, p.out)
		_ = p.command.Wait()
		_ = p.log.Close()
	})
	return p
}

// ask sends one request and waits for the answer.
func (p *process) ask(t *testing.T, r request) answer {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	limit := time.AfterFunc(statementTimeout, func() { _ = p.command.Process.Kill() })
	defer limit.Stop()
	require.NoError(t, p.in.Encode(r), "%s", p.name)
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		said, _ := os.ReadFile(p.log.Name())
		require.NoError(t, err, "%s ended at %+v: %s", p.name, r, said[max(0, len(said)-4000):])
	}
	var a answer
	require.NoError(t, json.Unmarshal(line, &a), "%s", line)
	return a
}

// judge is an engine that reads and writes tables without the server.
type judge struct {
	name    string
	process *process
	version string
}

func (j judge) ask(t *testing.T, r request) answer {
	t.Helper()
	r.Engine = j.name
	if strings.HasPrefix(r.Table, "az://") && j.name != "delta-rs" {
		r.Table = r.Folder
	}
	return j.process.ask(t, r)
}

// prepare applies the settings of a scenario.
func (j judge) prepare(t *testing.T, l scenario) {
	t.Helper()
	if j.name != "spark" {
		return
	}
	timestamps := "INT96"
	if l.farTimes {
		timestamps = "TIMESTAMP_MICROS"
	}
	require.Empty(t, j.ask(t, request{Do: "sql", SQL: "SET spark.sql.parquet.outputTimestampType = " + timestamps}).Refused)
}
