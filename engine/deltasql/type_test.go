package deltasql_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/deltasql"
)

// anyType draws a type of which both notations can say everything: members
// and elements are nullable.
func anyType(depth int) *rapid.Generator[delta.DataType] {
	return rapid.Custom(func(t *rapid.T) delta.DataType {
		kind := rapid.IntRange(0, 4).Draw(t, "kind")
		if depth == 0 {
			kind = min(kind, 1)
		}
		inner := anyType(max(0, depth-1))
		switch kind {
		case 1:
			p := rapid.IntRange(1, 38).Draw(t, "precision")
			return delta.Decimal{Precision: p, Scale: rapid.IntRange(0, p).Draw(t, "scale")}
		case 2:
			return delta.Array{Element: inner.Draw(t, "element"), ContainsNull: true}
		case 3:
			return delta.Map{Key: inner.Draw(t, "key"), Value: inner.Draw(t, "value"), ValueContainsNull: true}
		case 4:
			var s delta.Struct
			names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-zA-Z_é$"][a-zA-Z0-9_ .:é"]{0,6}`), 1, 4, strings.ToLower).Draw(t, "names")
			for _, name := range names {
				s.Fields = append(s.Fields, delta.Field{Name: name, Type: inner.Draw(t, "member"), Nullable: true})
			}
			return s
		}
		return rapid.SampledFrom([]delta.DataType{
			delta.String, delta.Long, delta.Integer, delta.Short, delta.Byte, delta.Float, delta.Double, delta.Boolean,
			delta.Binary, delta.Date, delta.Timestamp, delta.TimestampNTZ,
		}).Draw(t, "primitive")
	})
}

func TestTypeTextRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyType(3).Draw(t, "type")
		text := deltasql.Type(want).String()
		got, err := deltasql.ParseType(text)
		if err != nil || !delta.EqualTypes(want, got) {
			t.Fatalf("%s: %v, %v", text, got, err)
		}
		schema := delta.Struct{Fields: []delta.Field{{Name: "x", Type: want, Nullable: true}}}
		encoded, err := schema.JSON()
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := delta.ParseSchema(encoded)
		if err != nil || !delta.EqualTypes(schema, parsed) {
			t.Fatalf("%s: %v", encoded, err)
		}
	})
}

func TestParseType(t *testing.T) {
	for text, want := range map[string]string{
		"long": "long", "BIGINT": "long", "int": "integer", "INTEGER": "integer", "byte": "byte", "TINYINT": "byte",
		"timestamp": "timestamp", "TIMESTAMP": "timestamp_ntz", "TIMESTAMPTZ": "timestamp", "timestamp_ntz": "timestamp_ntz",
		"TIMESTAMP WITH TIME ZONE": "timestamp", "timestamp without time zone": "timestamp_ntz",
		"decimal": "decimal(10,0)", "DECIMAL": "decimal(18,3)", "numeric(5)": "decimal(5,0)", " decimal( 12 , 2 ) ": "decimal(12,2)",
		"VARCHAR(20)": "string", "BIGINT[][]": "array<array<long>>", "array<string>": "array<string>",
		"MAP(VARCHAR, INTEGER)": "map<string,integer>", "map<string,array<int>>": "map<string,array<integer>>",
		`STRUCT(a INTEGER, "b c" VARCHAR[])`: "struct<a:integer,b c:array<string>>",
		"struct<a:int,b:struct<c:date>>":     "struct<a:integer,b:struct<c:date>>",
		"double precision":                   "double", "variant": "variant",
	} {
		got, err := deltasql.ParseType(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got.String(), text)
	}
	s, err := deltasql.ParseType("STRUCT(a INTEGER NOT NULL, b DATE)")
	require.NoError(t, err)
	require.False(t, s.(delta.Struct).Fields[0].Nullable)
	for _, bad := range []string{
		"", "HUGEINT", "UBIGINT", "UUID", "TIME", "INTERVAL", "JSON", "ENUM('a')", "INTEGER[3]", "array<int", "map<int>", "STRUCT(a)",
		"STRUCT(a INTEGER, A INTEGER)", "decimal(39,0)", "decimal(2,3)", "decimal(a)", "long; DROP TABLE x", "long long", "void",
		"TIMESTAMP_NS", strings.Repeat("array<", 1000), "INTEGER" + strings.Repeat("[]", 100), `STRUCT("" INT)`, `STRUCT("a INT)`,
	} {
		_, err := deltasql.ParseType(bad)
		require.ErrorIs(t, err, delta.ErrInvalidSchema, bad)
	}
}

// TestTypesOfVariantsAndVoidColumns checks the types that variants and void columns
// have in statements and in files.
func TestTypesOfVariantsAndVoidColumns(t *testing.T) {
	nested := func(p delta.Primitive) delta.DataType {
		return delta.Map{Key: delta.String, Value: delta.Array{Element: delta.Struct{Fields: []delta.Field{{Name: "m", Type: p,
			Nullable: true}}}}}
	}
	require.Equal(t, "VARCHAR", deltasql.Type(delta.Variant).String())
	require.Equal(t, "INTEGER", deltasql.Type(delta.Void).String())
	require.Equal(t, "VARIANT", deltasql.FileType(delta.Variant).String())
	require.Equal(t, "MAP(VARCHAR, STRUCT(m VARCHAR)[])", deltasql.Type(nested(delta.Variant)).String())
	require.Equal(t, "MAP(VARCHAR, STRUCT(m VARIANT)[])", deltasql.FileType(nested(delta.Variant)).String())
	require.Equal(t, "variant", delta.Variant.String())
	require.Equal(t, `"NULL"`, deltasql.Type(delta.Primitive("geometry")).String())
}

func FuzzParseType(f *testing.F) {
	for _, seed := range []string{"long", "DECIMAL(12,2)", `STRUCT("a""b" INTEGER[], c MAP(VARCHAR, DATE))`, "array<struct<a:int>>",
		"TIMESTAMP WITH TIME ZONE"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		dt, err := deltasql.ParseType(text)
		if err != nil {
			require.ErrorIs(t, err, delta.ErrInvalidSchema)
			return
		}
		again, err := deltasql.ParseType(deltasql.Type(dt).String())
		require.NoError(t, err, deltasql.Type(dt).String())
		require.Equal(t, deltasql.Type(dt), deltasql.Type(again))
	})
}
