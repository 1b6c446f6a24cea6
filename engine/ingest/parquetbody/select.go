package parquetbody

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// Query is the SQL that turns a spooled file into a table's rows.
type Query struct {
	// Select has the table's columns, in their order and with their types. It may run only if
	// Check found nothing: it would turn a value that does not fit into NULL.
	Select string
	// Check lists the values that the table cannot hold, at most 100: "row" (BIGINT, as in the
	// position column), "column" (INTEGER, its number in the table), "total" (BIGINT, of all).
	// It is empty if every value fits.
	Check string
	// Named are the columns of the table that the file has, in the table's order.
	Named []string
}

// Problem returns the problem of a row of Check.
func (q *Query) Problem(row int64, column engine.Column) staging.Problem {
	return staging.Problem{Row: row, Column: column.Name, Message: "the value does not become " + column.Type.String() + " without loss"}
}

// Select returns SQL that reads a spooled file through a relation with the columns have, those
// of the file as an engine describes them, and position, the number of the row. The result has
// the columns want. All foreign text in it is quoted. Columns are matched by their exact names
// first, else regardless of case. nanos are the numbers of the columns of the file that
// [Nanos] finds.
//
// The error is a [*staging.RowsError] with the columns that do not fit, or
// [staging.ErrUnsupportedType].
func Select(relation, position string, have []engine.Column, nanos []int64, want []engine.Column) (*Query, error) {
	find := staging.NewNames(len(want), func(i int) string { return want[i].Name })
	sources := make([]*fileColumn, len(want))
	var problems staging.RowsError
	for n, c := range have {
		i := find.Find([]byte(c.Name))
		if i < 0 {
			problems.Add(-1, staging.ShownName([]byte(c.Name)), staging.UnknownColumn)
			continue
		}
		if sources[i] != nil {
			problems.Add(-1, want[i].Name, staging.NamedTwice)
			continue
		}
		column, reason, err := newFileColumn(c, want[i])
		if err != nil {
			return nil, err
		}
		if reason == "" && slices.Contains(nanos, int64(n)) {
			reason = nanoseconds
		}
		if sources[i] = column; reason != "" {
			problems.Add(-1, want[i].Name, reason)
		}
	}
	if problems.Total > 0 {
		return nil, &problems
	}
	return newQuery(relation, position, sources, want), nil
}

// fileColumn is a column of the file that becomes one of the table's.
type fileColumn struct {
	name string
	// from and to are its types; equal ones need no cast.
	from, to sqltype.Type
}

// newFileColumn returns a reason if the types do not fit.
func newFileColumn(have, want engine.Column) (*fileColumn, string, error) {
	to := staging.OfSQL(want.Type)
	if to.ArrowType() == nil {
		return nil, "", fmt.Errorf("column %q of type %s: %w", want.Name, want.Type, staging.ErrUnsupportedType)
	}
	column := &fileColumn{name: engine.QuoteIdent(have.Name), from: have.Type, to: want.Type}
	return column, staging.Castable(staging.OfSQL(have.Type), to), nil
}

// cast returns SQL for the value as the table's type.
func (p *fileColumn) cast() string {
	if sqltype.Equal(p.from, p.to) {
		return "f." + p.name
	}
	return "TRY_CAST(f." + p.name + " AS " + p.to.String() + ")"
}

// bad returns the condition of values that the cast changes: cast back they differ. JSON is
// text already, and the cast back may not exist.
func (p *fileColumn) bad() string {
	if sqltype.Equal(p.from, p.to) || p.from == sqltype.Null || p.from == sqltype.JSON {
		return ""
	}
	return "f." + p.name + " IS NOT NULL AND TRY_CAST(" + p.cast() + " AS " + p.from.String() + ") IS DISTINCT FROM f." + p.name
}

func newQuery(relation, position string, sources []*fileColumn, want []engine.Column) *Query {
	q := &Query{}
	items, checks := make([]string, len(want)), []string(nil)
	for i, c := range want {
		name := engine.QuoteIdent(c.Name)
		if sources[i] == nil {
			items[i] = "NULL::" + c.Type.String() + " AS " + name
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
			` WHERE p."column" IS NOT NULL ORDER BY p."row", p."column" LIMIT ` + strconv.Itoa(staging.MaxProblems)
	}
	return q
}
