package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// BarrierDatabase and BarrierSchema qualify every filtered copy.
const (
	BarrierDatabase = "temp"
	BarrierSchema   = "main"
)

// Relation returns the qualified name of the copy in SQL, quoted.
func (b Barrier) Relation() string {
	return BarrierDatabase + "." + BarrierSchema + "." + QuoteIdent(b.Name)
}

// BarrierName returns the content address for a copy of src filled by sql.
func BarrierName(src Source, sql string) string {
	sum := sha256.Sum256([]byte(src.Database() + "\x00" + sql))
	return "flt_" + hex.EncodeToString(sum[:16])
}

// QuoteIdent quotes an identifier for SQL.
func QuoteIdent(name string) string {
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// Shield wraps a column, given by its name in SQL, so that the engine cannot compare it with
// the bounds of files and row groups. least with a single argument returns its vector
// unchanged, but the optimizer treats it as a computation. A comparison with it is evaluated
// row by row, and the run-time filters of joins and of ORDER BY ... LIMIT do not pass it.
func Shield(column string) string { return "least(" + column + ")" }

// Shielded returns a relation like one, given as the text after FROM, of which the columns
// with some names are shielded.
func Shielded(from string, names []string) string {
	items := make([]string, len(names))
	for i, name := range names {
		items[i] = Shield(QuoteIdent(name)) + " AS " + QuoteIdent(name)
	}
	return "(SELECT * REPLACE (" + strings.Join(items, ", ") + ") FROM " + from + ")"
}

// QuoteString returns a string as a literal of SQL. A string with U+0000, which no literal can have, is
// an expression in parentheses.
func QuoteString(s string) string {
	if parts := strings.Split(s, "\x00"); len(parts) > 1 {
		for i, part := range parts {
			parts[i] = QuoteString(part)
		}
		return "(" + strings.Join(parts, " || system.main.chr(0) || ") + ")"
	}
	return `'` + strings.ReplaceAll(s, `'`, `''`) + `'`
}
