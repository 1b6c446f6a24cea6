package sqlguard_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/sqlguard"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
)

// TestResultColumnsAreNamedAsWritten: the engine names a column without alias by
// its text, in which the names of our relations must not stand: they digest the
// caller's predicate and the table's files.
func TestResultColumnsAreNamedAsWritten(t *testing.T) {
	w := newWorld(t, shopSetup, shopPredicates)
	for _, s := range []string{
		"SELECT (SELECT count(*) FROM customers)",
		"SELECT (SELECT max(name) FROM customers) || 'x', 1 + (SELECT id FROM orders ORDER BY id LIMIT 1)",
		"SELECT EXISTS (SELECT * FROM customers WHERE id = 3), NOT EXISTS (FROM orders)",
		"SELECT id IN (SELECT customer_id FROM orders) FROM customers ORDER BY id LIMIT 3",
		"SELECT count(*) FILTER (WHERE id IN (SELECT customer_id FROM orders)) FROM customers",
		"SELECT * FROM (SELECT (SELECT count(*) FROM customers)) x",
		"SELECT x FROM (SELECT (SELECT count(*) FROM customers)) x",
		"DESCRIBE SELECT (SELECT count(*) FROM customers)",
		"SELECT [(SELECT count(*) FROM customers)], {'a': (SELECT count(*) FROM customers)}",
		"SELECT (SELECT count(*) FROM customers) UNION ALL SELECT (SELECT count(*) FROM orders)",
		"SELECT COLUMNS('^i.*') + 1, (SELECT count(*) FROM orders) FROM customers ORDER BY 1 LIMIT 1",
		"WITH c AS (SELECT id FROM customers) SELECT (SELECT count(*) FROM c), EXISTS (SELECT * FROM c)",
		"SELECT (WITH c AS (SELECT id FROM customers) SELECT count(*) FROM c)",
		"SELECT array(SELECT id FROM customers WHERE id < 3 ORDER BY id)",
	} {
		t.Run(s, func(t *testing.T) { w.compare(t, s) })
	}
	_, err := parse(t, "SELECT COLUMNS('^i.*') + (SELECT count(*) FROM orders) FROM customers")
	require.Equal(t, refusal.CodeSyntaxNode, codeOf(err), "%v", err)
}

// TestResultColumnsAreNamedAsPlainDuckDBNamesThem: the same text over plain tables
// gives the same names, whatever the printed statement looks like: over whole and
// filtered tables, and over filtered ones that are read in place.
func TestResultColumnsAreNamedAsPlainDuckDBNamesThem(t *testing.T) {
	w := newWorld(t, shopSetup, shopPredicates)
	statements := lines(t, "testdata/columnnames.sql")
	require.Greater(t, len(statements), 100)
	for _, s := range statements {
		t.Run(s, func(t *testing.T) {
			args := argumentsFor(s)
			want, err := runSQL(t, w.plain, s, args...)
			require.NoError(t, err)
			for _, version := range []string{"", engineVersion} {
				for _, filtered := range []bool{false, true} {
					q, err := sqlguard.Parse(t.Context(), sharedParser(), s, sqlguard.Options{EngineVersion: version})
					require.NoError(t, err)
					plan, err := q.Bind(t.Context(), sharedParser(), w.relations(t, q, filtered))
					require.NoError(t, err)
					for _, b := range plan.Barriers {
						mustExec(t, w.guarded, "CREATE OR REPLACE TEMP TABLE "+b.Relation()+" AS "+b.SQL)
					}
					got, err := runSQL(t, w.guarded, plan.SQL, args...)
					require.NoError(t, err, plan.SQL)
					require.Equal(t, want.Names, got.Names, plan.SQL)
				}
			}
		})
	}
}

// argumentsFor returns as many arguments as the statement has parameters.
func argumentsFor(statement string) []any {
	count := strings.Count(statement, "?")
	for strings.Contains(statement, "$"+strconv.Itoa(count+1)) {
		count++
	}
	args := make([]any, count)
	for i := range args {
		args[i] = i + 1
	}
	return args
}
