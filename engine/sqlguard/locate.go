package sqlguard

import (
	"context"

	"github.com/lakewarden/lakewarden/engine"
)

// PlacedError is what the guard or the engine has against a statement, with the
// place in what the caller wrote.
type PlacedError struct {
	// Err is an *Error or an *engine.Error.
	Err error
	// Field is the field of the request that holds the text.
	Field string
	// Position is the place in that field; zero if unknown.
	Position Position
	// Name is the name at fault, as the caller wrote it, or "".
	Name string
	// Near holds up to three names that the caller may have meant.
	Near []string
}

// Error is that of Err.
func (e *PlacedError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *PlacedError) Unwrap() error { return e.Err }

// Locate turns a byte offset in the SQL of a plan of q into the place in the text
// of q that it was printed from. It returns the zero Position for a place that
// nothing of the text stands behind, and where the SQL is of another statement.
func (q *Query) Locate(ctx context.Context, parser engine.Parser, sql string, off int) Position {
	if off < 0 {
		return Position{}
	}
	raw, err := parser.Serialize(ctx, sql)
	if err != nil {
		return Position{}
	}
	root, err := decodeTree(raw, 1<<20, false)
	if err != nil || len(root.list("statements")) != 1 {
		return Position{}
	}
	l := &locator{wanted: off, found: -1}
	l.walk(canonical(cloneValue(q.root.list("statements")[0])), canonical(root.list("statements")[0]), -1)
	return place(q.text, l.found)
}

// locator walks a printed tree along the one that it was printed from.
type locator struct {
	wanted int // offset in the printed text
	found  int // offset in the caller's text, or -1
}

// walk compares what belongs together. near is the offset of the closest part
// around it that the caller wrote.
func (l *locator) walk(written, printed any, near int) {
	switch p := printed.(type) {
	case *node:
		w, _ := written.(*node)
		if p == nil || l.found >= 0 {
			return
		}
		if w == nil || w.str("class") != p.str("class") || w.str("type") != p.str("type") {
			w = nil // something of ours stands here instead
		}
		if at := offset(w); at >= 0 {
			near = at
		}
		if offset(p) == l.wanted {
			l.found = near
		}
		for i, key := range p.keys {
			l.walk(w.get(key), p.vals[i], near)
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
