package ops

import (
	"errors"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
)

// composer writes a statement of ours around texts of the caller, and notes where
// each of them stands: what is wrong with the statement is told as a place in the
// field that the text came from.
type composer struct {
	sql    strings.Builder
	line   int // counts from 0
	pieces pieces
}

// piece is what a field of the request became: the lines from first to last. Its
// text begins at the line text, and ends where it ends.
type piece struct {
	field             string
	first, text, last int
	// names says that the piece holds names that we quoted: they have no place.
	names bool
}

// pieces are those of one statement. None means that the caller wrote all of it.
type pieces []piece

// ours adds SQL of ours. It shares no line with a text.
func (c *composer) ours(sql string) {
	c.sql.WriteString(sql)
	c.line += strings.Count(sql, "\n")
}

// theirs adds a text of the caller, on lines of its own between two pieces of ours.
func (c *composer) theirs(field, before, text, after string) {
	p := piece{field: field, first: c.line}
	c.ours(before + "\n")
	p.text = c.line
	c.ours(text + "\n" + after)
	p.last = c.line
	c.pieces = append(c.pieces, p)
}

// named adds names of the caller that we quoted, on lines of their own.
func (c *composer) named(field, before, names string) {
	p := piece{field: field, first: c.line, names: true}
	c.ours(before + names)
	p.last = c.line
	c.pieces = append(c.pieces, p)
}

// blame says of an error of the statement which field it is about, and where in it.
// One that says so already stays as it is.
func (p pieces) blame(err error) error {
	var (
		own     *StatementError
		placed  *sqlguard.PlacedError
		refused *sqlguard.Error
		failed  *engine.Error
	)
	switch {
	case err == nil || len(p) == 0:
		return err
	case errors.As(err, &own):
		if own.Field != "" || own.Line == 0 {
			return err
		}
		out := *own
		at := sqlguard.Position{Line: own.Line, Column: own.Column}
		out.Field, at = p.at(at)
		out.Line, out.Column = at.Line, at.Column
		return &out
	case errors.As(err, &placed):
		if placed.Field != "sql" {
			return err
		}
		out := *placed
		out.Field, out.Position = p.at(placed.Position)
		return &out
	case errors.As(err, &refused):
		field, at := p.at(sqlguard.Position{Line: refused.Line, Column: refused.Column})
		return &sqlguard.PlacedError{Err: err, Field: field, Position: at, Near: refused.Near}
	case errors.As(err, &failed):
		field, _ := p.at(sqlguard.Position{})
		return &sqlguard.PlacedError{Err: err, Field: field}
	}
	return err
}

// at turns a place in the statement into a field, and the place in its text.
func (p pieces) at(place sqlguard.Position) (string, sqlguard.Position) {
	line := place.Line - 1
	i := slices.IndexFunc(p, func(x piece) bool { return place.Line > 0 && x.first <= line && line <= x.last })
	switch {
	case i < 0:
		return p.only(), sqlguard.Position{}
	case p[i].names || line < p[i].text || line == p[i].last:
		return p[i].field, sqlguard.Position{}
	}
	return p[i].field, sqlguard.Position{Line: line - p[i].text + 1, Column: place.Column}
}

// only is the field of a failure that has no place: that of the only text, or the
// request as a whole.
func (p pieces) only() string {
	texts := slices.DeleteFunc(slices.Clone(p), func(x piece) bool { return x.names })
	if len(texts) == 1 {
		return texts[0].field
	}
	return "body"
}
