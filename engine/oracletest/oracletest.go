package oracletest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Python is the path of the interpreter.
func Python(tb testing.TB) string {
	tb.Helper()
	return must(tb)(Path("LAKEWARDEN_TEST_PYTHON", "venv/bin/python"))
}

// Extensions is the path of the folder with DuckDB's extensions.
func Extensions(tb testing.TB) string {
	tb.Helper()
	return must(tb)(Path("LAKEWARDEN_EXTENSION_DIR", "extensions"))
}

// Extension is the path of one extension, of the newest engine that has it there.
func Extension(tb testing.TB, name string) string {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(Extensions(tb), "v*", "*", name+".duckdb_extension"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("extension %s: %w", name, os.ErrNotExist)
	}
	Need(tb, err)
	return files[len(files)-1]
}

// Path is the absolute path of a part, which must be there: the one that a variable
// names, or a name below the folder bin of the repository.
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

// Need ends a test that lacks a part. A nil error lets it go on.
func Need(tb testing.TB, err error) {
	tb.Helper()
	switch {
	case err == nil:
	case os.Getenv("CI") != "":
		tb.Fatalf("a part of this test is missing, which `make test-deps` gets: %v", err)
	default:
		tb.Skipf("a part of this test is missing, which `make test-deps` gets: %v", err)
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

var errOutside = errors.New("not below the repository")

// repository is the folder of the module, above that of the test.
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
