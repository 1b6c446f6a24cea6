package sqlguard_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

var informationColumns = []engine.Column{{Name: "table_schema", Type: sqltype.Varchar}, {Name: "table_name", Type: sqltype.Varchar},
	{Name: "column_name", Type: sqltype.Varchar}, {Name: "ordinal_position", Type: sqltype.Integer},
	{Name: "column_default", Type: sqltype.Varchar},
	{Name: "insertable", Type: sqltype.Boolean}}

// inline binds a statement to rows of ours.
func inline(t testing.TB, statement string, rows *sqlguard.InlineRows) *sqlguard.Plan {
	t.Helper()
	q, err := parse(t, statement)
	require.NoError(t, err)
	var relations []sqlguard.Relation
	for _, ref := range q.Tables() {
		require.Equal(t, "information_schema", ref.Schema)
		relations = append(relations, sqlguard.Relation{Columns: rows.Columns(), Inline: rows})
	}
	plan, err := q.Bind(t.Context(), sharedParser(), relations)
	require.NoError(t, err)
	return plan
}

// TestInlineRows: the rows answer as a table would, whatever their texts hold.
func TestInlineRows(t *testing.T) {
	w := newWorld(t, nil, nil)
	rows := sqlguard.NewInlineRows(informationColumns, [][]any{
		{"cfg_1", "a", `o'b"; DROP`, int64(1), nil, true},
		{"cfg_1", "a", "\\u0041\n\tλ\U0001F600", int64(2), "NULL", false},
		{"cfg_2", "]", "<&>\u2028", int64(-3), "", nil},
	})
	for statement, want := range map[string][]string{
		"SELECT * FROM information_schema.columns WHERE ordinal_position = 1": {`[]string{"string cfg_1", "string a", "string o'b\"; DROP", ` +
			`"int32 1", "<nil> <nil>", "bool true"}`},
		"SELECT column_name FROM lake.information_schema.columns c WHERE insertable = false": {
			fmt.Sprintf("%#v", []string{"string \\u0041\n\tλ\U0001F600"})},
		"SELECT c.column_name, column_default, insertable FROM information_schema.columns c WHERE c.ordinal_position < 0": {
			fmt.Sprintf("%#v", []string{"string <&>\u2028", "string ", "<nil> <nil>"})},
		"SELECT count(*), count(column_default) FROM information_schema.columns": {`[]string{"int64 3", "int64 2"}`},
		"SELECT DISTINCT t.table_name FROM information_schema.tables t JOIN information_schema.columns USING (table_schema) ORDER BY 1": {
			`[]string{"string ]"}`, `[]string{"string a"}`},
	} {
		plan := inline(t, statement, rows)
		require.Empty(t, plan.Sources)
		require.False(t, plan.ReadsFiltered, "they are no filtered table")
		got, err := w.run(t, plan)
		require.NoError(t, err, plan.SQL)
		require.Equal(t, want, got.Rows, statement)
	}
	empty := inline(t, "SELECT * FROM information_schema.columns", sqlguard.NewInlineRows(informationColumns, nil))
	got, err := w.run(t, empty)
	require.NoError(t, err)
	require.Empty(t, got.Rows)
	require.Equal(t, []string{"VARCHAR", "VARCHAR", "VARCHAR", "INTEGER", "VARCHAR", "BOOLEAN"}, got.Types)
	require.NotEqual(t, rows.Digest(), sqlguard.NewInlineRows(informationColumns, nil).Digest())
	require.Panics(t, func() { sqlguard.NewInlineRows(informationColumns, [][]any{{"too short"}}) })
}

// manyColumns is what information_schema.columns holds of a large lake.
func manyColumns(n int) *sqlguard.InlineRows {
	rows := make([][]any, n)
	for i := range rows {
		rows[i] = []any{fmt.Sprintf("cfg_%032d", i/1000), fmt.Sprintf("table_%d", i/20), fmt.Sprintf("column_%d", i), int64(i%20 + 1), nil, true}
	}
	return sqlguard.NewInlineRows(informationColumns, rows)
}

// TestManyInlineRows runs a statement over 10,000 rows in a session of the
// server's engine.
func TestManyInlineRows(t *testing.T) {
	start := time.Now()
	plan := inline(t, "SELECT table_schema, count(*) AS n FROM information_schema.columns WHERE insertable GROUP BY 1 ORDER BY 1",
		manyColumns(10_000))
	planned := time.Since(start)
	db, err := duckdb.New(t.Context(), duckdb.Options{Extensions: []string{}, TempDir: t.TempDir()})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	session, err := db.Open(t.Context(), engine.SessionOptions{Roots: []string{t.TempDir()}})
	require.NoError(t, err)
	defer func() { require.NoError(t, session.Close()) }()
	start = time.Now()
	result, err := session.Query(t.Context(), engine.Statement{SQL: plan.SQL, Sources: plan.Sources, Barriers: plan.Barriers})
	require.NoError(t, err)
	defer func() { require.NoError(t, result.Close()) }()
	batch, err := result.Next(t.Context())
	require.NoError(t, err)
	defer batch.Release()
	require.EqualValues(t, 10, batch.NumRows())
	t.Logf("planned in %v, run in %v", planned, time.Since(start))
}
