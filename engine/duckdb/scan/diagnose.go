package scan

import (
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb/native"
)

// maxDiagnosed bounds the files that one failure has the engine read again.
const maxDiagnosed = 1000

// Diagnose returns the first file of a list that cannot be read, as the list names it, and the
// table's column that it fails in, "" if it fails in every column. It returns "" if each file can
// be read. A file that the text of the failure names is the only one that is read. Each step is
// preceded by a call of step, whose error ends the search. If converted is true, only files with
// a column of another type than the table's are read.
func (v *Views) Diagnose(l *engine.FileList, location, text string, converted bool, step func() error) (file, column string) {
	files := make([]engine.FileGroup, 0, l.Len())
	for _, g := range l.Groups {
		for _, path := range g.Paths {
			files = append(files, engine.FileGroup{Partition: g.Partition, Paths: []string{path}})
		}
	}
	named := func(g engine.FileGroup) bool { return strings.Contains(text, location+"/"+g.Paths[0]) }
	if i := slices.IndexFunc(files, named); i >= 0 {
		files = files[i : i+1]
	}
	for _, g := range files[:min(len(files), maxDiagnosed)] {
		if step() != nil {
			return "", ""
		}
		if converted && v.holdsTypes(l, g, location) {
			continue
		}
		if column, ok := v.readable(l, g, location, step); !ok {
			return g.Paths[0], column
		}
	}
	return "", ""
}

// holdsTypes reports whether a file has the table's types, so that nothing is converted when it is
// read.
func (v *Views) holdsTypes(l *engine.FileList, file engine.FileGroup, location string) bool {
	columns := l.Columns
	if l.Stored != nil {
		columns = l.Stored
	}
	var inFile []engine.Column
	for i, c := range columns {
		if _, constant := file.Partition[l.Columns[i].Name]; !constant {
			inFile = append(inFile, c)
		}
	}
	path, err := filePath(location, file.Paths[0])
	if err != nil {
		return false
	}
	d, err := v.inst.Describe("SELECT * FROM " + ReadParquet([]string{path}, ", hive_partitioning=false, binary_as_string=true"))
	return err == nil && d.Holds(inFile)
}

// readable reports whether every value of a file of a list can be read, or else returns the
// column of the first that cannot.
func (v *Views) readable(l *engine.FileList, file engine.FileGroup, location string, step func() error) (column string, ok bool) {
	query, _, err := v.fileQuery(l.OnlyFile(file), location)
	if err != nil {
		e := native.AsError(fileFailure(err))
		if e == nil || !e.Unreadable() {
			return "", true
		}
		return e.Column, false
	}
	var items []string
	for _, c := range l.Columns {
		if _, constant := file.Partition[c.Name]; !constant {
			items = append(items, "max(hash("+engine.QuoteIdent(c.Name)+"))")
		}
	}
	fails := func(items ...string) bool {
		sql := "SELECT " + strings.Join(items, ", ") + " FROM (" + query + ")"
		e := native.AsError(v.inst.Each(sql, engine.Args{}, func(engine.Row) error { return nil }))
		return e != nil && e.Unreadable()
	}
	if len(items) == 0 || !fails(items...) {
		return "", true
	}
	for _, c := range l.Columns {
		if _, constant := file.Partition[c.Name]; !constant && step() == nil && fails("max(hash("+engine.QuoteIdent(c.Name)+"))") {
			return c.Name, false
		}
	}
	return "", false
}
