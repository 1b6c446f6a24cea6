package sqlguard_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/sqlguard"
)

// These statements pass, because nothing in them can reach further than the
// tables that they name: the names below are what the catalog is asked for.
func TestNamesThatLookLikeFilesAreOnlyNames(t *testing.T) {
	for text, want := range map[string][]string{
		`SELECT * FROM '/etc/passwd'`:                                                                               {"||/etc/passwd"},
		`SELECT * FROM 's3://bucket/secret/*.parquet'`:                                                              {"||s3://bucket/secret/*.parquet"},
		`SELECT * FROM "read_parquet('x')"`:                                                                         {"||read_parquet('x')"},
		`DESCRIBE '/etc/passwd.csv'`:                                                                                {"||/etc/passwd.csv"},
		`SELECT * FROM sqlite_master`:                                                                               {"||sqlite_master"},
		`SELECT * FROM information_schema.tables`:                                                                   {"|information_schema|tables"},
		`SELECT * FROM temp.main.flt_00000000000000000000000000000000`:                                              {"temp|main|flt_00000000000000000000000000000000"},
		`SELECT * FROM src_000000000000000000000000_0.main.t`:                                                       {"src_000000000000000000000000_0|main|t"},
		`SELECT * FROM system.information_schema.schemata, pg_catalog.pg_class`:                                     {"system|information_schema|schemata", "|pg_catalog|pg_class"},
		`WITH c AS (SELECT 1) SELECT * FROM main.c`:                                                                 {"|main|c"},
		`WITH c AS (SELECT 1) SELECT * FROM lake.main.c, c`:                                                         {"lake|main|c"},
		`WITH a AS (SELECT * FROM b), b AS (SELECT 1) SELECT * FROM a`:                                              {"||b"},
		`WITH a AS (SELECT * FROM a) SELECT * FROM a`:                                                               {"||a"},
		`WITH RECURSIVE a AS (SELECT * FROM a) SELECT * FROM a`:                                                     {"||a"},
		`WITH RECURSIVE a AS (SELECT * FROM a UNION ALL SELECT * FROM a) SELECT * FROM a`:                           {"||a"},
		`SELECT * FROM (WITH c AS (SELECT 1) SELECT * FROM c), c`:                                                   {"||c"},
		`WITH c AS (SELECT 1) SELECT (SELECT count(*) FROM C), (SELECT 1 FROM "c")`:                                 nil,
		`WITH c AS (SELECT 1 UNION ALL SELECT * FROM c) SELECT * FROM c`:                                            {"||c"},
		`SELECT * FROM c, (WITH c AS (SELECT 1) SELECT * FROM c) d`:                                                 {"||c"},
		`WITH c AS (SELECT 1) SELECT 1 UNION (WITH d AS (SELECT * FROM c) SELECT * FROM d) UNION SELECT * FROM d`:   {"||d"},
		`WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL (WITH r AS (SELECT 7 AS x) SELECT * FROM r)) SELECT * FROM r`: nil,
		`WITH c AS (SELECT 1) (SELECT * FROM c) ORDER BY (SELECT count(*) FROM c)`:                                  nil,
	} {
		t.Run(text, func(t *testing.T) {
			q, err := parse(t, text)
			require.NoError(t, err)
			var got []string
			for _, ref := range q.Tables() {
				got = append(got, ref.Catalog+"|"+ref.Schema+"|"+ref.Name)
			}
			require.Equal(t, want, got)
		})
	}
}

// TestVirtualColumnsDoNotResolve: a subquery with explicit columns has none of
// the columns that a scan adds.
func TestVirtualColumnsDoNotResolve(t *testing.T) {
	w := newWorld(t, shopSetup, shopPredicates)
	for _, filtered := range []bool{false, true} {
		for _, column := range []string{"rowid", "filename", "file_row_number", "file_index", "delta_file_number"} {
			_, err := w.run(t, w.bind(t, "SELECT "+column+" FROM orders", filtered))
			require.ErrorContains(t, err, "Binder Error", column)
		}
	}
}

// TestHiddenColumnsBehaveAsMissing: a column that is not among the relation's
// resolves neither by name nor through a star.
func TestHiddenColumnsBehaveAsMissing(t *testing.T) {
	w := newWorld(t, shopSetup, shopPredicates)
	w.columns["orders"] = w.columns["orders"][:3]
	for _, filtered := range []bool{false, true} {
		r, err := w.run(t, w.bind(t, "SELECT * FROM orders", filtered))
		require.NoError(t, err)
		require.Equal(t, []string{"id", "customer_id", "placed"}, r.Names)
		for _, s := range []string{
			"SELECT amount FROM orders", "SELECT orders.amount FROM orders", "SELECT id FROM orders ORDER BY amount",
			"SELECT count(*) FROM orders WHERE amount > 100", "SELECT orders.orders.amount FROM orders",
			"SELECT * FROM orders JOIN items USING (amount)", "SELECT COLUMNS('amount') FROM orders",
		} {
			_, err := w.run(t, w.bind(t, s, filtered))
			require.ErrorContains(t, err, "Binder Error", s)
		}
	}
}

func TestMasksReplaceColumnsEverywhere(t *testing.T) {
	w := newWorld(t, shopSetup, shopPredicates)
	q, err := parse(t, "SELECT name, count(*) FROM customers WHERE name = 'cust_3' OR country = 'FR' GROUP BY name")
	require.NoError(t, err)
	r := sqlguard.Relation{Columns: w.columns["customers"], Source: source("customers"), ColumnExpr: map[string]string{"name": `'***'`}}
	plan, err := q.Bind(t.Context(), sharedParser(), []sqlguard.Relation{r})
	require.NoError(t, err)
	require.True(t, plan.ReadsFiltered)
	require.Len(t, plan.Barriers, 1)
	got, err := w.run(t, plan)
	require.NoError(t, err)
	require.Equal(t, []string{"name", "count_star()"}, got.Names)
	require.Len(t, got.Rows, 1)
	require.Contains(t, got.Rows[0], "***")

	q, err = parse(t, "SELECT name FROM customers WHERE name = 'cust_3' AND id = 3")
	require.NoError(t, err)
	plan, err = q.Bind(t.Context(), sharedParser(), []sqlguard.Relation{r})
	require.NoError(t, err)
	require.NotContains(t, plan.Barriers[0].SQL, "cust_3", "a condition on a masked column must not see the clear value")
	require.Contains(t, plan.Barriers[0].SQL, `"t"."id" = `)
}
