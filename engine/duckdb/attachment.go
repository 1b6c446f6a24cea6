package duckdb

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
)

// maxAttachments is how many tables a session keeps attached between two
// statements. Each one that was read holds some threads of the Delta kernel.
const maxAttachments = 32

// attachments are the attached tables of an instance. One name stands for one
// version of one table, so an attachment never has to be refreshed.
//
// Every table is attached through a link with a plain name. From a path that
// ends in a letter outside ASCII, the extension cuts that letter off when it
// looks for data files, and so it would read those of another directory. DuckDB
// follows the link before it checks the path against the roots.
type attachments struct {
	inst  *instance
	links string
	names *recent
}

func newAttachments(in *instance, links string) *attachments {
	return &attachments{inst: in, links: links, names: newRecent()}
}

func (a *attachments) has(src engine.Source) bool { return a.names.touch(src.Database()) }

// add attaches src, whose checked location is given. The log is read when the
// table is first used.
func (a *attachments) add(src engine.Source, location string) error {
	// The extension decodes percent signs where it looks for the log, and not
	// where it looks for the data: it would mix two tables.
	if strings.Contains(location, "%") {
		return &engine.Error{Kind: engine.KindIO, Class: "location", Position: -1, Text: "a percent sign in " + clip(location)}
	}
	name := src.Database()
	link := a.link(name)
	if err := os.Symlink(location, link); err != nil {
		return internalError("temp_dir", err.Error())
	}
	sql := "ATTACH " + engine.QuoteString(link) + " AS " + engine.QuoteIdent(name) +
		" (TYPE delta, READ_ONLY, VERSION " + strconv.FormatInt(src.Version, 10) +
		", internal_table_name " + engine.QuoteString(engine.SourceTable) + ")"
	if err := a.inst.exec(sql); err != nil {
		_ = os.Remove(link)
		return err
	}
	a.names.add(name)
	return nil
}

// trim detaches the least recently used tables beyond the limit.
func (a *attachments) trim(inUse map[string]bool) error { return a.shrink(maxAttachments, inUse) }

// clear detaches all tables, whose threads would stay otherwise.
func (a *attachments) clear() error { return a.shrink(0, nil) }

func (a *attachments) shrink(limit int, inUse map[string]bool) error {
	for _, name := range a.names.excess(limit, inUse) {
		if err := a.drop(name); err != nil {
			return err
		}
	}
	return nil
}

// drop detaches a table if it is attached.
func (a *attachments) drop(name string) error {
	if !a.names.has(name) {
		return nil
	}
	if err := a.inst.exec("DETACH " + engine.QuoteIdent(name)); err != nil {
		return err
	}
	a.names.remove(name)
	if err := os.Remove(a.link(name)); err != nil {
		return internalError("temp_dir", err.Error())
	}
	return nil
}

func (a *attachments) link(name string) string { return filepath.Join(a.links, name) }
