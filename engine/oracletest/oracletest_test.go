package oracletest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/oracletest"
)

func TestPath(t *testing.T) {
	const variable = "LAKEWARDEN_TEST_A_PART"
	dir := t.TempDir()
	t.Setenv(variable, dir)
	path, err := oracletest.Path(variable, "part")
	require.NoError(t, err)
	require.Equal(t, dir, path)
	t.Setenv(variable, filepath.Join(dir, "none"))
	_, err = oracletest.Path(variable, "part")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, filepath.Join(dir, "none"))

	t.Setenv(variable, "")
	root := filepath.Join(t.TempDir(), "repository")
	below := filepath.Join(root, "engine", "delta")
	require.NoError(t, os.MkdirAll(below, 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "bin", "part"), 0o700))
	t.Chdir(below)
	_, err = oracletest.Path(variable, "part")
	require.ErrorContains(t, err, variable)
	require.NoError(t, os.WriteFile(filepath.Join(root, "go.mod"), nil, 0o600))
	path, err = oracletest.Path(variable, "part")
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(path, "..", "..", "go.mod"))
	_, err = oracletest.Path(variable, "missing")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestExtension(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("LAKEWARDEN_EXTENSION_DIR", dir)
	path := filepath.Join(dir, "v1.0.0", "linux_amd64", "delta.duckdb_extension")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.Equal(t, path, oracletest.Extension(t, "delta"))
}

// TestNeedNeverSkipsWhereTestsMustBeComplete checks that a missing program fails a
// test with CI set.
func TestNeedNeverSkipsWhereTestsMustBeComplete(t *testing.T) {
	for ci, want := range map[string]string{"": "skipped", "true": "failed", "1": "failed"} {
		t.Setenv("CI", ci)
		ended := &outcome{TB: t}
		oracletest.Need(ended, os.ErrNotExist)
		require.Equal(t, want, ended.how)
		ended = &outcome{TB: t}
		oracletest.Need(ended, nil)
		require.Empty(t, ended.how)
	}
}

// outcome records how a test would have ended.
type outcome struct {
	testing.TB
	how string
}

func (o *outcome) Helper()               {}
func (o *outcome) Fatalf(string, ...any) { o.how = "failed" }
func (o *outcome) Skipf(string, ...any)  { o.how = "skipped" }
