package ingest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
)

// ParquetQuery is the SQL that makes a table's rows of a spooled file.
type ParquetQuery struct {
	// Select has the table's columns, in their order and with their types. It
	// may be run only when Check found nothing: it would make NULL of a value that
	// does not fit.
	Select string
	// Check lists the values that the table cannot take, at most 100: "row" (BIGINT,
	// as the position column says), "column" (INTEGER, its number in the table),
	// "total" (BIGINT, of all). It is empty if no value can be one.
	Check string
	// Named are the columns of the table that the file has, in the table's order.
	Named []string
}

// Problem is a line of what Check found.
func (q *ParquetQuery) Problem(row int64, column engine.Column) Problem {
	return Problem{Row: row, Column: column.Name, Message: "the value does not become " + column.Type + " without loss"}
}

// ParquetSelect writes SQL that reads a spooled file through a relation whose
// columns are have, those of the file as an engine describes them, and position,
// the number of the row. The result has the columns want. All text in it is
// quoted or ours. Columns go by their very names first, else by their names in
// another case. nanos are the numbers of those columns of the file that
// [ParquetNanos] finds.
//
// The error is a [*RowsError] that names the columns that do not fit, or
// [ErrUnsupportedType].
func ParquetSelect(relation, position string, have []engine.Column, nanos []int64, want []engine.Column) (*ParquetQuery, error) {
	find := newNames(len(want), func(i int) string { return want[i].Name })
	sources := make([]*parquetColumn, len(want))
	var problems RowsError
	for n, c := range have {
		i := find.find([]byte(c.Name))
		if i < 0 {
			problems.add(-1, shownName([]byte(c.Name)), unknownColumn)
			continue
		}
		if sources[i] != nil {
			problems.add(-1, want[i].Name, namedTwice)
			continue
		}
		column, reason, err := newParquetColumn(c, want[i])
		if err != nil {
			return nil, err
		}
		if reason == "" && slices.Contains(nanos, int64(n)) {
			reason = nanoseconds
		}
		if sources[i] = column; reason != "" {
			problems.add(-1, want[i].Name, reason)
		}
	}
	if problems.Total > 0 {
		return nil, &problems
	}
	return parquetQuery(relation, position, sources, want), nil
}

// parquetColumn is a column of the file that becomes one of the table's.
type parquetColumn struct {
	name string
	// from and to are its types; equal ones need no cast.
	from, to string
}

// newParquetColumn returns a reason when the types do not go together.
func newParquetColumn(have, want engine.Column) (*parquetColumn, string, error) {
	to, err := parseType(want.Type)
	if err != nil || to.arrowType() == nil {
		return nil, "", fmt.Errorf("column %q of type %s: %w", want.Name, want.Type, ErrUnsupportedType)
	}
	column := &parquetColumn{name: engine.QuoteIdent(have.Name), to: to.sql()}
	from, err := parseType(have.Type)
	if err != nil {
		return column, "the type of the file's column is not known", nil
	}
	column.from = from.sql()
	return column, castable(from, to), nil
}

// cast is the value as the table's type.
func (p *parquetColumn) cast() string {
	if p.from == p.to {
		return "f." + p.name
	}
	return "TRY_CAST(f." + p.name + " AS " + p.to + ")"
}

// bad is the condition of values that the cast loses: on the way back they are not
// what they were. JSON is text already, and may not be built in for the way back.
func (p *parquetColumn) bad() string {
	if p.from == p.to || p.from == (&dataType{kind: kindNull}).sql() || p.from == (&dataType{kind: kindJSON}).sql() {
		return ""
	}
	return "f." + p.name + " IS NOT NULL AND TRY_CAST(" + p.cast() + " AS " + p.from + ") IS DISTINCT FROM f." + p.name
}

func parquetQuery(relation, position string, sources []*parquetColumn, want []engine.Column) *ParquetQuery {
	q := &ParquetQuery{}
	items, checks := make([]string, len(want)), []string(nil)
	for i, c := range want {
		name := engine.QuoteIdent(c.Name)
		if sources[i] == nil {
			items[i] = "NULL::" + c.Type + " AS " + name
			continue
		}
		q.Named = append(q.Named, c.Name)
		items[i] = sources[i].cast() + " AS " + name
		if bad := sources[i].bad(); bad != "" {
			checks = append(checks, "CASE WHEN "+bad+" THEN "+strconv.Itoa(i)+" END")
		}
	}
	q.Select = "SELECT " + strings.Join(items, ", ") + " FROM " + relation + " AS f"
	if len(checks) > 0 {
		q.Check = `SELECT p."row", p."column", count(*) OVER () AS total FROM (SELECT f.` + engine.QuoteIdent(position) +
			` AS "row", unnest([` + strings.Join(checks, ", ") + `]) AS "column" FROM ` + relation + ` AS f) AS p` +
			` WHERE p."column" IS NOT NULL ORDER BY p."row", p."column" LIMIT ` + strconv.Itoa(maxProblems)
	}
	return q
}
