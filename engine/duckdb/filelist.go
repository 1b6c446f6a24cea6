package duckdb

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine"
)

// maxFileViews is how many lists of files an instance keeps between two
// statements. A list costs the memory of its view's text and no thread.
const maxFileViews = 256

// fileViews are the lists of files that an instance can read, each as a view.
// Their names are content addresses, so an equal name is an equal list.
type fileViews struct {
	inst  *instance
	names *recent
	// deleted are the numbers of the deleted rows of those that have some.
	deleted map[string]int64
}

func newFileViews(in *instance) *fileViews {
	return &fileViews{inst: in, names: newRecent(), deleted: map[string]int64{}}
}

func (v *fileViews) has(src engine.Source) bool { return v.names.touch(src.Database()) }

// add makes the view of src, whose checked location is given.
func (v *fileViews) add(src engine.Source, location string) error {
	query, deleted, err := v.inst.fileQuery(src.Files, location)
	if err != nil {
		return fileFailure(err)
	}
	// A view that stands unremembered, after an interrupt, is made again.
	if err := v.inst.execOne("CREATE OR REPLACE TEMP VIEW " + engine.QuoteIdent(src.Database()) + " AS " + query); err != nil {
		v.inst.deleted.drop(deleted)
		return fileFailure(err)
	}
	v.names.add(src.Database())
	if deleted != 0 {
		v.deleted[src.Database()] = deleted
	}
	return nil
}

// forget lets go of a view that is gone, or is made again before it is read.
func (v *fileViews) forget(name string) {
	v.names.remove(name)
	if deleted, ok := v.deleted[name]; ok {
		v.inst.deleted.drop(deleted)
		delete(v.deleted, name)
	}
}

// trim drops the least recently used views once there are too many, and then some
// more: many at a time cost little more than one.
func (v *fileViews) trim(inUse map[string]bool) error {
	if len(v.names.excess(maxFileViews, inUse)) == 0 {
		return nil
	}
	var sql strings.Builder
	for _, name := range v.names.excess(maxFileViews*3/4, inUse) {
		// Forgotten before it is gone: one that stands unremembered is made again.
		v.forget(name)
		sql.WriteString("DROP VIEW IF EXISTS temp.main." + engine.QuoteIdent(name) + ";")
	}
	return v.inst.exec(sql.String())
}

// drop forgets a view if there is one.
func (v *fileViews) drop(name string) error {
	if !v.names.has(name) {
		return nil
	}
	if err := v.inst.exec("DROP VIEW temp.main." + engine.QuoteIdent(name)); err != nil {
		return err
	}
	v.forget(name)
	return nil
}

// fileFailure is an error about SQL that the caller has never seen: it has no
// position there, and names and types that do not resolve are the files' fault.
func fileFailure(err error) error {
	e := engineError(err)
	if e == nil {
		return err
	}
	e.Position = -1
	switch e.Kind {
	case engine.KindBind, engine.KindRuntime, engine.KindSyntax:
		e.Kind, e.Class, e.Name = engine.KindIO, classFileSchema, ""
	}
	return e
}

// classFileSchema is the class of data files whose columns are not what the
// table says.
const classFileSchema = "file_schema"

func fileSchemaError(text string) *engine.Error {
	return &engine.Error{Kind: engine.KindIO, Class: classFileSchema, Position: -1, Text: clip(text)}
}

// filePath is the path of a file of a list as DuckDB takes it. It must stay
// below the location, by name; what links do is the sandbox's matter.
func filePath(location, path string) (string, error) {
	if err := checkText(path); err != nil {
		return "", refusedPath(path)
	}
	if isRemote(location) {
		if !plainRemote(location + "/" + path) {
			return "", refusedPath(path)
		}
		return location + "/" + path, nil
	}
	for i, segment := range strings.Split(path, "/") {
		if segment == ".." || segment == "" && i == 0 {
			return "", refusedPath(path)
		}
	}
	return globEscape(location + "/" + path)
}

var globPlain = strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]")

// globEscape makes DuckDB take path as it is: it would read all the files that
// match it as a pattern. Inside brackets a character stands for itself. Nothing
// makes a backslash do so in a pattern, and such a path is refused.
func globEscape(path string) (string, error) {
	plain := globPlain.Replace(path)
	if plain != path && strings.Contains(path, `\`) {
		return "", refusedPath(path)
	}
	return plain, nil
}

func refusedPath(path string) *engine.Error {
	return &engine.Error{Kind: engine.KindIO, Class: "location", Position: -1, Text: "path of a data file: " + clip(strings.ToValidUTF8(path, "?"))}
}
