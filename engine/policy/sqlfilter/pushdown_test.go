package sqlfilter_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
)

// Comparisons with constants reach the scan, where they skip files and row
// groups.
func TestPredicatesReachTheScan(t *testing.T) {
	db := openRows(t, rows())
	file := engine.QuoteString(filepath.Join(t.TempDir(), "rows.parquet"))
	_, err := db.Exec("COPY rows TO " + file + " (FORMAT parquet)")
	require.NoError(t, err)
	const all = "permit (principal, action, resource);"
	attrs := map[string]string{"level": "5", "regions": "EU,US"}
	for _, texts := range [][]string{
		{`permit (principal, action, resource) when { resource has level && principal has level && resource.level == principal.level };`},
		{`permit (principal, action, resource) when { principal.regions.contains(resource.Region) };`},
		{`permit (principal, action, resource) when { resource.born >= datetime("2024-01-01") && resource.tiny < 5 };`},
		{`permit (principal, action, resource) when { resource.at >= datetime("2024-01-01") && resource.seen < datetime("2025-01-01") };`},
		{`permit (principal, action, resource) when { resource.amount.lessThan(decimal("1.5")) && resource.active };`},
		{`permit (principal, action, resource) when { resource.Region == "EU" || resource.Region == "US" };`},
		{all, `forbid (principal, action, resource) when { !(resource has level) || resource.level < 5 };`},
		{all, `forbid (principal, action, resource) when { !resource.active || resource.born != datetime("2024-01-01") };`},
	} {
		f := compileTexts(t, attrs, texts...)
		require.True(t, f.Restricted && !f.Deny)
		var kind, plan string
		err := db.QueryRow(`EXPLAIN SELECT rid FROM read_parquet(`+file+`) AS "t" WHERE `+f.Predicate).Scan(&kind, &plan)
		require.NoError(t, err)
		_, scan, found := strings.Cut(plan, "Filters:")
		require.True(t, found, "%s\n%s", f.Predicate, plan)
		for _, c := range f.Columns {
			require.Contains(t, scan, c, "%s\n%s", f.Predicate, plan)
		}
	}
}

// A pattern with many wildcards is matched in one pass over a value. Backtracking at
// every wildcard would take years here.
func TestManyWildcardsTakeOnePass(t *testing.T) {
	db := openRows(t, nil)
	_, err := db.Exec(`INSERT INTO rows (rid, "Region") VALUES (1, repeat('a_', 50000)), (2, repeat('a_', 50000) || 'c')`)
	require.NoError(t, err)
	for _, text := range []string{"*a", "*_", "*a_"} {
		f := compileTexts(t, nil, `permit (principal, action, resource) when { resource.Region like "`+strings.Repeat(text, 30)+`*c" };`)
		got, err := query(db, f)
		require.NoError(t, err)
		require.Equal(t, []int{2}, got, f.Predicate)
	}
}
