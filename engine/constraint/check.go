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

// ParseCheck parses a user's expression over the columns of a table. It is DuckDB's SQL or, if it
// has names in backticks, Spark's SQL, as in the log. The expression must be boolean and
// deterministic; subqueries, aggregates and parameters are refused. Errors: [CheckError], and
// errors of the parser that are not about the text.
func ParseCheck(ctx context.Context, parser engine.Parser, schema delta.Struct, text string) (Check, error) {
	e, err := builder{schema: schema}.fromDuckDB(ctx, parser, text)
	var refusal *CheckError
	if errors.As(err, &refusal) && strings.Contains(text, "`") {
		// In DuckDB backticks are operators, all of which are refused, so no text has a meaning in
		// both languages.
		if check, err := ParseSpark(schema, text); err == nil {
			return check, nil
		}
	}
	return newCheck(e, err)
}

// ParseSpark parses an expression of the log, in Spark's SQL. It refuses expressions that the
// engines that write such logs interpret differently. The error is a [CheckError].
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

// Portable reports whether Spark's SQL has an equivalent expression, and otherwise the reason.
func (c Check) Portable() (reason string, ok bool) {
	reason = c.expr.portable()
	if reason == "" && len(c.expr.columns(nil)) == 0 {
		reason = "it names no column"
	}
	return reason, reason == ""
}

// Spark returns a portable check in Spark's SQL.
func (c Check) Spark() string { return c.expr.spark() }

// Columns returns the top-level columns that the check reads, as the schema spells them, without
// duplicates.
func (c Check) Columns() []string { return c.expr.columns(nil) }

// Broken returns the condition, in DuckDB's SQL, under which a row of the relation with this alias
// breaks the check. The condition is TRUE or FALSE and cannot fail. TRY also keeps DuckDB from
// passing the comparisons to scans, which evaluate some of them wrongly.
func (c Check) Broken(alias string) string {
	return "(NOT coalesce(TRY(" + c.expr.duckdb(alias) + "), false))"
}
