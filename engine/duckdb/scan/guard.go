package scan

import (
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// DuckDB's reader of Parquet skips row groups by statistics, dictionaries and Bloom filters,
// and casts the constants of a comparison to the type of the file. It does so wrongly for some
// columns. A guard is an expression for the values of such a column that hides comparisons from
// the reader: they are evaluated on the values that it returns.

// misread reports whether the reader may skip values of a type that satisfy a comparison:
//   - of bytes, it looks up the escaped text of a constant in a Bloom filter, which \xFF is not;
//   - of floats, writers leave NaN out of statistics, although NaN is the greatest value, and
//     a Bloom filter distinguishes -0.0 from 0.0.
func misread(t sqltype.Type) bool {
	return sqltype.Contains(t, func(t sqltype.Type) bool {
		return t == sqltype.Blob || t == sqltype.Float || t == sqltype.Double
	})
}

// guarded reports whether the query hides comparisons of a column from the reader.
func (s *fileScan) guarded(c engine.Column) bool {
	return misread(c.Type) || s.widened[c.Name]
}

// guard returns the expression for the values of a column, which are value in a file. The
// condition of its CASE is of another column, so that no optimizer removes it.
func (s *fileScan) guard(c engine.Column, value string) string {
	if !s.guarded(c) {
		return value
	}
	return "CASE WHEN f." + fileIndex + " IS NULL THEN NULL ELSE " + value + " END"
}

// guardLogged is [fileScan.guard] for the columns of a table that is read through its log, which
// has no number of the file. It also guards wide decimals: the extension uses the statistics of the
// log, in which writers store decimals as JSON numbers with too few digits for some values.
func guardLogged(name string, t sqltype.Type) string {
	quoted := engine.QuoteIdent(name)
	if !misread(t) && !sqltype.Contains(t, wideDecimal) {
		return quoted
	}
	return "CASE WHEN " + quoted + " IS NULL THEN NULL ELSE " + quoted + " END AS " + quoted
}

// jsonDigits is the number of decimal digits that every 64-bit floating-point number keeps.
const jsonDigits = 15

// wideDecimal reports whether t is a decimal that has values with more digits than [jsonDigits].
func wideDecimal(t sqltype.Type) bool {
	d, ok := t.(sqltype.Decimal)
	return ok && d.Precision > jsonDigits
}
