package duckdb

import (
	"strings"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/lakewarden/lakewarden/engine"
)

// maxFileViews is how many lists of files an instance keeps between two
// statements. A list costs the memory of its view's text and no thread.
const maxFileViews = 256

// fileViews are the lists of files that an instance can read, each as a view.
// Their names are content addresses, so an equal name is an equal list.
type fileViews struct {
	inst *instance
	// names maps the name of a view to the number of its deleted rows, 0 for none.
	names   *simplelru.LRU[string, int64]
	deleted deletedLists
	// variants reports whether [variantFunction] is registered.
	variants bool
}

func newFileViews(in *instance) *fileViews {
	return &fileViews{inst: in, names: newRecent[int64]()}
}

// has reports whether the view of src exists, and marks it as used.
func (v *fileViews) has(src engine.Source) bool {
	_, ok := v.names.Get(src.Database())
	return ok
}

// add makes the view of src, whose checked location is given.
func (v *fileViews) add(src engine.Source, location string) error {
	query, deleted, err := v.fileQuery(src.Files, location)
	if err != nil {
		return fileFailure(err)
	}
	// A view that stands unremembered, after an interrupt, is made again.
	if err := v.inst.execOne("CREATE OR REPLACE TEMP VIEW " + engine.QuoteIdent(src.Database()) + " AS " + query); err != nil {
		v.deleted.drop(deleted)
		return fileFailure(err)
	}
	v.names.Add(src.Database(), deleted)
	return nil
}

// forget lets go of a view that is gone, or is made again before it is read.
func (v *fileViews) forget(name string) {
	if deleted, ok := v.names.Peek(name); ok {
		v.deleted.drop(deleted)
	}
	v.names.Remove(name)
}

// trim drops the least recently used views once there are too many, and then some
// more: many at a time cost little more than one.
func (v *fileViews) trim(inUse map[string]bool) error {
	if len(excess(v.names, maxFileViews, inUse)) == 0 {
		return nil
	}
	var sql strings.Builder
	for _, name := range excess(v.names, maxFileViews*3/4, inUse) {
		// Forgotten before it is gone: one that stands unremembered is made again.
		v.forget(name)
		sql.WriteString("DROP VIEW IF EXISTS temp.main." + engine.QuoteIdent(name) + ";")
	}
	return v.inst.exec(sql.String())
}

// drop forgets a view if there is one.
func (v *fileViews) drop(name string) error {
	if !v.names.Contains(name) {
		return nil
	}
	if err := v.inst.exec("DROP VIEW temp.main." + engine.QuoteIdent(name)); err != nil {
		return err
	}
	v.forget(name)
	return nil
}

// close releases what the views hold. The instance is closed already.
func (v *fileViews) close() { v.deleted.close() }

// registerVariants registers [variantFunction] once.
func (v *fileViews) registerVariants() error {
	if v.variants {
		return nil
	}
	err := registerVariants(v.inst)
	v.variants = err == nil
	return err
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
