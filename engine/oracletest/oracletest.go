package oracletest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Python returns the path of the interpreter.
func Python(tb testing.TB) string {
	tb.Helper()
	return must(tb)(Path("LAKEWARDEN_TEST_PYTHON", "venv/bin/python"))
}

// Extensions returns the path of the folder with DuckDB's extensions.
func Extensions(tb testing.TB) string {
	tb.Helper()
	return must(tb)(Path("LAKEWARDEN_EXTENSION_DIR", "extensions"))
}

// Extension returns the path of an extension, for the newest engine version that it
// was fetched for.
func Extension(tb testing.TB, name string) string {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(Extensions(tb), "v*", "*", name+".duckdb_extension"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("extension %s: %w", name, os.ErrNotExist)
	}
	Need(tb, err)
	return files[len(files)-1]
}

// Path returns the absolute path of an existing program or folder: the one that the
// environment variable names, or a name below the repository's folder bin.
func Path(variable, name string) (string, error) {
	path := os.Getenv(variable)
	if path == "" {
		root, err := repository()
		if err != nil {
			return "", fmt.Errorf("%w: set %s", err, variable)
		}
		path = filepath.Join(root, "bin", name)
	}
	path, err := filepath.Abs(path)
	if err == nil {
		_, err = os.Stat(path)
	}
	return path, err
}

// Need skips or fails a test that lacks a program. It does nothing if err is nil.
func Need(tb testing.TB, err error) {
	tb.Helper()
	switch {
	case err == nil:
	case os.Getenv("CI") != "":
		tb.Fatalf("this test needs a program that `make test-deps` fetches: %v", err)
	default:
		tb.Skipf("this test needs a program that `make test-deps` fetches: %v", err)
	}
}

func must(tb testing.TB) func(string, error) string {
	tb.Helper()
	return func(path string, err error) string {
		tb.Helper()
		Need(tb, err)
		return path
	}
}

var errOutside = errors.New("not inside the repository")

// repository returns the module's folder, which is a parent of the test's.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errOutside
		}
		dir = filepath.Dir(dir)
	}
}
