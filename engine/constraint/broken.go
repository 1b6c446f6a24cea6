package constraint

import (
	"context"
	"strings"
)

// MaxReported is the maximum number of broken rows that a report lists.
const MaxReported = 100

// Breach is a row that breaks a rule.
type Breach struct {
	// Rule is the index of the rule in the argument of [Scope.Broken].
	Rule int
	// Row is the row's number in the relation.
	Row int64
}

// Report lists the rows that break rules of one class.
type Report struct {
	// Breaches are the first ones, ordered by row and then by rule.
	Breaches []Breach
	// Total is the number of breaches of that class.
	Total int64
}

// Broken finds rows of the relation that break single-row rules. It reports the first class
// ([Kind]) that any row breaks, and lists the first MaxReported breaches. Errors are those of the
// session.
func (s Scope) Broken(ctx context.Context, rules []Rule, rows Relation) (Report, error) {
	var report Report
	if len(rules) == 0 {
		return report, nil
	}
	err := s.query(ctx, brokenSQL(rules, rows), func(c []scalar) {
		report.Breaches = append(report.Breaches, Breach{Rule: int(c[0].number), Row: c[1].number})
		report.Total = c[2].number
	})
	return report, err
}

// brokenSQL scans the rows once. For rows that break nothing, which is usual, only the conditions
// are evaluated. Each condition is written once, so that a subquery in it is evaluated once.
func brokenSQL(rules []Rule, rows Relation) string {
	conditions, names := make([]string, len(rules)), make([]string, len(rules))
	items, classes := make([]string, len(rules)), make([]string, len(rules))
	for i, r := range rules {
		names[i] = "b" + itoa(i)
		conditions[i] = r.broken(Alias) + " AS " + names[i]
		items[i] = "CASE WHEN " + names[i] + " THEN " + itoa(i) + "::BIGINT END"
		classes[i] = itoa(int(r.Kind))
	}
	return "WITH broken AS MATERIALIZED (SELECT lw_row, [" + strings.Join(items, ", ") + "] AS rules FROM (SELECT " +
		rows.row(Alias) + "::BIGINT AS lw_row, " + strings.Join(conditions, ", ") + " FROM " + rows.as(Alias) +
		") WHERE " + strings.Join(names, " OR ") + "), " +
		"each AS MATERIALIZED (SELECT lw_row, unnest(rules) AS rule FROM broken), " +
		"classed AS MATERIALIZED (SELECT lw_row, rule, [" + strings.Join(classes, ", ") +
		"][rule + 1] AS class FROM each WHERE rule IS NOT NULL), " +
		"worst AS MATERIALIZED (SELECT lw_row, rule FROM classed WHERE class = (SELECT min(class) FROM classed)) " +
		"SELECT rule, lw_row, (SELECT count(*) FROM worst) AS total FROM worst ORDER BY lw_row, rule LIMIT " + itoa(MaxReported)
}

// CountBroken counts the rows of a relation that break a rule. The relation needs
// no row numbers.
func (s Scope) CountBroken(ctx context.Context, rule Rule, rows Relation) (int64, error) {
	var total int64
	err := s.query(ctx, "SELECT count(*) FROM "+rows.as(Alias)+" WHERE "+rule.broken(Alias), func(c []scalar) { total = c[0].number })
	return total, err
}

// shownText bounds a text of [Scope.BrokenValues], in characters.
const shownText = 1024

// BrokenValues counts the rows of a relation that break a rule, and lists the different values
// of a text expression over the relation with the [Alias] in these rows: the beginnings of the
// first limit values, in order. The relation needs no row numbers.
func (s Scope) BrokenValues(
	ctx context.Context, rule Rule, text string, rows Relation, limit int,
) (total int64, values []string, err error) {
	grouped := "SELECT " + text + " AS lw_text, count(*) AS lw_rows FROM " + rows.as(Alias) + " WHERE " + rule.broken(Alias) +
		" GROUP BY 1"
	sql := "SELECT left(lw_text, " + itoa(shownText) + "), (sum(lw_rows) OVER ())::BIGINT FROM (" +
		grouped + ") ORDER BY lw_text LIMIT " + itoa(limit)
	err = s.query(ctx, sql, func(c []scalar) { values, total = append(values, c[0].text), c[1].number })
	return total, values, err
}
