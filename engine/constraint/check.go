package constraint

import (
	"context"
	"errors"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// Check is an expression that must be TRUE of every row. It is immutable and safe
// for concurrent use.
type Check struct{ expr *expr }

// ParseCheck reads an expression of a user, in DuckDB's SQL, over the columns of
// a table; one with names in backticks is Spark's SQL, as the log has it. The
// expression must be boolean and deterministic; it has no subqueries, aggregates
// or parameters. Errors: [CheckError], and those of the parser that are not about
// the text.
func ParseCheck(ctx context.Context, parser engine.Parser, schema delta.Struct, text string) (Check, error) {
	e, err := builder{schema: schema}.fromDuckDB(ctx, parser, text)
	var refusal *CheckError
	if errors.As(err, &refusal) && strings.Contains(text, "`") {
		// To DuckDB backticks are operators, and none of them is served, so no text
		// has a meaning in both languages.
		if check, err := ParseSpark(schema, text); err == nil {
			return check, nil
		}
	}
	return newCheck(e, err)
}

// ParseSpark reads an expression of the log, in Spark's SQL. What the engines
// that write such logs would take differently is refused. The error is a
// [CheckError].
func ParseSpark(schema delta.Struct, text string) (Check, error) {
	e, err := builder{schema: schema}.fromSpark(text)
	return newCheck(e, err)
}

func newCheck(e *expr, err error) (Check, error) {
	switch {
	case err != nil:
		return Check{}, err
	case e.depth() > maxDepth:
		return Check{}, invalid("it is nested deeper than %d", maxDepth)
	case e.patterns() > maxPatterns:
		return Check{}, invalid("it has more than %d calls of LIKE whose pattern has _ or ESCAPE or is not constant", maxPatterns)
	}
	return Check{e}, nil
}

// Portable reports whether Spark's SQL can say the same, and if not, why.
func (c Check) Portable() (reason string, ok bool) {
	reason = c.expr.portable()
	if reason == "" && len(c.expr.columns(nil)) == 0 {
		reason = "it names no column"
	}
	return reason, reason == ""
}

// Spark prints a portable check in Spark's SQL.
func (c Check) Spark() string { return c.expr.spark() }

// Columns are the top-level columns that the check reads, as the schema spells
// them, each once.
func (c Check) Columns() []string { return c.expr.columns(nil) }

// Broken is the condition, in DuckDB's SQL, under which a row of the relation
// that alias names breaks the check. It is TRUE or FALSE and cannot fail.
func (c Check) Broken(alias string) string {
	return "(NOT coalesce(TRY(" + c.expr.duckdb(alias) + "), false))"
}
