package archtest_test

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// check returns every violation of the rules, one line each, in the order of the tree.
func check(tree []folder) []string {
	var found []string
	report := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }

	graph := arrows(tree)
	for _, f := range tree {
		checkFolder(f, report)
		checkSize(f, report)
		for _, file := range f.files {
			for _, imported := range file.imports {
				if target, ok := ours(imported); ok {
					checkArrow(graph, f.path, file, target, report)
				} else {
					checkOwner(f.path, file, imported, report)
				}
			}
		}
	}
	checkLongLines(tree, report)
	return found
}

// arrows maps each folder to the folders of this module that its non-test files import.
func arrows(tree []folder) map[string]map[string]bool {
	graph := map[string]map[string]bool{}
	for _, f := range tree {
		graph[f.path] = map[string]bool{}
		for _, file := range f.files {
			for _, imported := range file.imports {
				if target, ok := ours(imported); ok && !file.test {
					graph[f.path][target] = true
				}
			}
		}
	}
	return graph
}

func checkFolder(f folder, report func(string, ...any)) {
	top, _, _ := strings.Cut(f.path, "/")
	if !slices.Contains(topLevel, top) {
		report("%s: Go code lives below %s", f.path, strings.Join(topLevel, ", "))
	}
	if slices.Contains(bannedNames, path.Base(f.path)) {
		report("%s: the package name %q has no subject: name the idea", f.path, path.Base(f.path))
	}

	documented, docFile, code := false, false, false // a command documents itself in main.go
	for _, file := range f.files {
		if file.test {
			continue
		}
		code = true
		docFile = docFile || path.Base(file.name) == "doc.go" || file.pkg == "main"
		prefix := "Package " + file.pkg + " "
		if file.pkg == "main" {
			prefix = "Command " + path.Base(f.path) + " "
		}
		documented = documented || strings.HasPrefix(file.doc, prefix)
	}
	if code && !documented {
		report("%s: no package comment that begins with the package's name", f.path)
	}
	if code && !docFile {
		report("%s: no doc.go", f.path)
	}
}

// counted returns the files of a package to which the size limits apply.
func counted(f folder) []sourceFile {
	if testPackage(f.path) || within(f.path, "bench") {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(f.files), func(file sourceFile) bool { return file.test })
}

// checkSize compares a package and its files with the limits.
func checkSize(f folder, report func(string, ...any)) {
	for _, file := range f.files {
		limit := maxTestLines
		if slices.ContainsFunc(counted(f), func(c sourceFile) bool { return c.name == file.name }) {
			limit = max(maxFileLines, largeFiles[file.name])
		}
		if file.lines > limit {
			report("%s: %d lines, more than %d: split it by idea", file.name, file.lines, limit)
		}
	}
	large := largePackages[f.path]
	if lines, files := size(f); lines > max(maxPackageLines, large.lines) || files > max(maxPackageFiles, large.files) {
		report("%s: %d lines in %d files: split it by idea", f.path, lines, files)
	}
}

func size(f folder) (lines, files int) {
	for _, file := range counted(f) {
		lines += file.lines
	}
	return lines, len(counted(f))
}

// checkExceptions returns the exceptions from the size limits that are no longer
// needed, one line each.
func checkExceptions(tree []folder) []string {
	needed := map[string]bool{}
	for _, f := range tree {
		lines, files := size(f)
		needed[f.path] = lines > maxPackageLines || files > maxPackageFiles
		for _, file := range counted(f) {
			needed[file.name] = file.lines > maxFileLines
		}
	}
	var found []string
	for _, name := range slices.Sorted(maps.Keys(largePackages)) {
		if !needed[name] {
			found = append(found, name+": is not an exception: remove it from largePackages")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(largeFiles)) {
		if !needed[name] {
			found = append(found, name+": is not an exception: remove it from largeFiles")
		}
	}
	return found
}

// checkLongLines compares the number of long lines below each top-level folder with its
// ceiling.
func checkLongLines(tree []folder, report func(string, ...any)) {
	long, last := map[string]int{}, map[string]string{}
	for _, f := range tree {
		top, _, _ := strings.Cut(f.path, "/")
		for _, file := range f.files {
			if long[top] += file.long; file.long > 0 {
				last[top] = file.name
			}
		}
	}
	for _, top := range slices.Sorted(maps.Keys(long)) {
		if long[top] > longLineCeilings[top] {
			report("%s: %d lines of more than %d characters, one of them in %s: break them", top, long[top], maxLine, last[top])
		}
	}
}

func checkArrow(graph map[string]map[string]bool, from string, file sourceFile, target string, report func(string, ...any)) {
	switch {
	case target == from:
		return // the external test package of a folder
	case within(target, "cmd") || within(target, "bench"):
		if !matchAny(target, commands[from]) && (!within(from, "cmd/e2e") || !matchAny(target, endToEnd)) {
			report("%s: imports %s: cmd and bench must not be imported", file.name, target)
		}
		return
	case file.test || within(from, "cmd"):
		if !file.test && testPackage(target) && !testPackage(from) {
			report("%s: imports %s: test packages are for tests", file.name, target)
		}
		return
	case testPackage(target) && !testPackage(from) && from != "bench":
		report("%s: imports %s: test packages are for tests and bench", file.name, target)
		return
	case matchAny(target, except[from]):
		report("%s: imports %s: must use a contract instead", file.name, target)
		return
	case matchAny(target, allowed[from]):
		return
	case target == path.Dir(from) && !graph[target][from]:
		return
	}
	if _, known := allowed[from]; !known {
		report("%s: imports %s: package %s is not in the table of allowed imports", file.name, target, from)
		return
	}
	report("%s: imports %s: not an allowed import (%s may import %v)", file.name, target, from, allowed[from])
}

func checkOwner(from string, file sourceFile, imported string, report func(string, ...any)) {
	for _, o := range owners {
		if !ownedImport(imported, o.imported) {
			continue
		}
		if file.test && (!o.tests || matchAny(from, o.oracleOf)) {
			continue
		}
		if matchAny(imported, o.by) || matchAny(from, o.by) {
			return
		}
		report("%s: imports %s: %s", file.name, imported, o.reason)
		return
	}
}

// ownedImport compares import paths. A major version suffix is part of a module.
func ownedImport(imported, prefix string) bool {
	if imported == prefix {
		return true
	}
	// "log" and "math/rand" are single packages, modules are whole trees.
	return strings.Contains(prefix, ".") && strings.HasPrefix(imported, prefix+"/")
}

// matchAny reports whether p matches one of the patterns: a path, a path with "/..."
// for itself and all below, or "*test" for packages of test code.
func matchAny(p string, patterns []string) bool {
	for _, pattern := range patterns {
		if pattern == "*test" {
			if testPackage(p) {
				return true
			}
			continue
		}
		if below, ok := strings.CutSuffix(pattern, "/..."); ok {
			if within(p, below) {
				return true
			}
			continue
		}
		if p == pattern {
			return true
		}
	}
	return false
}
