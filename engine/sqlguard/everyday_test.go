package sqlguard_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var shopSetup = []string{
	`CREATE TABLE customers AS SELECT i::INTEGER AS id, 'cust_' || i AS name, ['FR', 'DE', 'US', NULL][i % 4 + 1] AS country,
		DATE '2020-01-01' + (i * 17 % 700)::INTEGER AS signup, i % 3 = 0 AS vip, (i * 13.37 % 997)::DECIMAL(12,2) AS balance,
		[['a', 'b'], ['c'], [], ['a', 'd', 'e']][i % 4 + 1]::VARCHAR[] AS tags, {'city': 'city' || i % 5, 'zip': (10000 + i)::INTEGER} AS attrs
		FROM range(1, 61) r(i)`,
	`CREATE TABLE orders AS SELECT i::BIGINT AS id, (i * 7 % 53)::INTEGER AS customer_id, TIMESTAMP '2024-01-01 08:00:00' + to_hours((i * 5)::INTEGER) AS placed,
		['open', 'paid', 'done'][i % 3 + 1] AS status, (i * 7.77 % 200)::DECIMAL(10,2) AS amount, CASE WHEN i % 4 = 0 THEN NULL ELSE 'note ' || i % 6 END AS note
		FROM range(1, 301) r(i)`,
	`CREATE TABLE items AS SELECT (i % 310)::BIGINT AS order_id, 'sku' || i % 9 AS sku, (i % 5)::SMALLINT AS qty, (i * 3 % 100)::DOUBLE AS price,
		'{"color": "' || ['red', 'blue'][i % 2 + 1] || '", "size": ' || i % 4 || '}' AS meta FROM range(1, 501) r(i)`,
	`CREATE TABLE events AS SELECT i::INTEGER AS id, TIMESTAMPTZ '2024-01-01 00:00:00+00' + to_hours((i * 3)::INTEGER) AS seen,
		CASE WHEN i % 7 > 0 THEN ['a', 'b', 'c'][i % 3 + 1] END AS kind, (i % 256 - 128)::TINYINT AS tiny, (i % 256)::UTINYINT AS u8,
		(i / 8.0 % 1)::FLOAT AS weight, i::HUGEINT AS big, i % 2 = 0 AS flag FROM range(1, 301) r(i)`,
}

var shopPredicates = map[string]string{
	"customers": `"t"."country" IN ('FR', 'DE') OR "t"."id" < 10`,
	"orders":    `"t"."status" <> 'done' OR "t"."id" < 20`,
	"items":     `"t"."sku" <> 'sku4'`,
	"events":    `"t"."id" % 5 <> 0`,
}

// lines reads a file of statements, one a line; lines that start with -- are comments.
func lines(t testing.TB, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var out []string
	for _, l := range strings.Split(string(text), "\n") {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "-- ") {
			out = append(out, l)
		}
	}
	return out
}

// TestEveryday: what analysts write is accepted, and answers as plain DuckDB
// does: over the whole tables, and over what a row filter leaves.
func TestEveryday(t *testing.T) {
	w := newWorld(t, shopSetup, shopPredicates)
	statements := lines(t, "testdata/everyday.sql")
	require.GreaterOrEqual(t, len(statements), 100)
	for _, s := range statements {
		t.Run(s, func(t *testing.T) { w.compare(t, s) })
	}
}
