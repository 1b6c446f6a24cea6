package constraint

import (
	"context"
	"strings"
)

// MaxReported is how many broken rows a reply names.
const MaxReported = 100

// Breach is a row that breaks a rule.
type Breach struct {
	// Rule is the index among the rules that were asked.
	Rule int
	// Row is the row's number in the relation.
	Row int64
}

// Report is what breaks rules of one class.
type Report struct {
	// Breaches are the first ones, by row and then by rule.
	Breaches []Breach
	// Total counts all of that class.
	Total int64
}

// Broken finds rows of the relation that break single-row rules. It reports the
// first class ([Kind]) that any row breaks; the first MaxReported breaches are
// named. Errors are those of the session.
func (s Scope) Broken(ctx context.Context, rules []Rule, rows Relation) (Report, error) {
	var report Report
	if len(rules) == 0 {
		return report, nil
	}
	err := s.query(ctx, brokenSQL(rules, rows), func(c []cell) {
		report.Breaches = append(report.Breaches, Breach{Rule: int(c[0].number), Row: c[1].number})
		report.Total = c[2].number
	})
	return report, err
}

// brokenSQL scans the rows once. Rows that break nothing, usually all, cost the
// conditions only.
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
	err := s.query(ctx, "SELECT count(*) FROM "+rows.as(Alias)+" WHERE "+rule.broken(Alias), func(c []cell) { total = c[0].number })
	return total, err
}
