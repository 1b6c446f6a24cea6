package scan

import (
	"strings"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb/native"
	"github.com/lakewarden/lakewarden/engine/duckdb/sandbox"
	"github.com/lakewarden/lakewarden/engine/duckdb/variant"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// maxViews is how many lists of files an instance keeps between two statements. A list costs
// the memory of its view's text and no thread.
const maxViews = 256

// Views are the lists of files that an instance can read, each as a view. Their names are
// content addresses, so equal names mean equal lists.
type Views struct {
	inst    *native.Instance
	checked *Checked
	// names maps the name of a view to the number of its deleted rows, 0 for none.
	names   *simplelru.LRU[string, int64]
	deleted deletedLists
	// variants reports whether the function for variants is registered.
	variants bool
}

// NewViews returns the views of an instance. The types of files that are in checked are not checked
// again.
func NewViews(in *native.Instance, checked *Checked) *Views {
	return &Views{inst: in, checked: checked, names: newRecent[int64]()}
}

// Has reports whether the view of src exists, and marks it as used.
func (v *Views) Has(src engine.Source) bool {
	_, ok := v.names.Get(src.Database())
	return ok
}

// Add creates the view of src, whose location was checked.
func (v *Views) Add(src engine.Source, location string) error {
	query, deleted, err := v.fileQuery(src.Files, location)
	if err != nil {
		return fileFailure(err)
	}
	// An interrupt can leave a view behind that names does not hold.
	if err := v.inst.ExecOne("CREATE OR REPLACE TEMP VIEW " + engine.QuoteIdent(src.Database()) + " AS " + query); err != nil {
		v.deleted.drop(deleted)
		return fileFailure(err)
	}
	v.names.Add(src.Database(), deleted)
	return nil
}

// Check returns an error if the type of a column in a file of the list, which may be nil, is not
// that of the table: the reader of logs would convert its values. A file that is missing or damaged
// is no error, because the statement may not need it.
func (v *Views) Check(l *engine.FileList, location string) error {
	if l == nil {
		return nil
	}
	scan, err := newFileScan(l, location)
	if err != nil {
		return fileFailure(err)
	}
	unknown, keys := v.unknownFiles(scan)
	if len(unknown) == 0 {
		return nil
	}
	err = v.checkTogether(scan, keys, unknown)
	if !absent(err) {
		return err
	}
	for i := range unknown {
		if err := v.checkTogether(scan, keys, unknown[i:i+1]); err != nil && !absent(err) {
			return err
		}
	}
	return nil
}

// checkTogether checks some files of a scan, of which keys are those of all files.
func (v *Views) checkTogether(scan *fileScan, keys []checkedFile, some []int) error {
	if _, err := v.inspectFiles(scan.only(some)); err != nil {
		return fileFailure(err)
	}
	if scan.parts != nil { // otherwise it is recorded
		for _, n := range some {
			v.checked.add(keys[n], nil)
		}
	}
	return nil
}

// absent reports whether an error is about a file that is missing or damaged.
func absent(err error) bool {
	e := native.AsError(err)
	return e != nil && (e.Class == engine.ClassMissing || e.Unreadable() && e.Class != engine.ClassFileSchema)
}

// forget removes a view from names. The view was dropped, or is replaced before it is read.
func (v *Views) forget(name string) {
	if deleted, ok := v.names.Peek(name); ok {
		v.deleted.drop(deleted)
	}
	v.names.Remove(name)
}

// Trim drops the least recently used views if there are too many, more than necessary:
// dropping many at once costs little more than dropping one.
func (v *Views) Trim(inUse map[string]bool) error {
	if len(excess(v.names, maxViews, inUse)) == 0 {
		return nil
	}
	var sql strings.Builder
	for _, name := range excess(v.names, maxViews*3/4, inUse) {
		// A view that is forgotten and still exists is replaced; the reverse would be an
		// error.
		v.forget(name)
		sql.WriteString("DROP VIEW IF EXISTS temp.main." + engine.QuoteIdent(name) + ";")
	}
	return v.inst.Exec(sql.String())
}

// Drop drops the view with the given name if it exists.
func (v *Views) Drop(name string) error {
	if !v.names.Contains(name) {
		return nil
	}
	v.forget(name) // first, as in Trim
	return v.inst.Exec("DROP VIEW IF EXISTS temp.main." + engine.QuoteIdent(name))
}

// Close releases what the views hold. The instance is closed already.
func (v *Views) Close() { v.deleted.close() }

// registerVariants registers the function for variants once.
func (v *Views) registerVariants() error {
	if v.variants {
		return nil
	}
	err := variant.Register(v.inst)
	v.variants = err == nil
	return err
}

// fileFailure returns err as an error about data files: the caller never saw the SQL, so it
// has no position in it, and names and types that do not resolve are the fault of the files.
func fileFailure(err error) error {
	e := native.AsError(err)
	if e == nil {
		return err
	}
	e.Position = -1
	switch e.Kind {
	case engine.KindBind, engine.KindRuntime, engine.KindSyntax:
		e.Kind, e.Class, e.Name = engine.KindIO, engine.ClassFileSchema, ""
	}
	return e
}

func fileSchemaError(text string) *engine.Error {
	return &engine.Error{Kind: engine.KindIO, Class: engine.ClassFileSchema, Position: -1, Text: native.Clip(text)}
}

// columnTypeError is a fileSchemaError about the type of one of the table's columns.
func columnTypeError(column string, have sqltype.Type, where string, want sqltype.Type) *engine.Error {
	e := fileSchemaError("column " + column + " is " + have.String() + " in " + where + ", and " + want.String() + " in the table")
	e.Column = column
	return e
}

// filePath returns the path of a file of a list for DuckDB. By name it must stay below
// location; the sandbox checks where links lead.
func filePath(location, path string) (string, error) {
	if err := native.CheckText(path); err != nil {
		return "", refusedPath(path)
	}
	if sandbox.IsRemote(location) {
		if !sandbox.PlainRemote(location + "/" + path) {
			return "", refusedPath(path)
		}
		return location + "/" + path, nil
	}
	for i, segment := range strings.Split(path, "/") {
		if segment == ".." || segment == "" && i == 0 {
			return "", refusedPath(path)
		}
	}
	return GlobEscape(location + "/" + path)
}

var globPlain = strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]")

// GlobEscape escapes path for DuckDB, which would read all files that match it as a pattern.
// Inside brackets a character stands for itself. A backslash in a pattern cannot be escaped,
// so such a path is refused.
func GlobEscape(path string) (string, error) {
	plain := globPlain.Replace(path)
	if plain != path && strings.Contains(path, `\`) {
		return "", refusedPath(path)
	}
	return plain, nil
}

func refusedPath(path string) *engine.Error {
	return &engine.Error{Kind: engine.KindIO, Class: "location", Position: -1, Text: "path of a data file: " +
		native.Clip(strings.ToValidUTF8(path, "?"))}
}
