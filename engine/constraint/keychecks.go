package constraint

import (
	"context"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
)

// KeyBreach is a row whose key another row has as well.
type KeyBreach struct {
	Row int64
	// First is the earlier row of the same relation with the key, or -1 if the other row is one of
	// the table.
	First int64
}

// KeyReport lists the rows that break a key.
type KeyReport struct {
	Breaches []KeyBreach
	Total    int64
}

// names returns the key's columns, qualified with the alias.
func (k Key) names(alias string) []string {
	out := make([]string, len(k.Columns))
	for i, c := range k.Columns {
		out[i] = engine.QuoteIdent(alias) + "." + engine.QuoteIdent(c.Name)
	}
	return out
}

// counts returns the condition under which the key applies to a row.
func (k Key) counts(alias string) string {
	if k.NullsEqual {
		return "true"
	}
	return strings.Join(k.names(alias), " IS NOT NULL AND ") + " IS NOT NULL"
}

// aliases selects the key's columns under names that no column of a table can have.
func (k Key) aliases() string {
	names := k.names(Alias)
	for i, name := range names {
		names[i] = name + " AS k" + itoa(i)
	}
	return strings.Join(names, ", ")
}

// equal returns the condition under which two lists of values are equal as keys.
func (k Key) equal(left, right []string) string {
	sign := " = "
	if k.NullsEqual {
		sign = " IS NOT DISTINCT FROM "
	}
	parts := make([]string, len(left))
	for i := range left {
		parts[i] = left[i] + sign + right[i]
	}
	return strings.Join(parts, " AND ")
}

// Repeated finds rows whose key an earlier row of the same relation has. Errors are those of the
// session.
func (s Scope) Repeated(ctx context.Context, key Key, rows Relation) (KeyReport, error) {
	columns, grouped := strings.Join(key.names(Alias), ", "), make([]string, len(key.Columns))
	for i := range grouped {
		grouped[i] = "d.k" + itoa(i)
	}
	twice := "SELECT " + key.aliases() + ", min(" + rows.row(Alias) + ")::BIGINT AS lw_first FROM " + rows.as(Alias) +
		" WHERE " + key.counts(Alias) + " GROUP BY " + columns + " HAVING count(*) > 1"
	sql := "WITH twice AS MATERIALIZED (" + twice + "), later AS MATERIALIZED (SELECT " + rows.row(Alias) +
		"::BIGINT AS lw_row, d.lw_first FROM " +
		rows.as(Alias) + " JOIN twice AS d ON " + key.equal(key.names(Alias), grouped) + " WHERE " + rows.row(Alias) + " <> d.lw_first) " +
		"SELECT lw_row, lw_first, (SELECT count(*) FROM later) AS total FROM later ORDER BY lw_row LIMIT " + itoa(MaxReported)
	return s.keyReport(ctx, sql)
}

// Taken finds rows whose key a row of the table has. table may be limited to the files that satisfy
// [Scope.KeyCondition], or to those that won a commit race. Errors are those of the session.
func (s Scope) Taken(ctx context.Context, key Key, rows, table Relation) (KeyReport, error) {
	sql := "WITH taken AS MATERIALIZED (SELECT DISTINCT " + rows.row(Alias) + "::BIGINT AS lw_row FROM " + rows.as(Alias) + " JOIN " +
		table.as("t") + " ON " + key.equal(key.names(Alias), key.names("t")) + ") " +
		"SELECT lw_row, -1::BIGINT AS lw_first, (SELECT count(*) FROM taken) AS total FROM taken ORDER BY lw_row LIMIT " + itoa(MaxReported)
	return s.keyReport(ctx, sql)
}

func (s Scope) keyReport(ctx context.Context, sql string) (KeyReport, error) {
	var report KeyReport
	err := s.query(ctx, sql, func(c []scalar) {
		report.Breaches = append(report.Breaches, KeyBreach{Row: c[0].number, First: c[1].number})
		report.Total = c[2].number
	})
	return report, err
}

// CountRepeated returns the number of keys that more than one row of a relation has. The relation
// needs no row numbers.
func (s Scope) CountRepeated(ctx context.Context, key Key, rows Relation) (int64, error) {
	columns := strings.Join(key.names(Alias), ", ")
	sql := "SELECT count(*) FROM (SELECT 1 FROM " + rows.as(Alias) + " WHERE " + key.counts(Alias) +
		" GROUP BY " + columns + " HAVING count(*) > 1)"
	var total int64
	err := s.query(ctx, sql, func(c []scalar) { total = c[0].number })
	return total, err
}
