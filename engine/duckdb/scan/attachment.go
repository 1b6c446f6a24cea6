package scan

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb/native"
	"github.com/lakewarden/lakewarden/engine/duckdb/sandbox"
)

// maxAttachments is how many tables an instance keeps attached between two statements. Each
// table that was read holds some threads of the Delta kernel.
const maxAttachments = 32

// Attachments are the attached tables of an instance. One name stands for one version of one
// table, so an attachment never needs a refresh.
//
// An interrupt can end any step of Add and Drop, whether or not the step had its effect. A table
// counts as attached after the last step of Add and until the first step of Drop. Between them,
// every step can be repeated.
//
// A local table is attached through a link with a plain name. From a path that ends in a
// letter outside ASCII, the extension cuts that letter off when it lists data files, and so
// would read those of another directory. DuckDB follows the link before it checks the path
// against the roots. Remote tables have no links, so such paths are refused there. Percent
// signs are refused everywhere: the extension decodes them in the path of the log but not in
// the paths of the data, and would mix two tables.
type Attachments struct {
	inst  *native.Instance
	links string
	// names maps the name of a table to whether it can be read.
	names *simplelru.LRU[string, bool]
}

// NewAttachments returns the attachments of an instance, with their links in the directory links.
func NewAttachments(in *native.Instance, links string) *Attachments {
	return &Attachments{inst: in, links: links, names: newRecent[bool]()}
}

// Has reports whether src is attached, and marks it as used.
func (a *Attachments) Has(src engine.Source) bool {
	readable, _ := a.names.Get(src.Database())
	return readable
}

// Add attaches src, whose location was checked. The log is read when the table is first used.
func (a *Attachments) Add(src engine.Source, location string) error {
	name := src.Database()
	from := location
	switch {
	case sandbox.IsRemote(location) && !readableRemote(location), strings.Contains(location, "%"):
		return &engine.Error{Kind: engine.KindIO, Class: "location", Position: -1, Text: "the extension would misread " + native.Clip(location)}
	case !sandbox.IsRemote(location):
		from = a.link(name)
		if err := os.Symlink(location, from); err != nil && !errors.Is(err, fs.ErrExist) {
			return native.InternalError("temp_dir", err.Error())
		}
	}
	sql := "ATTACH IF NOT EXISTS " + engine.QuoteString(from) + " AS " + engine.QuoteIdent(name) +
		" (TYPE delta, READ_ONLY, VERSION " + strconv.FormatInt(src.Version, 10) +
		", internal_table_name " + engine.QuoteString(engine.SourceTable) + ")"
	a.names.Add(name, false)
	err := a.inst.Exec(sql)
	if err == nil {
		err = a.addView(name)
	}
	if err != nil {
		_ = a.Drop(name)
		return err
	}
	a.names.Add(name, true)
	return nil
}

// addView creates the view under which statements read an attached table.
func (a *Attachments) addView(name string) error {
	table := engine.QuoteIdent(name) + ".main." + engine.QuoteIdent(engine.SourceTable)
	d, err := a.inst.Describe("SELECT * FROM " + table)
	if err != nil {
		return fileFailure(err)
	}
	items := make([]string, len(d.Names))
	for i, column := range d.Names {
		items[i] = guardLogged(column, d.Types[i])
	}
	sql := "CREATE OR REPLACE TEMP VIEW " + engine.QuoteIdent(name) + " AS SELECT " + strings.Join(items, ", ") + " FROM " + table
	return fileFailure(a.inst.Exec(sql))
}

// Trim detaches the least recently used tables beyond the limit.
func (a *Attachments) Trim(inUse map[string]bool) error { return a.shrink(maxAttachments, inUse) }

// Clear detaches all tables, which also ends their threads.
func (a *Attachments) Clear() error { return a.shrink(0, nil) }

func (a *Attachments) shrink(limit int, inUse map[string]bool) error {
	for _, name := range excess(a.names, limit, inUse) {
		if err := a.Drop(name); err != nil {
			return err
		}
	}
	return nil
}

// Drop detaches a table if it is attached.
func (a *Attachments) Drop(name string) error {
	if !a.names.Contains(name) {
		return nil
	}
	a.names.Add(name, false)
	if err := a.inst.Exec("DROP VIEW IF EXISTS temp.main." + engine.QuoteIdent(name)); err != nil {
		return err
	}
	if err := a.inst.Exec("DETACH DATABASE IF EXISTS " + engine.QuoteIdent(name)); err != nil {
		return err
	}
	if err := os.Remove(a.link(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return native.InternalError("temp_dir", err.Error())
	}
	a.names.Remove(name)
	return nil
}

// readableRemote reports whether the extension, which parses location as an address, reads the
// log and the data there: location has no query, fragment or control character, and does not
// end in a character that the extension cuts off.
func readableRemote(location string) bool {
	return !strings.ContainsAny(location, "?#\x7f") && !strings.ContainsFunc(location, unicode.IsControl) &&
		location[len(location)-1] < utf8.RuneSelf
}

func (a *Attachments) link(name string) string { return filepath.Join(a.links, name) }
