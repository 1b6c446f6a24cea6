package enginetest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

func (s suite) statement(t *testing.T) {
	t.Run("Columns", s.columns)
	t.Run("Args", s.args)
	t.Run("ArgErrors", s.argErrors)
	t.Run("Errors", s.errors)
	t.Run("OnlyOneSelect", s.onlyOneSelect)
	t.Run("Measurements", s.measurements)
}

func (s suite) columns(t *testing.T) {
	session := s.open(t)
	for _, c := range []struct{ expr, sqlType, value string }{
		{`NULL::BIGINT`, `BIGINT`, `(null)`},
		{`true`, `BOOLEAN`, `true`},
		{`42::TINYINT`, `TINYINT`, `42`},
		{`18446744073709551615::UBIGINT`, `UBIGINT`, `18446744073709551615`},
		{`170141183460469231731687303715884105727::HUGEINT`, `HUGEINT`, ``},
		{`1.5::DECIMAL(12,2)`, `DECIMAL(12,2)`, `1.5`},
		{`99999999999999999999999999999999999999::DECIMAL(38,0)`, `DECIMAL(38,0)`, `99999999999999999999999999999999999999`},
		{`0.1::FLOAT`, `FLOAT`, `0.1`},
		{`'nan'::DOUBLE`, `DOUBLE`, `NaN`},
		{`'é€𝄞'`, `VARCHAR`, `é€𝄞`},
		{`'\x00\xFF'::BLOB`, `BLOB`, `AP8=`},
		{`DATE '1582-10-15'`, `DATE`, `1582-10-15`},
		{`TIME '23:59:59.000001'`, `TIME`, `23:59:59.000001`},
		{`TIMESTAMP '2024-02-29 12:00:00.123456'`, `TIMESTAMP`, `2024-02-29T12:00:00.123456Z`},
		{`TIMESTAMPTZ '2024-02-29 12:00:00+02'`, `TIMESTAMP WITH TIME ZONE`, `2024-02-29T10:00:00Z`},
		{`(TIMESTAMPTZ '2024-02-29 12:00:00+02')::VARCHAR`, `VARCHAR`, `2024-02-29 10:00:00+00`},
		{`TIMESTAMP_NS '2024-02-29 12:00:00.123456789'`, `TIMESTAMP_NS`, `2024-02-29T12:00:00.123456789Z`},
		{`INTERVAL 14 MONTH + INTERVAL 3 DAY`, `INTERVAL`, `1 year 2 months 3 days`},
		{`UUID '5f1c5a30-7d0e-4a7e-9f5b-2b7c1d8e9a01'`, `UUID`, `5f1c5a30-7d0e-4a7e-9f5b-2b7c1d8e9a01`},
		{`'{"a":[1]}'::JSON`, `JSON`, `{"a":[1]}`},
		{`'b'::ENUM('a','b')`, `ENUM('a', 'b')`, `b`},
		{`[1, NULL]`, `INTEGER[]`, `[1,null]`},
		{`[1, 2]::INTEGER[2]`, `INTEGER[2]`, `[1,2]`},
		{`{'a': 1, 'b c': 'x'}`, `STRUCT(a INTEGER, "b c" VARCHAR)`, `{"a":1,"b c":"x"}`},
		{`MAP {'k': 1}`, `MAP(VARCHAR, INTEGER)`, `[{"key":"k","value":1}]`},
	} {
		t.Run(c.expr, func(t *testing.T) {
			r, err := session.Query(context.Background(), engine.Statement{SQL: "SELECT " + c.expr + ` AS "v ü"`})
			require.NoError(t, withText(err))
			defer r.Close()
			require.Equal(t, []engine.Column{{Name: "v ü", Type: sqltype.MustParse(c.sqlType), Nullable: true}}, r.Columns())
			require.Equal(t, c.sqlType, r.Columns()[0].Type.String())
			require.Equal(t, "v ü", r.Schema().Field(0).Name)
			batch, err := r.Next(context.Background())
			require.NoError(t, withText(err))
			defer batch.Release()
			require.True(t, r.Schema().Equal(batch.Schema()))
			if c.value != "" {
				require.Equal(t, c.value, batch.Column(0).ValueStr(0))
			}
		})
	}
}

func (s suite) args(t *testing.T) {
	session := s.open(t)
	for _, c := range []struct {
		name, sql string
		args      engine.Args
		want      string
	}{
		{"positional", `SELECT $2, $1, $2`, engine.Args{Positional: []any{int64(1), "x"}}, "x|1|x"},
		{"question marks", `SELECT ?, ?`, engine.Args{Positional: []any{true, nil}}, "true|(null)"},
		{"named", `SELECT $b, $a`, engine.Args{Named: map[string]any{"a": 1.5, "b": "y"}}, "y|1.5"},
		{"named without case", `SELECT $Region`, engine.Args{Named: map[string]any{"region": "north"}}, "north"},
		{"text is no SQL", `SELECT $1`, engine.Args{Positional: []any{`'; DROP TABLE x; --`}}, `'; DROP TABLE x; --`},
		{"text with NUL", `SELECT length($1)`, engine.Args{Positional: []any{"a\x00b"}}, "3"},
		{"long text", `SELECT length($1)`, engine.Args{Positional: []any{string(make([]byte, 1<<20))}}, "1048576"},
		{"text as date", `SELECT $1::DATE + 1`, engine.Args{Positional: []any{"2024-02-28"}}, "2024-02-29"},
		{"exact integer", `SELECT $1`, engine.Args{Positional: []any{json.Number("9007199254740993")}}, "9007199254740993"},
		{"beyond BIGINT", `SELECT $1::VARCHAR`, engine.Args{Positional: []any{json.Number("-170141183460469231731687303715884105")}},
			"-170141183460469231731687303715884105"},
		{"exact decimal", `SELECT $1::VARCHAR`, engine.Args{Positional: []any{json.Number("-0.10")}}, "-0.10"},
		{"exponent", `SELECT $1`, engine.Args{Positional: []any{json.Number("1e300")}}, "1e+300"},
		{"list of integers", `SELECT list_sum($1)::BIGINT`, engine.Args{Positional: []any{[]int64{1, 2, 3}}}, "6"},
		{"list of text", `SELECT 'b' IN (SELECT unnest($1))`, engine.Args{Positional: []any{[]string{"a", "b"}}}, "true"},
		{"list with null", `SELECT len($1)`, engine.Args{Positional: []any{[]any{nil, "a"}}}, "2"},
		{"list of numbers", `SELECT list_sum($1)`, engine.Args{Positional: []any{[]any{int64(1), 0.5, json.Number("2")}}}, "3.5"},
		{"empty list", `SELECT len($1)`, engine.Args{Positional: []any{[]any{}}}, "0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, []string{c.want}, Rows(t, session, engine.Statement{SQL: c.sql, Args: c.args}))
		})
	}
}

func (s suite) argErrors(t *testing.T) {
	session := s.open(t)
	for _, c := range []struct {
		name, sql string
		args      engine.Args
		at        string
	}{
		{"missing", `SELECT $1, $2`, engine.Args{Positional: []any{int64(1)}}, "2"},
		{"none at all", `SELECT $region`, engine.Args{}, "region"},
		{"missing name", `SELECT $a, $b`, engine.Args{Named: map[string]any{"a": int64(1)}}, "b"},
		{"too many", `SELECT $1`, engine.Args{Positional: []any{int64(1), int64(2)}}, "2"},
		{"unknown name", `SELECT $a`, engine.Args{Named: map[string]any{"a": int64(1), "z": int64(2)}}, "z"},
		{"broken UTF-8", `SELECT $1`, engine.Args{Positional: []any{"\xff"}}, "1"},
		{"mixed list", `SELECT $1`, engine.Args{Positional: []any{[]any{"a", int64(1)}}}, "1"},
		{"unknown kind", `SELECT $1`, engine.Args{Positional: []any{struct{}{}}}, "1"},
		{"not a number", `SELECT $1`, engine.Args{Positional: []any{json.Number("1; DROP")}}, "1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := TryRows(context.Background(), session, engine.Statement{SQL: c.sql, Args: c.args})
			e := failure(t, err)
			require.Equal(t, engine.KindBind, e.Kind, "%+v", e)
			require.Equal(t, c.at, e.Name, "%+v", e)
		})
	}
	alive(t, session)
}

func (s suite) errors(t *testing.T) {
	root := t.TempDir()
	table := NewTable(t, root, "t")
	table.Append(t, 0, 10)
	src := table.Latest()
	session := s.open(t, root)
	for _, c := range []struct {
		name, sql string
		kind      engine.Kind
		class     string
		at        string // identifier
		position  int
	}{
		{"typo", `SELEC 1`, engine.KindSyntax, "syntax", "", 0},
		{"wide typo", `SELECT 'é' FRM x y`, engine.KindSyntax, "syntax", "", 16},
		{"column", `SELECT 'é', nope FROM ` + src.Relation(), engine.KindBind, "column_not_found", "nope", 13},
		{"function", `SELECT nofun(1)`, engine.KindBind, "function_not_found", "nofun", 7},
		{"table", `SELECT * FROM nope`, engine.KindBind, "table_not_found", "nope", 14},
		{"type name", `SELECT 1::nope`, engine.KindBind, "type_not_found", "nope", -2},
		{"argument types", `SELECT sum('x')`, engine.KindBind, "type_mismatch", "sum", 7},
		{"ambiguous", `SELECT id FROM ` + src.Relation() + ` x, ` + src.Relation() + ` y`, engine.KindBind, "ambiguous_column", "id", 7},
		{"grouping", `SELECT id FROM ` + src.Relation() + ` GROUP BY name`, engine.KindBind, "not_grouped", "id", 7},
		{"join column", `SELECT 1 FROM ` + src.Relation() + ` x JOIN ` + src.Relation() + ` y USING (nope)`, engine.KindBind,
			"column_not_found", "nope", -1},
		{"two tables of one name", `SELECT * FROM ` + src.Relation() + ` x NATURAL JOIN ` + src.Relation() + ` x`, engine.KindBind,
			"ambiguous_table", "", -1},
		{"comparison", `SELECT 'é' FROM ` + src.Relation() + ` x WHERE name > 1`, engine.KindBind, "type_mismatch", "", -2},
		{"aggregate of rows", `SELECT 1 WHERE sum(1) > 1`, engine.KindBind, "aggregate_misplaced", "", 15},
		{"window of rows", `SELECT 1 WHERE row_number() OVER () > 1`, engine.KindBind, "window_misplaced", "", 15},
		{"aggregate of an aggregate", `SELECT sum(count(*))`, engine.KindBind, "aggregate_nested", "", 11},
		{"aggregate of a window", `SELECT sum(row_number() OVER ())`, engine.KindBind, "aggregate_nested", "", 11},
		{"nothing to qualify", `SELECT 1 QUALIFY 1 > 1`, engine.KindBind, "qualify_without_window", "", -1},
		{"order by number", `SELECT 1 ORDER BY 5`, engine.KindBind, "result_number", "", 18},
		{"group by number", `SELECT 1 GROUP BY 5`, engine.KindBind, "result_number", "", -1},
		{"columns of a value", `SELECT (SELECT 1, 2)`, engine.KindBind, "subquery_columns", "", 7},
		{"unnest of a number", `SELECT unnest(1)`, engine.KindBind, "type_mismatch", "", 7},
		{"member of a number", `SELECT (1).x`, engine.KindBind, "type_mismatch", "", -2},
		{"struct field", `SELECT {'a': 1}.b`, engine.KindBind, "field_not_found", "b", -2},
		{"cast", `SELECT 'abc'::INTEGER`, engine.KindRuntime, "conversion", "", -2},
		{"cast of rows", `SELECT name::INTEGER FROM ` + src.Relation(), engine.KindRuntime, "conversion", "", -2},
		{"overflow", `SELECT 9223372036854775807 + 1`, engine.KindRuntime, "out_of_range", "", -1},
		{"scalar subquery", `SELECT (SELECT range FROM range(3))`, engine.KindRuntime, "scalar_subquery_rows", "", -1},
		{"bad pattern", `SELECT regexp_matches(name, '(') FROM ` + src.Relation(), engine.KindRuntime, "invalid_input", "", -1},
		{"nul", "SELECT 1\x00", engine.KindSyntax, "invalid_character", "", 8},
		{"broken utf-8", "SELECT '\xff'", engine.KindSyntax, "invalid_utf8", "", 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := TryRows(context.Background(), session, engine.Statement{SQL: c.sql, Sources: []engine.Source{src}})
			e := failure(t, err)
			require.Equal(t, c.kind, e.Kind, "%+v", e)
			require.Equal(t, c.class, e.Class, "%+v", e)
			require.Equal(t, c.at, e.Name, "%+v", e)
			if c.position != -2 {
				require.Equal(t, c.position, e.Position, "%+v", e)
			}
			require.NotContains(t, err.Error(), "abc", "an error prints no text of the engine")
			require.False(t, session.Broken())
		})
	}
	alive(t, session)
}

func (s suite) onlyOneSelect(t *testing.T) {
	root := t.TempDir()
	table := NewTable(t, root, "t")
	session := s.open(t, root)
	for _, sql := range []string{
		``,
		`;`,
		`SELECT 1; SELECT 2`,
		`CREATE TEMP TABLE made AS SELECT 1 AS a; SELECT 1`,
		`CREATE TEMP TABLE made AS SELECT 1 AS a`,
		`INSERT INTO ` + engine.QuoteIdent(table.Latest().Database()) + `.main.` + engine.SourceTable + ` VALUES (1, 'x')`,
		`SET threads = 4`,
		`ATTACH ':memory:' AS other`,
		`EXPLAIN ANALYZE SELECT 1`,
		`COPY (SELECT 1) TO '` + root + `/out.csv'`,
	} {
		t.Run(sql, func(t *testing.T) {
			for _, analyze := range []bool{false, true} {
				_, err := TryRows(context.Background(), session, engine.Statement{SQL: sql, Sources: []engine.Source{table.Latest()}, Analyze: analyze})
				require.Equal(t, engine.KindNotSelect, failure(t, err).Kind, "%v", withText(err))
			}
		})
	}
	_, err := TryRows(context.Background(), session, engine.Statement{SQL: "SELECT * FROM made"})
	require.Equal(t, "table_not_found", failure(t, err).Class, "a refused statement ran")
	require.NoFileExists(t, root+"/out.csv")
}

// measurements checks that an analyzed statement returns measurements instead of its
// rows, and that the next statement returns rows again.
func (s suite) measurements(t *testing.T) {
	session := s.open(t, t.TempDir())
	for range 2 {
		rows := Rows(t, session, engine.Statement{
			SQL: "SELECT i FROM range(1000) t(i) WHERE i >= ?", Args: engine.Args{Positional: []any{int64(990)}}, Analyze: true,
		})
		require.Len(t, rows, 1)
		require.Contains(t, rows[0], `"operator_cardinality": 10`)
		require.Len(t, Rows(t, session, engine.Statement{SQL: "SELECT i FROM range(3) t(i)"}), 3)
	}
	_, err := TryRows(context.Background(), session, engine.Statement{SQL: "SELECT CAST('x' AS INT)", Analyze: true})
	require.Equal(t, engine.KindRuntime, failure(t, err).Kind, "%v", withText(err))
}
