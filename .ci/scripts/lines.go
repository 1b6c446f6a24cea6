// Command lines counts the production lines of a source tree: lines of Go files that
// hold more than white space and comments. It leaves out tests, test packages, the
// end-to-end harness and bench.
package main

import (
	"bytes"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: lines DIR")
		os.Exit(2)
	}
	total := 0
	tree := os.DirFS(os.Args[1])
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && skipped(name):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		total += count(text)
		return err
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(total)
}

// skipped reports whether a folder holds no production code.
func skipped(name string) bool {
	base := path.Base(name)
	switch name {
	case ".":
		return false
	case "bin", "data", "tmp", "bench", "cmd/bench", "cmd/e2e":
		return true
	}
	return base == "testdata" || strings.HasSuffix(base, "test") || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")
}

// count returns the number of lines with a token. A string over several lines counts its
// lines that are not blank.
func count(text []byte) int {
	fset := token.NewFileSet()
	file := fset.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0) // without scanner.ScanComments
	lines := bytes.Split(text, []byte("\n"))
	total, last := 0, 0
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return total
		}
		if tok == token.SEMICOLON && literal == "\n" {
			continue // inserted at the end of a line
		}
		first := file.Line(pos)
		for line := max(first, last+1); line <= first+strings.Count(literal, "\n"); line++ {
			if len(bytes.TrimSpace(lines[line-1])) > 0 {
				total++
			}
			last = line
		}
	}
}
