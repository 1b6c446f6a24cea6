package sqlguard

import "github.com/lakewarden/lakewarden/engine"

// shield returns the value of a column, by its name in SQL, so that the engine
// cannot compare it with the bounds of files and row groups. least of a single
// argument passes its vector on unchanged, and the optimizer takes it for a
// computation: a comparison with it is evaluated row by row in the reader, and no
// filter that a join or an ORDER BY ... LIMIT makes at run time gets past it. The
// test of the engine's build is TestShieldedColumnsSkipNothing.
func shield(column string) string { return "least(" + column + ")" }

// column is a column of the relation in SQL over the alias of barriers. It is
// false where the relation is shielded and the engine's type of a shielded value
// is not known to be that of the column.
func (r Relation) column(c engine.Column) (string, bool) {
	name := barrierColumn(c.Name)
	if !r.Shielded {
		return name, true
	}
	if _, known := columnValueOf(c.Type); !known {
		return "", false
	}
	return shield(name), true
}
