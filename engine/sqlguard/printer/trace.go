package printer

import (
	"context"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// Source returns the byte offset in the text of stmt from which a byte offset of sql, a
// print of stmt, comes. It returns -1 if there is none or if sql is another statement.
func Source(ctx context.Context, parser engine.Parser, stmt *sqltree.Node, sql string, off int) int {
	if off < 0 {
		return -1
	}
	raw, err := parser.Serialize(ctx, sql)
	if err != nil {
		return -1
	}
	root, err := sqltree.Decode(raw, 1<<20, false)
	if err != nil || len(root.List("statements")) != 1 {
		return -1
	}
	l := &locator{wanted: off, found: -1}
	l.walk(canonical(stmt.Clone()), canonical(sqltree.StatementOf(root)), -1)
	return l.found
}

// locator walks a printed tree and the one from which it was printed.
type locator struct {
	wanted int // offset in the printed text
	found  int // offset in the caller's text, or -1
}

// walk compares corresponding parts of the trees. near is the offset of the closest
// enclosing part that the caller wrote.
func (l *locator) walk(written, printed any, near int) {
	switch p := printed.(type) {
	case *sqltree.Node:
		w, _ := written.(*sqltree.Node)
		if p == nil || l.found >= 0 {
			return
		}
		if w == nil || w.Str("class") != p.Str("class") || w.Str("type") != p.Str("type") {
			w = nil // something of ours stands here instead
		}
		if at := sqltree.Offset(w); at >= 0 {
			near = at
		}
		if sqltree.Offset(p) == l.wanted {
			l.found = near
		}
		for key, x := range p.Fields() {
			l.walk(w.Get(key), x, near)
		}
	case []any:
		w, _ := written.([]any)
		for i, item := range p {
			var other any
			if len(w) == len(p) {
				other = w[i]
			}
			l.walk(other, item, near)
		}
	}
}
