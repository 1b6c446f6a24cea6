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
	// Check lists the values that the table cannot hold, at most 100, too long rows first: "row"
	// (BIGINT, as in the position column), "column" and "reason" (BIGINT, see [Query.Problem]),
	// "total" (BIGINT, of all). It is empty if every value fits.
	Check string
	// Named are the columns of the table that the file has, in the table's order.
	Named []string

	want     []engine.Column
	rowBytes int64
}

// Problem returns the problem of a row of Check. The error is a [*staging.LimitError] if the row
// of the body is too long.
func (q *Query) Problem(row, column, why int64) (staging.Problem, error) {
	if reason(why) == longRow {
		return staging.Problem{}, &staging.LimitError{What: "row bytes", Limit: q.rowBytes}
	}
	c := q.want[column]
	return staging.Problem{Row: row, Column: c.Name, Message: reason(why).message(c)}, nil
}

// Select returns SQL that reads a spooled file through a relation with the columns have, those
// of the file as an engine describes them, and position, the number of the row. The result has
// the columns want. All foreign text in it is quoted. Columns are matched by their exact names
// first, else regardless of case. altered are the columns that [AlteredColumns] finds. A row has
// at most rowBytes bytes.
//
// The error is a [*staging.RowsError] with the columns that do not fit, or
// [staging.ErrUnsupportedType].
func Select(relation, position string, have []engine.Column, altered []Altered, want []engine.Column, rowBytes int64) (*Query, error) {
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
		at := slices.IndexFunc(altered, func(a Altered) bool { return a.Column == int64(n) })
		if reason == "" && at >= 0 {
			reason = altered[at].message()
		}
		if sources[i] = column; reason != "" {
			problems.Add(-1, want[i].Name, reason)
		}
	}
	if problems.Total > 0 {
		return nil, &problems
	}
	return newQuery(relation, position, sources, want, rowBytes), nil
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

// bad returns the conditions of values that the table cannot hold. A value that the cast changes
// differs if it is cast back; JSON is text already, and the cast back may not exist.
func (p *fileColumn) bad() []violation {
	if p.from == sqltype.Null || p.from == sqltype.JSON {
		return nil
	}
	if sqltype.Equal(p.from, p.to) {
		return violations("f."+p.name, p.to, 0)
	}
	changed := "f." + p.name + " IS NOT NULL AND TRY_CAST(" + p.cast() + " AS " + p.from.String() + ") IS DISTINCT FROM f." + p.name
	return append([]violation{{changed, lossy}}, violations(p.cast(), p.to, 0)...)
}

func newQuery(relation, position string, sources []*fileColumn, want []engine.Column, rowBytes int64) *Query {
	q := &Query{want: want, rowBytes: rowBytes}
	items, checks, sizes := make([]string, len(want)), []string(nil), []string(nil)
	check := func(column int, v violation) {
		code := strconv.FormatInt(int64(column)*int64(reasons)+int64(v.reason), 10)
		checks = append(checks, "CASE WHEN "+v.condition+" THEN "+code+"::BIGINT END")
	}
	for i, c := range want {
		name := engine.QuoteIdent(c.Name)
		if sources[i] == nil {
			items[i] = "NULL::" + c.Type.String() + " AS " + name
			continue
		}
		q.Named = append(q.Named, c.Name)
		items[i] = sources[i].cast() + " AS " + name
		for _, v := range sources[i].bad() {
			check(i, v)
		}
		if bytes, varies := size("f."+sources[i].name, sources[i].from, 0); varies {
			sizes = append(sizes, bytes)
		}
	}
	if len(sizes) > 0 {
		check(0, violation{strings.Join(sizes, " + ") + " > " + strconv.FormatInt(rowBytes-int64(len(want))*valueBytes, 10), longRow})
	}
	q.Select = "SELECT " + strings.Join(items, ", ") + " FROM " + relation + " AS f"
	if len(checks) > 0 {
		n := strconv.Itoa(int(reasons))
		q.Check = `SELECT p."row", p.code // ` + n + ` AS "column", p.code % ` + n + ` AS reason, count(*) OVER () AS total FROM (SELECT f.` +
			engine.QuoteIdent(position) + ` AS "row", unnest([` + strings.Join(checks, ", ") + `]) AS code FROM ` + relation + ` AS f) AS p` +
			` WHERE p.code IS NOT NULL ORDER BY reason = ` + strconv.Itoa(int(longRow)) + ` DESC, p."row", p.code LIMIT ` +
			strconv.Itoa(staging.MaxProblems)
	}
	return q
}
