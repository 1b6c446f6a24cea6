package harness

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/oracletest"
)

// ParquetType is the media type of Parquet bodies.
const ParquetType = "application/vnd.apache.parquet"

// Python runs a program with pyarrow and DuckDB, which read what we write.
func Python(t *testing.T, program string, args ...string) {
	t.Helper()
	path := oracletest.Python(t)
	out, err := exec.Command(path, append([]string{"-c", program}, args...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// endPython ends a program that has done its work: threads of its libraries can
// abort the interpreter on its orderly way out.
const endPython = "\nimport os, sys\nsys.stdout.flush()\nos._exit(0)\n"

// DeltaPython returns a function that runs a Python program with delta-rs.
func DeltaPython(t *testing.T) func(program string, args ...string) {
	t.Helper()
	path := oracletest.Python(t)
	return func(program string, args ...string) {
		t.Helper()
		out, err := exec.Command(path, append([]string{"-c", program + endPython}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}
