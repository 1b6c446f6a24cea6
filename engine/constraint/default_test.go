package constraint_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/deltasql"
)

func TestValidDefaults(t *testing.T) {
	for _, c := range []struct{ typ, text, spark, duckdb string }{
		{"string", "'open'", "'open'", "CAST('open' AS VARCHAR)"},
		{"string", "''", "''", "CAST('' AS VARCHAR)"},
		{"string", "CAST('a' AS VARCHAR)", "'a'", "CAST('a' AS VARCHAR)"},
		{"integer", "0", "0", "CAST('0' AS INTEGER)"},
		{"integer", "-7", "(-7)", "CAST('-7' AS INTEGER)"},
		{"integer", "- (-7)", "7", "CAST('7' AS INTEGER)"},
		{"integer", "1.0", "1", "CAST('1' AS INTEGER)"},
		{"long", "5", "CAST('5' AS BIGINT)", "CAST('5' AS BIGINT)"},
		{"long", "9223372036854775807", "9223372036854775807", "CAST('9223372036854775807' AS BIGINT)"},
		{"long", "5L", "CAST('5' AS BIGINT)", "CAST('5' AS BIGINT)"},
		{"byte", "127", "CAST('127' AS TINYINT)", "CAST('127' AS TINYINT)"},
		{"short", "-32768", "CAST('-32768' AS SMALLINT)", "CAST('-32768' AS SMALLINT)"},
		{"decimal(5,2)", "1.5", "CAST('1.50' AS DECIMAL(5,2))", "CAST('1.50' AS DECIMAL(5,2))"},
		{"decimal(5,2)", "-999.99", "CAST('-999.99' AS DECIMAL(5,2))", "CAST('-999.99' AS DECIMAL(5,2))"},
		{"decimal(5,2)", "7", "CAST('7.00' AS DECIMAL(5,2))", "CAST('7.00' AS DECIMAL(5,2))"},
		{"double", "0.1", "CAST('0.1' AS DOUBLE)", "CAST('0.1' AS DOUBLE)"},
		{"double", "1e6", "CAST('1e+06' AS DOUBLE)", "CAST('1e+06' AS DOUBLE)"},
		{"double", "3", "CAST('3' AS DOUBLE)", "CAST('3' AS DOUBLE)"},
		{"float", "0.5", "CAST('0.5' AS FLOAT)", "CAST('0.5' AS FLOAT)"},
		{"boolean", "true", "true", "true"},
		{"boolean", "FALSE", "false", "false"},
		{"date", "DATE '2024-02-29'", "DATE '2024-02-29'", "CAST('2024-02-29' AS DATE)"},
		{"date", "'2024-02-29'", "DATE '2024-02-29'", "CAST('2024-02-29' AS DATE)"},
		{"timestamp", "'2024-02-29T01:00:00+01:00'", "TIMESTAMP '2024-02-29 00:00:00+00:00'",
			"CAST('2024-02-29 00:00:00+00:00' AS TIMESTAMP WITH TIME ZONE)"},
		{"timestamp", "TIMESTAMPTZ '2024-02-29 00:00:00+00'", "TIMESTAMP '2024-02-29 00:00:00+00:00'",
			"CAST('2024-02-29 00:00:00+00:00' AS TIMESTAMP WITH TIME ZONE)"},
		{"timestamp_ntz", "TIMESTAMP '2024-02-29 01:02:03'", "TIMESTAMP_NTZ '2024-02-29 01:02:03'", "CAST('2024-02-29 01:02:03' AS TIMESTAMP)"},
		{"array<long>", "NULL", "NULL", "NULL"},
		{"string", "null", "NULL", "NULL"},
	} {
		typ, err := deltasql.ParseType(c.typ)
		require.NoError(t, err)
		d, err := constraint.ParseDefault(t.Context(), sharedParser(), typ, c.text)
		require.NoError(t, err, "%s %s", c.typ, c.text)
		require.Equal(t, c.spark, d.Spark(), "%s %s", c.typ, c.text)
		require.Equal(t, c.duckdb, d.DuckDB(), "%s %s", c.typ, c.text)
		require.Equal(t, c.duckdb == "NULL", d.IsNull())
		again, err := constraint.SparkDefault(typ, d.Spark())
		require.NoError(t, err, "the log's text is read as it was written: %s", d.Spark())
		require.Equal(t, d, again)
		again, err = constraint.ParseDefault(t.Context(), sharedParser(), typ, d.Spark())
		require.NoError(t, err, "a user takes it from there: %s", d.Spark())
		require.Equal(t, d, again)
	}
}

func TestInvalidDefaults(t *testing.T) {
	for _, c := range [][2]string{
		{"integer", "1.5"},
		{"integer", "2147483648"},
		{"byte", "128"},
		{"integer", "'5'"},
		{"integer", "1e3"},
		{"decimal(5,2)", "1.505"},
		{"decimal(5,2)", "1000"},
		{"float", "16777217"},
		{"double", "9007199254740993"},
		{"double", "1e400"},
		{"string", "5"},
		{"string", "true"},
		{"boolean", "1"},
		{"date", "'2024-02-30'"},
		{"date", "TIMESTAMP '2024-02-29 00:00:00'"},
		{"timestamp", "TIMESTAMP '2024-02-29 00:00:00'"},
		{"timestamp", "DATE '2024-02-29'"},
		{"timestamp", "'2024-02-29 00:00:00'"},
		{"string", "'it''s'"},
		{"string", `'a\b'`},
		{"string", "'a' || 'b'"},
		{"string", "name"},
		{"string", "upper('a')"},
		{"date", "current_date"},
		{"date", "current_date()"},
		{"timestamp", "now()"},
		{"double", "random()"},
		{"integer", "1 + 1"},
		{"integer", "(SELECT 1)"},
		{"integer", "1, 2"},
		{"integer", "1) FROM t --"},
		{"integer", "?"},
		{"integer", ""},
		{"integer", "CASE WHEN true THEN 1 END"},
		{"binary", "'a'"},
		{"array<long>", "[1]"},
		{"struct<a:long>", "{'a': 1}"},
		{"boolean", "1 = 1"},
	} {
		typ, err := deltasql.ParseType(c[0])
		require.NoError(t, err)
		_, err = constraint.ParseDefault(t.Context(), sharedParser(), typ, c[1])
		require.ErrorIs(t, err, constraint.ErrInvalidCheck, "%s %s", c[0], c[1])
	}
}

// TestForeignDefaults: texts that Spark writes into logs.
func TestForeignDefaults(t *testing.T) {
	for text, want := range map[string]string{
		"42": "CAST('42.00' AS DECIMAL(10,2))", "CAST(1.5 AS DECIMAL(10,2))": "CAST('1.50' AS DECIMAL(10,2))", "-1.25BD": "", "'x'": "",
		"CAST(NULL AS STRING)": "NULL", "NULL": "NULL", "1.005": "", "current_date()": "", "rand()": "", "1 + 1": "",
	} {
		d, err := constraint.SparkDefault(delta.Decimal{Precision: 10, Scale: 2}, text)
		if want == "" {
			require.ErrorIs(t, err, constraint.ErrInvalidCheck, text)
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, want, d.DuckDB(), text)
	}
}

func TestDefaultsOfASnapshot(t *testing.T) {
	field := func(name string, typ delta.DataType, text string) delta.Field {
		f := delta.Field{Name: name, Type: typ, Nullable: true, Metadata: map[string]json.RawMessage{}}
		if text != "" {
			f = f.WithDefault(text)
		}
		return f
	}
	broken := field("broken", delta.Long, "")
	broken.Metadata["CURRENT_DEFAULT"] = json.RawMessage("7")
	set, err := constraint.Of(created(t, delta.Struct{Fields: []delta.Field{field("a", delta.Long, "7"),
		field("b", delta.Date, "current_date()"), field("c", delta.String, ""), field("d", delta.String, "NULL"), broken}}, nil))
	require.NoError(t, err)
	sql, ok := set.Default("a")
	require.True(t, ok)
	require.Equal(t, "CAST('7' AS BIGINT)", sql)
	for _, name := range []string{"b", "c", "d", "broken"} {
		_, ok := set.Default(name)
		require.False(t, ok, name)
	}
	require.Equal(t, []string{"b", "broken"}, set.Unfilled())
	_, err = constraint.Of(created(t, delta.Struct{Fields: []delta.Field{{Name: "s",
		Type: delta.Array{Element: delta.Struct{Fields: []delta.Field{field("m", delta.Long, "1")}}}, Nullable: true}}}, nil))
	require.ErrorIs(t, err, delta.ErrUnsupportedFeature)
}
