package problem_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/problem"
)

const root = "../.."

// exempt maps the sentinels that need no row to the reasons.
var exempt = map[string]string{
	"api/ops/access.ErrRowsFiltered":      "is a catalog.DeniedError",
	"api/ops/access.ErrPartlyVisible":     "is a catalog.DeniedError",
	"api/ops/access.ErrTableIdentity":     "the same value as lake.ErrTableIdentity",
	"api/ops/access.ErrTableVanished":     "the same value as lake.ErrTableVanished",
	"catalog.ErrOutlivesMaker":            "becomes a fault of the field, by api/ops/admin",
	"api/ops/revocation.ErrRevoked":       "becomes revocation.ErrQueryCancelled",
	"api/problem.ErrNoCredential":         "is an auth.ErrUnauthenticated with a challenge of its own",
	"api/result.ErrBroken":                "comes after the status line; the connection is cut instead",
	"auth/apikey.ErrInvalidExpiry":        "always an ExpiryError, which lists its field",
	"auth/clientdocument.ErrUnreadable":   "becomes an error of OAuth",
	"auth/jwt.ErrConfig":                  "at start only",
	"auth/mail.ErrMessage":                "stays in the queue of e-mails",
	"auth/mail.ErrRefused":                "stays in the queue of e-mails",
	"auth/oauth.ErrUnknownClient":         "becomes an error of OAuth",
	"auth/password.ErrHash":               "internal_error: only the operator can help",
	"auth/session.ErrNotFound":            "becomes an error of the use case",
	"auth/session.ErrReused":              "becomes an error of OAuth",
	"catalog/secret.ErrKeyFile":           "at start, or internal_error: only the operator can help",
	"catalog/secret.ErrSealed":            "internal_error: only the operator can help",
	"catalog/secret.ErrUnreadable":        "on the command line only",
	"engine/arrowcheck.ErrTooDeep":        "becomes staging.ErrTooDeep",
	"engine/arrowcheck.ErrTooLarge":       "becomes a staging.LimitError",
	"catalog/sqlstore/sqldb.ErrUnchanged": "ends a transaction without an error",
	"catalog/sqlstore/sqldb.ErrUnique":    "becomes a catalog.ExistsError",
	"engine/delta/action.ErrMalformed":    "the same value as delta.ErrMalformed",
	"engine/delta/action.ErrTooLarge":     "the same value as delta.ErrTooLarge",
	"engine/delta/logpath.ErrUnsafePath":  "the same value as delta.ErrUnsafePath",
	"engine/duckdb/extension.ErrUnusable": "at start only",
	"engine/duckdb/sandbox.ErrBreached":   "at start only",
	"engine.ErrCrashed":                   "is an engine.ErrFatal",
	"engine.ErrLost":                      "is an engine.ErrFatal",
	"engine/gateway.ErrCacheDir":          "at start only",
	"engine/gateway.ErrLocation":          "internal_error: only a defect of the server causes it",
	"engine/sqltree.ErrDepth":             "the guard refuses the statement in its own words",
	"engine/sqltype.ErrSyntax":            "callers refuse the type and name its field",
	"engine/storage.ErrSkipped":           "stands in a report of checks only",
	"engine/workdir.ErrHeld":              "at start only",
	"engine/objstore/remote.ErrNoLength":  "wraps objstore.ErrUnavailable",
	"migrations.ErrUnknownSchema":         "at start only",
	"migrations.ErrPending":               "at start only",
	"engine/llm.ErrLimited":               "the answer is then that of the server, with a warning",
	"engine/llm.ErrMalformed":             "the answer is then that of the server, with a warning",
	"engine/llm.ErrRejected":              "the answer is then that of the server, with a warning",
	"engine/llm.ErrUnavailable":           "the answer is then that of the server, with a warning",
}

func TestEverySentinelHasARow(t *testing.T) {
	declared := sentinels(t)
	require.Greater(t, len(declared), 30, "the walk found the tree")
	rowsByName := map[string]problem.Row{}
	for _, r := range problem.Rows() {
		require.NotContains(t, rowsByName, r.Name, "two rows")
		require.NotContains(t, exempt, r.Name, "a row and an exemption")
		rowsByName[r.Name] = r
		require.True(t, slices.ContainsFunc(problem.Codes, func(c problem.Code) bool { return c.Name == r.Code }),
			"%s becomes %s, which is no code", r.Name, r.Code)
		require.Equal(t, r.Code, problem.From(r.Sentinel).Name, "an earlier row hides %s", r.Name)
		if !strings.HasPrefix(r.Name, "context.") {
			require.Contains(t, declared, r.Name, "row of a sentinel that does not exist")
		}
	}
	for _, name := range declared {
		if strings.HasPrefix(name, "api/ops/") {
			continue // these errors name their codes, which the next test checks
		}
		if exempt[name] == "" {
			_, ok := rowsByName[name]
			require.True(t, ok, "%s: add a row in table.go, or an exemption with its reason here", name)
		}
	}
}

// TestEveryCodeOfOperationsIsInTheTable checks use cases, which cannot be imported here,
// so that their errors name their codes. Every code that they name, and every sentinel
// that they declare, must be in the table.
func TestEveryCodeOfOperationsIsInTheTable(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join(root, "api/ops/*"))
	require.NoError(t, err)
	sentinels := 0
	for _, folder := range folders {
		inspect(t, folder, func(spec *ast.ValueSpec) {
			for i, name := range spec.Names {
				if !strings.HasPrefix(name.Name, "Err") || exempt["api/ops/"+filepath.Base(folder)+"."+name.Name] != "" {
					continue
				}
				require.Greater(t, len(spec.Values), i, name.Name)
				made, ok := spec.Values[i].(*ast.CallExpr)
				require.True(t, ok && callee(made) == "New" && len(made.Args) == 2, "%s must be made by fault.New", name.Name)
				known(t, made.Args[0].(*ast.BasicLit))
				sentinels++
			}
		})
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		require.NoError(t, err)
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			ast.Inspect(file, func(n ast.Node) bool {
				if literal, ok := n.(*ast.CompositeLit); ok {
					knownCode(t, literal)
				}
				return true
			})
		}
	}
	require.Greater(t, sentinels, 10, "the walk found the packages")
}

// callee returns the name of the function that is called, without its package.
func callee(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		return f.Sel.Name
	case *ast.Ident:
		return f.Name
	}
	return ""
}

// knownCode checks the code of a fault.StatementError or fault.MemberError.
func knownCode(t *testing.T, literal *ast.CompositeLit) {
	t.Helper()
	kind, ok := literal.Type.(*ast.SelectorExpr)
	if !ok || kind.Sel.Name != "StatementError" && kind.Sel.Name != "MemberError" {
		return
	}
	for _, e := range literal.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok && pair.Key.(*ast.Ident).Name == "Code" {
			if code, ok := pair.Value.(*ast.BasicLit); ok {
				known(t, code)
			}
		}
	}
}

func known(t *testing.T, literal *ast.BasicLit) {
	t.Helper()
	code, err := strconv.Unquote(literal.Value)
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(problem.Codes, func(c problem.Code) bool { return c.Name == code }), "%s is no code", code)
}

func TestEveryStatementCodeIsInTheTable(t *testing.T) {
	found := 0
	inspect(t, filepath.Join(root, "engine/sqlguard/refusal"), func(spec *ast.ValueSpec) {
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "Code" {
			return
		}
		found++
		code, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		require.NoError(t, err)
		if code == "statement_too_large" {
			return // invalid_field
		}
		require.True(t, slices.ContainsFunc(problem.Codes, func(c problem.Code) bool { return c.Name == code && c.Status == 400 }), code)
	})
	require.Greater(t, found, 5)
}

// sentinels returns every exported package variable Err… of the source tree.
func sentinels(t *testing.T) []string {
	var names []string
	for _, top := range []string{"api", "auth", "catalog", "engine", "sessions", "migrations"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, top), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return err
			}
			if strings.HasSuffix(path, "test") || entry.Name() == "testdata" {
				return fs.SkipDir
			}
			pkg, err := filepath.Rel(root, path)
			require.NoError(t, err)
			inspect(t, path, func(spec *ast.ValueSpec) {
				for _, name := range spec.Names {
					if strings.HasPrefix(name.Name, "Err") && len(name.Name) > 3 {
						names = append(names, filepath.ToSlash(pkg)+"."+name.Name)
					}
				}
			})
			return nil
		}))
	}
	return names
}

// inspect calls visit with every package-level variable or constant of a
// folder's source files.
func inspect(t *testing.T, folder string, visit func(*ast.ValueSpec)) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	require.NoError(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			if group, ok := decl.(*ast.GenDecl); ok {
				for _, spec := range group.Specs {
					if value, ok := spec.(*ast.ValueSpec); ok {
						visit(value)
					}
				}
			}
		}
	}
}
