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

// QuoteString quotes a string literal for SQL.
func QuoteString(s string) string {
	return `'` + strings.ReplaceAll(s, `'`, `''`) + `'`
}
