package query

import (
	"errors"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
)

// Composer writes a generated statement around texts of the caller, and records where
// each text is, so that errors name a place in the field that the text came from.
type Composer struct {
	sql    strings.Builder
	line   int // counts from 0
	pieces pieces
}

// piece is what a field of the request became: the lines from first to last. The text of
// the field begins at the line text.
type piece struct {
	field             string
	first, text, last int
	// names reports that the piece holds names that were quoted: they have no place.
	names bool
}

// pieces are the pieces of one statement. Without any, the caller wrote all of it.
type pieces []piece

// Own adds generated SQL. It shares no line with a text.
func (c *Composer) Own(sql string) {
	c.sql.WriteString(sql)
	c.line += strings.Count(sql, "\n")
}

// Text adds a text of the caller, on lines of its own, between generated SQL.
func (c *Composer) Text(field, before, text, after string) {
	p := piece{field: field, first: c.line}
	c.Own(before + "\n")
	p.text = c.line
	c.Own(text + "\n" + after)
	p.last = c.line
	c.pieces = append(c.pieces, p)
}

// Names adds quoted names of the caller, on lines of their own.
func (c *Composer) Names(field, before, names string) {
	p := piece{field: field, first: c.line, names: true}
	c.Own(before + names)
	p.last = c.line
	c.pieces = append(c.pieces, p)
}

// Statement returns the statement.
func (c *Composer) Statement() Statement { return Statement{SQL: c.sql.String(), pieces: c.pieces} }

// blame adds the field that an error of the statement is about, and the place in the
// field, unless the error has them.
func (p pieces) blame(err error) error {
	var (
		own     *fault.StatementError
		placed  *refusal.Placed
		refused *refusal.Error
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
		at := refusal.Position{Line: own.Line, Column: own.Column}
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
		field, at := p.at(refusal.Position{Line: refused.Line, Column: refused.Column})
		return &refusal.Placed{Err: err, Field: field, Position: at, Near: refused.Near}
	case errors.As(err, &failed):
		field, _ := p.at(refusal.Position{})
		return &refusal.Placed{Err: err, Field: field}
	}
	return err
}

// at returns the field of a place in the statement, and the place in its text.
func (p pieces) at(place refusal.Position) (string, refusal.Position) {
	line := place.Line - 1
	i := slices.IndexFunc(p, func(x piece) bool { return place.Line > 0 && x.first <= line && line <= x.last })
	switch {
	case i < 0:
		return p.only(), refusal.Position{}
	case p[i].names || line < p[i].text || line == p[i].last:
		return p[i].field, refusal.Position{}
	}
	return p[i].field, refusal.Position{Line: line - p[i].text + 1, Column: place.Column}
}

// only returns the field of a failure without a place: that of the only text, or the
// request as a whole.
func (p pieces) only() string {
	texts := slices.DeleteFunc(slices.Clone(p), func(x piece) bool { return x.names })
	if len(texts) == 1 {
		return texts[0].field
	}
	return "body"
}
