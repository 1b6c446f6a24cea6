package query

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
)

// translate replaces a failure of the engine by an error with the place in the caller's
// text. The engine's own text is dropped: it can hold values of hidden rows, paths and
// generated names. Binding depends on names and types alone, so it keeps its
// place, and a name that the caller wrote; a run-time error keeps the field at most.
func (p *prepared) translate(ctx context.Context, err error) error {
	var e *engine.Error
	switch {
	case !errors.As(err, &e):
		return p.pieces.blame(err)
	case p.defect && isDefect(err):
		if len(p.pieces) == 0 {
			return engineCannot("")
		}
		return engineCannot(p.pieces.only())
	case e.Kind == engine.KindIO && e.Class == engine.ClassMissing && p.historical:
		return errVacuumed
	case e.Kind == engine.KindRuntime && len(p.pieces) > 0:
		field, _ := p.pieces.at(p.locate(ctx, e))
		return &refusal.Placed{Err: err, Field: field}
	case e.Kind != engine.KindBind || strings.HasPrefix(e.Class, "parameter_"):
		return p.pieces.blame(err) // the values of parameters are not in the text
	}
	placed := &refusal.Placed{Err: err, Field: "sql", Position: p.locate(ctx, e)}
	if e.Name != "" && p.statement.Wrote(e.Name) {
		placed.Name, placed.Near = e.Name, p.names.near(e)
		if placed.Position.Line == 0 {
			placed.Position = p.statement.Position(e.Name)
		}
	}
	return p.pieces.blame(placed)
}

func (p *prepared) locate(ctx context.Context, e *engine.Error) refusal.Position {
	return p.statement.Locate(ctx, p.parser, p.plan.SQL, e.Position)
}

// engineCannot returns the error for a statement that meets a defect of the engine although it
// reads only rows that the caller sees. field is the field of the request that holds the text; "" means sql.
func engineCannot(field string) error {
	return &fault.StatementError{
		Code:    "engine_cannot",
		Field:   field,
		Message: "the engine has a defect that this statement meets each time: write it in another form",
	}
}

// errVacuumed is the error for a missing file of an older version, which needs no repair.
var errVacuumed = &fault.StatementError{
	Code:    "data_file_missing",
	Message: "a file of this older version is missing, most likely because a vacuum deleted it: read a newer version",
	Reason:  delta.ReasonFileMissing,
}

// visibleNames are the columns that a message may suggest, each with the statement's name of
// its table.
type visibleNames []visibleName

type visibleName struct{ table, column string }

func namesOf(statement *sqlguard.Query, relations []sqlguard.Relation) visibleNames {
	var names visibleNames
	for i, ref := range statement.Tables() {
		for _, c := range relations[i].Columns {
			names = append(names, visibleName{ref.Alias, c.Name})
		}
	}
	return names
}

// near returns up to three names that the caller may mean.
func (v visibleNames) near(e *engine.Error) []string {
	var found []string
	switch e.Class {
	case "column_not_found", "field_not_found":
		for _, n := range v {
			if !slices.Contains(found, n.column) {
				found = append(found, n.column)
			}
		}
		return refusal.Near(e.Name, found)
	case "ambiguous_column":
		for _, n := range v {
			if full := n.table + "." + n.column; strings.EqualFold(n.column, e.Name) && !slices.Contains(found, full) {
				found = append(found, full)
			}
		}
		return found[:min(3, len(found))]
	}
	return nil
}

func quoted(name string) string { return `"` + name + `"` }
