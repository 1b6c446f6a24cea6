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
// are evaluated.
func brokenSQL(rules []Rule, rows Relation) string {
	conditions, items, classes := make([]string, len(rules)), make([]string, len(rules)), make([]string, len(rules))
	for i, r := range rules {
		conditions[i] = r.broken(Alias)
		items[i] = "CASE WHEN " + conditions[i] + " THEN " + itoa(i) + "::BIGINT END"
		classes[i] = itoa(int(r.Kind))
	}
	return "WITH broken AS MATERIALIZED (SELECT " + rows.row(Alias) + "::BIGINT AS lw_row, [" + strings.Join(items, ", ") +
		"] AS rules FROM " +
		rows.as(Alias) + " WHERE " + strings.Join(conditions, " OR ") + "), " +
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
