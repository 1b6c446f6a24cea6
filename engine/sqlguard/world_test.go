package sqlguard_test

import (
	"database/sql"
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// world is the three engines that a statement is compared on: plain holds the
// whole tables, filtered physically filtered copies, and guarded the sources
// under the names that plans use.
type world struct {
	plain, filtered, guarded *sql.Conn
	columns                  map[string][]engine.Column
	predicates               map[string]string
	// asked are the conditions that tables were narrowed to.
	asked []engine.Condition
}

// newWorld makes the tables with the given SQL. predicates says what the caller
// sees of each, over the alias t.
func newWorld(t testing.TB, setup []string, predicates map[string]string, extensions ...string) *world {
	t.Helper()
	w := &world{plain: open(t, extensions...), filtered: open(t), guarded: open(t),
		columns: map[string][]engine.Column{}, predicates: predicates}
	for _, c := range []*sql.Conn{w.plain, w.filtered, w.guarded} {
		mustExec(t, c, "SET threads = 1")
		mustExec(t, c, "SET TimeZone = 'UTC'")
	}
	mustExec(t, w.plain, "ATTACH ':memory:' AS lake; USE lake")
	mustExec(t, w.filtered, "ATTACH ':memory:' AS lake; USE lake")
	for _, s := range setup {
		mustExec(t, w.plain, s)
	}
	dir := t.TempDir()
	for _, name := range w.tables(t) {
		file := engine.QuoteString(dir + "/" + name + ".parquet")
		mustExec(t, w.plain, "COPY lake.main."+name+" TO "+file)
		w.columns[name] = describe(t, w.plain, "lake.main."+name)
		cols := make([]string, len(w.columns[name]))
		for i, c := range w.columns[name] {
			cols[i] = engine.QuoteIdent(c.Name) + "::" + c.Type.String() + " AS " + engine.QuoteIdent(c.Name)
		}
		read := "SELECT " + strings.Join(cols, ", ") + " FROM read_parquet(" + file + ") AS t"
		filter := ""
		if p := predicates[name]; p != "" {
			filter = " WHERE " + p
		}
		mustExec(t, w.filtered, "CREATE TABLE lake.main."+name+" AS "+read+filter)
		mustExec(t, w.guarded, "CREATE TEMP TABLE "+source(name).Relation()+" AS "+read)
	}
	return w
}

func (w *world) tables(t testing.TB) []string {
	t.Helper()
	rows, err := w.plain.QueryContext(t.Context(), "SELECT table_name FROM duckdb_tables() WHERE database_name = 'lake' AND schema_name = "+
		"'main' ORDER BY 1")
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	var out []string
	for rows.Next() {
		var s string
		require.NoError(t, rows.Scan(&s))
		out = append(out, s)
	}
	require.NoError(t, rows.Err())
	return out
}

func describe(t testing.TB, conn *sql.Conn, table string) []engine.Column {
	t.Helper()
	rows, err := conn.QueryContext(t.Context(), "SELECT column_name, column_type FROM (DESCRIBE "+table+")")
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	var out []engine.Column
	for rows.Next() {
		var name, typ string
		require.NoError(t, rows.Scan(&name, &typ))
		out = append(out, engine.Column{Name: name, Type: sqltype.MustParse(typ)})
	}
	require.NoError(t, rows.Err())
	return out
}

func source(table string) engine.Source {
	return engine.Source{Location: "/lake/" + table, Identity: "test"}
}

// relations resolves the tables of a statement by their last name.
func (w *world) relations(t testing.TB, q *sqlguard.Query, filtered bool) []sqlguard.Relation {
	t.Helper()
	var out []sqlguard.Relation
	for _, ref := range q.Tables() {
		name := strings.ToLower(ref.Name)
		require.NotEmpty(t, w.columns[name], "table %s", ref.Name)
		r := sqlguard.Relation{Columns: w.columns[name], Source: source(name)}
		if filtered {
			r.Filtered, r.Predicate = true, w.predicates[name]
		}
		out = append(out, r)
	}
	return out
}

// bind parses and binds a statement that must pass.
func (w *world) bind(t testing.TB, text string, filtered bool) *sqlguard.Plan {
	t.Helper()
	q, err := parse(t, text)
	require.NoError(t, err, text)
	plan, err := q.Bind(t.Context(), sharedParser(), w.relations(t, q, filtered))
	require.NoError(t, err, text)
	return plan
}

// run fills the plan's barriers and runs it.
func (w *world) run(t testing.TB, plan *sqlguard.Plan) (result, error) {
	t.Helper()
	for _, b := range plan.Barriers {
		mustExec(t, w.guarded, "CREATE OR REPLACE TEMP TABLE "+b.Relation()+" AS "+b.SQL)
	}
	return runSQL(t, w.guarded, plan.SQL)
}

// result is an answer in a form that compares.
type result struct {
	Names, Types []string
	// Rows are sorted, because a statement without ORDER BY promises no order.
	Rows []string
}

func runSQL(t testing.TB, conn *sql.Conn, text string, args ...any) (result, error) {
	t.Helper()
	var out result
	rows, err := conn.QueryContext(t.Context(), text, args...)
	if err != nil {
		return out, err
	}
	defer func() { require.NoError(t, rows.Close()) }()
	types, err := rows.ColumnTypes()
	require.NoError(t, err)
	for _, c := range types {
		out.Names = append(out.Names, c.Name())
		out.Types = append(out.Types, c.DatabaseTypeName())
	}
	for rows.Next() {
		row := make([]any, len(types))
		ptr := make([]any, len(types))
		for i := range row {
			ptr[i] = &row[i]
		}
		require.NoError(t, rows.Scan(ptr...))
		out.Rows = append(out.Rows, fmt.Sprintf("%#v", printable(row)))
	}
	sort.Strings(out.Rows)
	return out, rows.Err()
}

// printable turns the driver's values into ones whose text is their value.
func printable(row []any) []string {
	out := make([]string, len(row))
	for i, v := range row {
		out[i] = fmt.Sprintf("%T %v", v, v)
	}
	return out
}

// compare runs a statement on all three engines, over whole and over narrowed
// tables.
func (w *world) compare(t *testing.T, text string) {
	t.Helper()
	for _, filtered := range []bool{false, true} {
		conn := w.plain
		if filtered {
			conn = w.filtered
		}
		want, err := runSQL(t, conn, text)
		require.NoError(t, err, text)
		for _, narrow := range []bool{false, true} {
			q, err := parse(t, text)
			require.NoError(t, err, text)
			relations := w.relations(t, q, filtered)
			if narrow {
				w.narrowed(t, relations)
			}
			plan, err := q.Bind(t.Context(), sharedParser(), relations)
			require.NoError(t, err, text)
			require.Equal(t, filtered && len(relations) > 0, len(plan.Barriers) > 0)
			got, err := w.run(t, plan)
			require.NoError(t, err, plan.SQL)
			same(t, plan, want, got)
		}
	}
}

func same(t *testing.T, plan *sqlguard.Plan, want, got result) {
	t.Helper()
	require.Equal(t, want.Names, got.Names, plan.SQL)
	require.Equal(t, want.Types, got.Types, plan.SQL)
	if plan.Nondeterministic {
		return
	}
	require.Equal(t, want.Rows, got.Rows, "%s\n%v", plan.SQL, plan.Barriers)
}
