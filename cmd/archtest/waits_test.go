package archtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// shortWaits returns the positions at which a Go file waits for an event for less than a minute:
// calls of require.Eventually whose limit is written as a number of seconds or less. On a busy
// machine an event may be that late. What is promised within a time is measured without the delays
// of the machine, by enginetest.WatchStalls.
func shortWaits(name string, text []byte) (found []string, err error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) < 3 {
			return true
		}
		if called, ok := call.Fun.(*ast.SelectorExpr); !ok || called.Sel.Name != "Eventually" {
			return true
		}
		if limit, ok := call.Args[2].(*ast.BinaryExpr); ok && limit.Op == token.MUL {
			unit, ok := limit.Y.(*ast.SelectorExpr)
			if _, number := limit.X.(*ast.BasicLit); number && ok && (unit.Sel.Name == "Second" || unit.Sel.Name == "Millisecond") {
				found = append(found, files.Position(limit.Pos()).String())
			}
		}
		return true
	})
	return found, nil
}

// TestWaitsAreLong checks that no test depends on how soon an event comes on a busy machine.
func TestWaitsAreLong(t *testing.T) {
	root := os.DirFS(filepath.Join("..", ".."))
	require.NoError(t, fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && skipFolder(name):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		found, err := shortWaits(name, text)
		require.Empty(t, found, "use time.Minute")
		return err
	}))

	found, err := shortWaits("planted.go", []byte("package p\nfunc f() { require.Eventually(t, nil, 5*time.Second, time.Millisecond) }"))
	require.NoError(t, err)
	require.Len(t, found, 1)
}
