package sqlguard

import (
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard/leakproof"
)

// shield wraps a column, given by its name in SQL, so that the engine cannot compare
// it with the bounds of files and row groups. least with a single argument returns its
// vector unchanged, but the optimizer treats it as a computation. A comparison with it
// is evaluated row by row, and the run-time filters of joins and of ORDER BY ... LIMIT
// do not pass it. TestShieldedColumnsSkipNothing checks this for the linked engine.
func shield(column string) string { return "least(" + column + ")" }

// column returns a column of the relation in SQL over the alias of barriers. It
// returns false if the relation is shielded and the shielded value might have another
// type than the column.
func (r Relation) column(c engine.Column) (string, bool) {
	name := barrierColumn(c.Name)
	if !r.Shielded {
		return name, true
	}
	if !leakproof.Covers(c.Type) {
		return "", false
	}
	return shield(name), true
}
