package archtest_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// module is the import path prefix of this module.
const module = "github.com/lakewarden/lakewarden"

// sourceFile holds the parts of a Go file that the rules examine.
type sourceFile struct {
	name    string // path from the root, with slashes
	pkg     string // package clause
	test    bool   // a _test.go file
	lines   int
	long    int    // lines of more than maxLine characters
	doc     string // package comment, if this file has it
	imports []string
}

// folder holds the files of one package folder. Its key in a tree is the path from the
// root, "." for the root itself.
type folder struct {
	path  string
	files []sourceFile
}

// readTree parses the imports of every Go file below root. It skips folders that git or
// Go ignores.
func readTree(root fs.FS) ([]folder, error) {
	byPath := map[string]*folder{}
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if skipFolder(name) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		file, err := readFile(root, name)
		if err != nil {
			return err
		}
		dir := path.Dir(name)
		if byPath[dir] == nil {
			byPath[dir] = &folder{path: dir}
		}
		byPath[dir].files = append(byPath[dir].files, file)
		return nil
	})
	if err != nil {
		return nil, err
	}
	folders := make([]folder, 0, len(byPath))
	for _, f := range byPath {
		folders = append(folders, *f)
	}
	sort.Slice(folders, func(i, j int) bool { return folders[i].path < folders[j].path })
	return folders, nil
}

func skipFolder(name string) bool {
	if name == "." {
		return false
	}
	base := path.Base(name)
	return name == "bin" || name == "data" || name == "tmp" || base == "testdata" ||
		strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")
}

func readFile(root fs.FS, name string) (sourceFile, error) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return sourceFile{}, fmt.Errorf("read %s: %w", name, err)
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return sourceFile{}, fmt.Errorf("parse %s: %w", name, err)
	}
	file := sourceFile{
		name:  name,
		pkg:   parsed.Name.Name,
		test:  strings.HasSuffix(name, "_test.go"),
		lines: bytes.Count(text, []byte("\n")),
		long:  longLines(text),
		doc:   docText(parsed.Doc),
	}
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return sourceFile{}, fmt.Errorf("import of %s: %w", name, err)
		}
		file.imports = append(file.imports, imported)
	}
	return file, nil
}

// structTag matches a line with a struct tag, which cannot be broken.
var structTag = regexp.MustCompile("`[a-z]+:\"[^`]*\"`$")

func longLines(text []byte) (n int) {
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, "\n")
		if utf8.RuneCount(line) > maxLine && !structTag.Match(line) {
			n++
		}
	}
	return n
}

func docText(group *ast.CommentGroup) string {
	if group == nil {
		return ""
	}
	return group.Text()
}

// ours converts an import path into a folder of the tree.
func ours(imported string) (string, bool) {
	if imported == module {
		return ".", true
	}
	return strings.CutPrefix(imported, module+"/")
}

// within reports whether a path is prefix or lies below it.
func within(p, prefix string) bool {
	return p == prefix || strings.HasPrefix(p, prefix+"/")
}

// testPackage reports whether a folder contains code for tests only.
func testPackage(p string) bool { return strings.HasSuffix(p, "test") || within(p, "cmd/e2e") }
