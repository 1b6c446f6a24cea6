package sqlguard

import (
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard/leakproof"
)

// column returns a column of the relation in SQL over the alias of barriers, shielded if
// the relation is: see [engine.Shield], which TestShieldedColumnsSkipNothing checks for the
// linked engine. It returns false if the relation is shielded and the shielded value might have another
// type than the column.
func (r Relation) column(c engine.Column) (string, bool) {
	name := barrierColumn(c.Name)
	if !r.Shielded {
		return name, true
	}
	if !leakproof.Covers(c.Type) {
		return "", false
	}
	return engine.Shield(name), true
}
