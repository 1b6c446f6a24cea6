package gateway_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/gateway"
	"github.com/lakewarden/lakewarden/engine/oracletest"
)

// mustTables writes the tables of testdata/write.py once.
func mustTables(tb testing.TB) string {
	tb.Helper()
	root := tb.TempDir()
	out, err := exec.CommandContext(tb.Context(), oracletest.Python(tb), "testdata/write.py", root).CombinedOutput()
	require.NoError(tb, err, string(out))
	return root
}

// duck is a DuckDB process.
type duck struct {
	in  io.Writer
	out *bufio.Scanner
}

type answer struct {
	Rows  [][]string
	Error string
	// Ms is the time on the clock, CPUms that of the process's threads.
	Ms    float64
	CPUms float64 `json:"cpu_ms"`
}

// mustDuck starts DuckDB with the settings of a session; grant may be nil.
func mustDuck(tb testing.TB, grant *gateway.Grant, begin ...string) *duck {
	tb.Helper()
	cmd := exec.Command(oracletest.Python(tb), "testdata/engine.py")
	in, err := cmd.StdinPipe()
	require.NoError(tb, err)
	out, err := cmd.StdoutPipe()
	require.NoError(tb, err)
	cmd.Stderr = os.Stderr
	require.NoError(tb, cmd.Start())
	tb.Cleanup(func() {
		require.NoError(tb, in.Close())
		require.NoError(tb, cmd.Wait())
	})
	d := &duck{in: in, out: bufio.NewScanner(out)}
	d.out.Buffer(nil, 64<<20)
	sql := []string{
		"LOAD '" + oracletest.Extension(tb, "httpfs") + "'", "LOAD '" + oracletest.Extension(tb, "delta") + "'",
		"SET preserve_insertion_order = true",
	}
	if grant != nil {
		sql = append(sql, session(grant)...)
	}
	sql = append(sql, begin...)
	d.must(tb, append(sql, "SELECT 1")...)
	return d
}

// session is what a session is given to read through the gateway.
func session(grant *gateway.Grant) []string {
	var quoted []string
	for _, prefix := range grant.Prefixes {
		quoted = append(quoted, "'"+prefix+"'")
	}
	return []string{
		"SET allow_persistent_secrets = false", "SET http_retries = 1",
		"SET enable_external_file_cache = true", "SET validate_external_file_cache = 'NO_VALIDATION'",
		"SET parquet_metadata_cache = true", "SET enable_http_metadata_cache = true",
		"CREATE SECRET gw (TYPE s3, KEY_ID '" + grant.AccessKey + "', SECRET '" + grant.SecretKey + "', REGION '" + grant.Region +
			"', ENDPOINT '" + grant.Endpoint + "', URL_STYLE 'path', USE_SSL false, SCOPE 's3://')",
		"SET allowed_directories = [" + strings.Join(quoted, ", ") + "]",
		"SET enable_external_access = false", "SET lock_configuration = true",
	}
}

// ask runs statements and returns the rows of the last.
func (d *duck) ask(tb testing.TB, sql ...string) answer {
	tb.Helper()
	line, err := json.Marshal(map[string]any{"sql": sql})
	require.NoError(tb, err)
	_, err = d.in.Write(append(line, '\n'))
	require.NoError(tb, err)
	require.True(tb, d.out.Scan(), "DuckDB has ended: %v", d.out.Err())
	var a answer
	require.NoError(tb, json.Unmarshal(d.out.Bytes(), &a))
	return a
}

func (d *duck) must(tb testing.TB, sql ...string) [][]string {
	tb.Helper()
	a := d.ask(tb, sql...)
	require.Empty(tb, a.Error, sql)
	return a.Rows
}
