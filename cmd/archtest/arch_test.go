package archtest_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// TestTree applies the rules to this repository.
func TestTree(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(root, "go.mod"))

	tree, err := readTree(os.DirFS(root))
	require.NoError(t, err)
	require.NotEmpty(t, tree)
	for _, line := range append(check(tree), checkExceptions(tree)...) {
		t.Error(line)
	}
}

// TestRulesCatch introduces one violation after another and checks that it is reported.
func TestRulesCatch(t *testing.T) {
	cases := []struct {
		name string
		// files maps a path to its imports. The package name is the name of the folder.
		files map[string][]string
		want  string // a part of the only report, or "" for none
	}{
		{"domain imports another package", map[string][]string{"engine/x.go": {module + "/catalog"}}, "not an allowed import"},
		{"listed arrow", map[string][]string{"sessions/x.go": {module + "/engine", module + "/auth"}}, ""},
		{"engine implementation outside cmd", map[string][]string{"api/ops/query/x.go": {module + "/engine/duckdb"}}, "must use a contract"},
		{"store provider outside cmd", map[string][]string{"api/ops/query/x.go": {module + "/engine/objstore/file"}}, "must use a contract"},
		{"store contract in an operation", map[string][]string{"api/ops/query/x.go": {module + "/engine/objstore"}}, ""},
		{"later use case", map[string][]string{"api/ops/query/x.go": {module + "/api/ops/write"}}, "not an allowed import"},
		{"lake outside access", map[string][]string{"api/ops/write/x.go": {module + "/api/ops/lake"}}, "not an allowed import"},
		{"lake in the HTTP layer", map[string][]string{"api/v1/x.go": {module + "/api/ops/lake"}}, "must use a contract"},
		{"cmd wires everything", map[string][]string{"cmd/lakewarden/x.go": {module + "/engine/duckdb", module + "/api"}}, ""},
		{"a package imports cmd", map[string][]string{"cmd/lakewarden/x.go": {module + "/cmd/bench"}}, "cmd and bench must not be imported"},
		{"a package imports bench", map[string][]string{"api/x_test.go": {module + "/bench"}}, "cmd and bench must not be imported"},
		{"bench command", map[string][]string{"cmd/bench/x.go": {module + "/bench"}}, ""},
		{"main imports the wiring", map[string][]string{"cmd/lakewarden/x.go": {module + "/cmd/lakewarden/app"}}, ""},
		{"a command imports the wiring", map[string][]string{"cmd/bench/x.go": {module + "/cmd/lakewarden/app"}},
			"cmd and bench must not be imported"},
		{"the harness imports the wiring", map[string][]string{"cmd/e2e/harness/x.go": {module + "/cmd/lakewarden/app"}}, ""},
		{"an end-to-end test imports the wiring", map[string][]string{"cmd/e2e/query/x_test.go": {module + "/cmd/lakewarden/app"}},
			"cmd and bench must not be imported"},
		{"an end-to-end test imports the harness", map[string][]string{"cmd/e2e/query/x_test.go": {module + "/cmd/e2e/harness"}}, ""},
		{"a test library in the harness", map[string][]string{"cmd/e2e/harness/x.go": {"github.com/stretchr/testify/require"}}, ""},
		{"unknown package", map[string][]string{"engine/novel/x.go": {module + "/catalog"}}, "not in the table"},
		{"parent of an unknown package", map[string][]string{"engine/novel/x.go": {module + "/engine"}}, ""},
		{"test package in code", map[string][]string{"catalog/sqlstore/x.go": {module + "/catalog/catalogtest"}}, "test packages are for tests"},
		{"test package in a test", map[string][]string{"catalog/sqlstore/x_test.go": {module + "/catalog/catalogtest"}}, ""},
		{"driver outside its package", map[string][]string{"catalog/x.go": {"database/sql"}}, "written in the stores"},
		{"DuckDB even in a test", map[string][]string{"engine/delta/x_test.go": {"github.com/duckdb/duckdb-go/v2"}}, "cgo stays"},
		{"DuckDB as an oracle", map[string][]string{"engine/sqlguard/x_test.go": {"github.com/duckdb/duckdb-go/v2"}}, ""},
		{"DuckDB where only tests may", map[string][]string{"engine/sqlguard/x.go": {"github.com/duckdb/duckdb-go/v2"}}, "cgo stays"},
		{"SDK in its provider", map[string][]string{"engine/objstore/s3/x.go": {"github.com/aws/aws-sdk-go-v2/service/s3"}}, ""},
		{"HTTP in an operation", map[string][]string{"api/ops/query/x.go": {"net/http"}}, "called over HTTP"},
		{"test library in code", map[string][]string{"catalog/x.go": {"github.com/stretchr/testify/require"}}, "test code"},
		{"test library in a test package", map[string][]string{"catalog/catalogtest/x.go": {"github.com/stretchr/testify/require"}}, ""},
		{"assert", map[string][]string{"catalog/x_test.go": {"github.com/stretchr/testify/assert"}}, "use require"},
		{"log", map[string][]string{"auth/x.go": {"log"}}, "log/slog"},
		{"slog", map[string][]string{"auth/x.go": {"log/slog"}}, ""},
		{"name without a subject", map[string][]string{"engine/util/x.go": nil}, "has no subject"},
		{"new top-level folder", map[string][]string{"internal/x.go": nil}, "Go code lives below"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			files := fstest.MapFS{}
			for name, imports := range c.files {
				if !strings.HasSuffix(name, "_test.go") {
					files[path.Dir(name)+"/doc.go"] = &fstest.MapFile{Data: []byte(docFile(name))}
				}
				files[name] = &fstest.MapFile{Data: []byte(goFile(name, imports))}
			}
			requireReports(t, files, c.want)
		})
	}
}

// TestLakeAloneLoadsSnapshots checks that no other package of the server loads a table's
// log: a snapshot that does not come through package access is one that no policy filters.
func TestLakeAloneLoadsSnapshots(t *testing.T) {
	root := os.DirFS(filepath.Join("..", ".."))
	callers := map[string]bool{}
	for _, top := range []string{"api", "auth", "catalog", "cmd/lakewarden", "sessions"} {
		require.NoError(t, fs.WalkDir(root, top, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			text, err := fs.ReadFile(root, name)
			if strings.Contains(string(text), "delta.Load(") {
				callers[path.Dir(name)] = true
			}
			return err
		}))
	}
	require.Equal(t, map[string]bool{"api/ops/lake": true}, callers)
}

func TestRulesCatchText(t *testing.T) {
	t.Run("no package comment", func(t *testing.T) {
		requireReports(t, fstest.MapFS{"auth/doc.go": {Data: []byte("package auth\n")}}, "no package comment")
	})
	t.Run("comment of another package", func(t *testing.T) {
		requireReports(t, fstest.MapFS{"auth/doc.go": {Data: []byte("// Package author is.\npackage auth\n")}}, "no package comment")
	})
	t.Run("no doc.go", func(t *testing.T) {
		requireReports(t, fstest.MapFS{"auth/auth.go": {Data: []byte("// Package auth is.\npackage auth\n")}}, "no doc.go")
	})
	t.Run("child that its parent imports", func(t *testing.T) {
		requireReports(t, fstest.MapFS{
			"engine/delta/doc.go": {Data: []byte("// Package delta is.\npackage delta\nimport _ \"" + module +
				"/engine/delta/action\"\n")},
			"engine/delta/action/doc.go":     {Data: []byte("// Package action is.\npackage action\nimport _ \"" + module + "/engine/delta\"\n")},
			"engine/delta/action/x_test.go":  {Data: []byte("package action_test\nimport _ \"" + module + "/engine/delta\"\n")},
			"engine/delta/testdata/wrong.go": {Data: []byte("package wrong\n")},
		}, "engine/delta/action/doc.go: imports engine/delta: not an allowed import")
	})
}

// TestLimitsCatch exceeds each limit, and adds files to which the limits do not apply.
func TestLimitsCatch(t *testing.T) {
	file := func(lines int) *fstest.MapFile {
		text := "// Package auth is.\npackage auth\n"
		return &fstest.MapFile{Data: []byte(text + strings.Repeat("\n", lines-strings.Count(text, "\n")))}
	}
	packageOf := func(dir string, files, lines int) fstest.MapFS {
		out := fstest.MapFS{dir + "/doc.go": file(lines/files + lines%files)}
		for i := range files - 1 {
			out[fmt.Sprintf("%s/f%d.go", dir, i)] = file(lines / files)
		}
		return out
	}
	// comment returns a file with comments of the given line length, one line more than
	// the folder may have.
	comment := func(length int) *fstest.MapFile {
		line := "//" + strings.Repeat("é", length-2) + "\n"
		return &fstest.MapFile{Data: []byte("// Package auth is.\npackage auth\n" + strings.Repeat(line, longLineCeilings["auth"]+1))}
	}
	tags := &fstest.MapFile{Data: []byte("// Package auth is.\npackage auth\ntype t struct {\n" +
		strings.Repeat("\tF int `json:\"f\" doc:\""+strings.Repeat("x", maxLine)+"\"`\n", longLineCeilings["auth"]+1) + "}\n")}
	cases := map[string]struct {
		files fstest.MapFS
		want  string
	}{
		"long file":          {fstest.MapFS{"auth/doc.go": file(maxFileLines + 1)}, "auth/doc.go: 401 lines"},
		"file at the limit":  {fstest.MapFS{"auth/doc.go": file(maxFileLines)}, ""},
		"test file":          {fstest.MapFS{"auth/doc.go": file(2), "auth/a_test.go": file(maxTestLines)}, ""},
		"long test file":     {fstest.MapFS{"auth/doc.go": file(2), "auth/a_test.go": file(maxTestLines + 1)}, "auth/a_test.go: 601"},
		"lines of a package": {packageOf("auth", 9, 9*389), "auth: 3501 lines in 9 files"},
		"files of a package": {packageOf("auth", maxPackageFiles+1, 100), "auth: 100 lines in 36 files"},
		"largest package":    {packageOf("auth", maxPackageFiles, maxPackageLines), ""},
		"test package":       {packageOf("auth/authtest", 50, 9000), ""},
		"bench":              {packageOf("bench", 50, 9000), ""},
		"listed package":     {packageOf("engine/delta", 60, 9000), ""},
		"beyond its ceiling": {packageOf("engine/delta", 60, 9900), "engine/delta: 9900 lines in 60 files"},
		"long lines": {fstest.MapFS{"auth/doc.go": comment(maxLine + 1)},
			"lines of more than 140 characters, one of them in auth/doc.go"},
		"long tags":          {fstest.MapFS{"auth/doc.go": tags}, ""},
		"lines at the limit": {fstest.MapFS{"auth/doc.go": comment(maxLine)}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { requireReports(t, c.files, c.want) })
	}

	for lines, want := range map[int]bool{maxPackageLines: true, maxPackageLines + 1: false} {
		tree, err := readTree(packageOf("engine/delta", 10, lines))
		require.NoError(t, err)
		report := "engine/delta: is not an exception: remove it from largePackages"
		require.Equal(t, want, slices.Contains(checkExceptions(tree), report), "%d lines", lines)
	}
}

func requireReports(t *testing.T, files fstest.MapFS, want string) {
	t.Helper()
	tree, err := readTree(files)
	require.NoError(t, err)
	got := check(tree)
	if want == "" {
		require.Empty(t, got)
		return
	}
	require.Len(t, got, 1)
	require.Contains(t, got[0], want)
}

// packageName returns the name of the package of a file.
func packageName(name string) string {
	if strings.Count(name, "/") == 2 && strings.HasPrefix(name, "cmd/") {
		return "main"
	}
	return path.Base(path.Dir(name))
}

func docFile(name string) string {
	pkg := packageName(name)
	if pkg == "main" {
		return "// Command " + path.Base(path.Dir(name)) + " is here.\npackage main\n"
	}
	return "// Package " + pkg + " is here.\npackage " + pkg + "\n"
}

func goFile(name string, imports []string) string {
	pkg := packageName(name)
	if strings.HasSuffix(name, "_test.go") {
		pkg += "_test"
	}
	var text strings.Builder
	text.WriteString("package " + pkg + "\n")
	for _, imported := range imports {
		text.WriteString("import _ \"" + imported + "\"\n")
	}
	return text.String()
}
