package analysis

import (
	"context"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// Input is what one analysis reads, and the parameters of the request. An analysis uses it
// from one goroutine.
type Input struct {
	// Table is the version that is analysed.
	Table Table
	// Columns are the visible columns that the request is about, in the order of the table:
	// all of them, unless the request names some.
	Columns []Column
	// Query runs one SELECT statement as the caller, under the policies and the limits of
	// any other statement of the caller. It serves what docs/sql.md lists. The caller of
	// Query closes the result.
	Query func(ctx context.Context, sql string) (engine.Result, error)
	// Older describes another version of the table as the caller sees it today, for
	// [ExplainChanges].
	Older func(ctx context.Context, version int64) (Table, error)
	// Progress reports how many of the steps of the analysis are done. It may be called at
	// any time.
	Progress func(done, total int)
	// Limit bounds the findings and proposals of an answer, each by itself. It is positive.
	Limit int

	// VersionFrom and VersionTo are the versions that [ExplainChanges] compares.
	VersionFrom, VersionTo int64
	// SourceColumns are the columns of the file that [SuggestMapping] maps.
	SourceColumns []SourceColumn
	// Keys names the rows that [ExplainRows] explains, by values of key columns. It is
	// empty if the condition of the table chooses them.
	Keys []map[string]any
}

// SourceColumn is a column of a file that is to be imported.
type SourceColumn struct {
	Name string
	// Values are examples from the file; there may be none.
	Values []string
}

// Table is a version of a table as the caller sees it.
type Table struct {
	// Relation is the qualified name of the table in SQL, quoted.
	Relation string
	// Name is the name of the table for messages.
	Name    string
	Version int64
	// Where is a condition of the caller in SQL that restricts the analysis, or "".
	Where string
	// Columns are the visible columns.
	Columns []Column
	// PrimaryKey names the columns of the primary key. It is empty if there is none, or if
	// the caller does not see all its columns unmasked.
	PrimaryKey []string
	// Checks are the CHECK constraints of the table that the caller may see.
	Checks []Check
}

// Check is a CHECK constraint.
type Check struct{ Name, Expr string }

// Column is a visible column.
type Column struct {
	Name string
	// Type is the type of the values that the caller sees.
	Type     sqltype.Type
	Nullable bool
	Comment  string
	// Masked reports that the caller sees masks instead of the values.
	Masked bool
	// Key reports that the column is part of the primary key, Unique that its values are
	// declared unique.
	Key, Unique bool
	// Domain is the kind of the column's domain, or "".
	Domain string
}

// Kind is a group of types whose values are analysed alike.
type Kind int

// The kinds.
const (
	// KindOther is the kind of nested types, binary and all other types.
	KindOther Kind = iota
	KindText
	KindInteger
	KindDecimal
	KindFloat
	KindBoolean
	KindDate
	KindTimestamp
)

// Kind returns the kind of the column's type.
func (c Column) Kind() Kind {
	switch t := c.Type.(type) {
	case sqltype.Decimal:
		return KindDecimal
	case sqltype.Scalar:
		if bits, _ := sqltype.IntegerBits(t); bits > 0 {
			return KindInteger
		}
		switch t {
		case sqltype.Varchar:
			return KindText
		case sqltype.Float, sqltype.Double:
			return KindFloat
		case sqltype.Boolean:
			return KindBoolean
		case sqltype.Date:
			return KindDate
		case sqltype.Timestamp, sqltype.TimestampTZ:
			return KindTimestamp
		}
	}
	return KindOther
}

// Numeric reports whether the values are numbers.
func (c Column) Numeric() bool {
	k := c.Kind()
	return k == KindInteger || k == KindDecimal || k == KindFloat
}

// Temporal reports whether the values are dates or timestamps.
func (c Column) Temporal() bool {
	k := c.Kind()
	return k == KindDate || k == KindTimestamp
}

// Measurable reports whether the values have an order and distances: numbers, dates and
// timestamps.
func (c Column) Measurable() bool { return c.Numeric() || c.Temporal() }

// Quoted returns the name of the column in SQL.
func (c Column) Quoted() string { return engine.QuoteIdent(c.Name) }

// Column returns the visible column of a name.
func (t Table) Column(name string) (Column, bool) {
	if i := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name }); i >= 0 {
		return t.Columns[i], true
	}
	return Column{}, false
}

// Contains reports whether some of the columns has a name.
func Contains(columns []Column, name string) bool {
	return slices.ContainsFunc(columns, func(c Column) bool { return c.Name == name })
}

// Union returns columns, followed by those of more that are not among them.
func Union(columns []Column, more ...Column) []Column {
	out := slices.Clone(columns)
	for _, c := range more {
		if !Contains(out, c.Name) {
			out = append(out, c)
		}
	}
	return out
}

// KeyColumns returns the columns of the primary key.
func (t Table) KeyColumns() []Column {
	var out []Column
	for _, name := range t.PrimaryKey {
		if c, ok := t.Column(name); ok {
			out = append(out, c)
		}
	}
	return out
}

// From returns the FROM item, without the keyword, of the rows under analysis. Its alias is
// input. A statement may read only the named columns of it, so that no more than those are
// copied where rows are hidden.
func (t Table) From(columns ...Column) string {
	at := " AT (VERSION => " + itoa(t.Version) + ")"
	if t.Where == "" {
		return t.Relation + " AS input" + at
	}
	names := "1 AS \"no column\""
	if len(columns) > 0 {
		names = Names(columns)
	}
	// The condition has lines of its own, because it may end in a comment.
	return "(SELECT " + names + " FROM " + t.Relation + at + " WHERE (\n" + t.Where + "\n)) AS input"
}

// Names returns the quoted names of columns, separated by commas.
func Names(columns []Column) string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Quoted()
	}
	return strings.Join(names, ", ")
}
