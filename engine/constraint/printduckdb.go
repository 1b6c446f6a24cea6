package constraint

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/deltasql"
)

// duckdb prints e for DuckDB, with columns qualified with the alias. Constants are cast to their
// types, so that the engine does not infer other ones.
func (e *expr) duckdb(alias string) string {
	args := make([]string, len(e.args))
	for i, a := range e.args {
		args[i] = a.duckdb(alias)
	}
	switch e.op {
	case opColumn:
		sql := engine.QuoteIdent(alias) + "." + engine.QuoteIdent(e.path[0])
		for _, member := range e.path[1:] {
			sql = "struct_extract(" + sql + ", " + engine.QuoteString(member) + ")"
		}
		return sql
	case opLiteral:
		if familyOf(e.typ) == famBool {
			return e.text
		}
		return "CAST(" + engine.QuoteString(e.text) + " AS " + deltasql.Type(e.typ).String() + ")"
	case opArith, opCompare, opAnd, opOr, opNot, opIn, opIsNull, opBetween, opNegate, opCase, opNull:
		return e.common(args)
	case opLike:
		return e.likeSQL(args)
	case opCast:
		return "CAST(" + args[0] + " AS " + deltasql.Type(e.typ).String() + ")"
	}
	switch e.text {
	case "ilike":
		return e.likeSQL(args)
	case "||":
		return "(" + args[0] + " || " + args[1] + ")"
	}
	return e.text + "(" + strings.Join(args, ", ") + ")"
}

// common prints the parts that are the same in both languages, fully parenthesised.
func (e *expr) common(args []string) string {
	switch e.op {
	case opNull:
		return "NULL"
	case opAnd:
		return "(" + strings.Join(args, " AND ") + ")"
	case opOr:
		return "(" + strings.Join(args, " OR ") + ")"
	case opNot:
		return "(NOT " + args[0] + ")"
	case opIn:
		return "(" + args[0] + " IN (" + strings.Join(args[1:], ", ") + "))"
	case opIsNull:
		return "(" + args[0] + " IS NULL)"
	case opBetween:
		return "(" + args[0] + " BETWEEN " + args[1] + " AND " + args[2] + ")"
	case opNegate:
		return "(- " + args[0] + ")"
	case opCase:
		sql := "CASE"
		for i := 0; i+1 < len(args); i += 2 {
			sql += " WHEN " + args[i] + " THEN " + args[i+1]
		}
		return sql + " ELSE " + args[len(args)-1] + " END"
	}
	return "(" + args[0] + " " + e.text + " " + args[1] + ")"
}
