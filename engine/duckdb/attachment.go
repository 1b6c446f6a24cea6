package duckdb

import (
	"container/list"
	"os"
	"path/filepath"
	"strconv"

	"github.com/lakewarden/lakewarden/engine"
)

// maxAttachments is how many tables a session keeps attached between two
// statements. Each one that was read holds some threads of the Delta kernel.
const maxAttachments = 32

// attachments are the attached tables of an instance, the most recently used
// first. One name stands for one version of one table, so an attachment never
// has to be refreshed.
//
// Every table is attached through a link with a plain name. From a path that
// ends in a letter outside ASCII, the extension cuts that letter off when it
// looks for data files, and so it would read those of another directory. DuckDB
// follows the link before it checks the path against the roots.
type attachments struct {
	inst  *instance
	links string
	order *list.List
	byKey map[engine.Source]*list.Element
}

func newAttachments(in *instance, links string) *attachments {
	return &attachments{inst: in, links: links, order: list.New(), byKey: map[engine.Source]*list.Element{}}
}

// has reports whether src is attached, and marks it as used.
func (a *attachments) has(src engine.Source) bool {
	el, ok := a.byKey[src]
	if ok {
		a.order.MoveToFront(el)
	}
	return ok
}

// add attaches src, whose checked location is given. The log is read when the
// table is first used.
func (a *attachments) add(src engine.Source, location string) error {
	link := a.link(src)
	if err := os.Symlink(location, link); err != nil {
		return internalError("temp_dir", err.Error())
	}
	sql := "ATTACH " + engine.QuoteString(link) + " AS " + engine.QuoteIdent(src.Database()) +
		" (TYPE delta, READ_ONLY, VERSION " + strconv.FormatInt(src.Version, 10) +
		", internal_table_name " + engine.QuoteString(engine.SourceTable) + ")"
	if err := a.inst.exec(sql); err != nil {
		_ = os.Remove(link)
		return err
	}
	a.byKey[src] = a.order.PushFront(src)
	return nil
}

// trim detaches the least recently used tables beyond the limit, but none of
// those in use.
func (a *attachments) trim(inUse []engine.Source) error {
	keep := make(map[engine.Source]bool, len(inUse))
	for _, src := range inUse {
		keep[src] = true
	}
	for el := a.order.Back(); el != nil && a.order.Len() > maxAttachments; {
		older := el.Prev()
		if src := el.Value.(engine.Source); !keep[src] {
			if err := a.detach(src); err != nil {
				return err
			}
		}
		el = older
	}
	return nil
}

// drop detaches the given tables. An error leaves the rest attached, which costs
// memory only.
func (a *attachments) drop(sources []engine.Source) {
	for _, src := range sources {
		if _, ok := a.byKey[src]; ok && a.detach(src) != nil {
			return
		}
	}
}

func (a *attachments) detach(src engine.Source) error {
	if err := a.inst.exec("DETACH " + engine.QuoteIdent(src.Database())); err != nil {
		return err
	}
	a.order.Remove(a.byKey[src])
	delete(a.byKey, src)
	if err := os.Remove(a.link(src)); err != nil {
		return internalError("temp_dir", err.Error())
	}
	return nil
}

func (a *attachments) link(src engine.Source) string {
	return filepath.Join(a.links, src.Database())
}
