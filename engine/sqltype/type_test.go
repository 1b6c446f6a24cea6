package sqltype_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine/sqltype"
)

var scalars = []sqltype.Type{
	sqltype.Boolean, sqltype.TinyInt, sqltype.SmallInt, sqltype.Integer, sqltype.BigInt, sqltype.HugeInt, sqltype.UTinyInt,
	sqltype.USmallInt, sqltype.UInteger, sqltype.UBigInt, sqltype.UHugeInt, sqltype.BigNum, sqltype.Float, sqltype.Double, sqltype.Varchar,
	sqltype.JSON, sqltype.Blob, sqltype.Bit, sqltype.UUID, sqltype.Date, sqltype.Time, sqltype.TimeNS, sqltype.TimeTZ, sqltype.Timestamp,
	sqltype.TimestampS, sqltype.TimestampMS, sqltype.TimestampNS, sqltype.TimestampTZ, sqltype.Interval, sqltype.Variant,
	sqltype.Geometry, sqltype.Null, sqltype.Unknown,
}

// anyType draws a type of which every part prints.
func anyType(depth int) *rapid.Generator[sqltype.Type] {
	return rapid.Custom(func(t *rapid.T) sqltype.Type {
		kind := rapid.IntRange(0, 7).Draw(t, "kind")
		if depth == 0 {
			kind = min(kind, 1)
		}
		inner := anyType(max(0, depth-1))
		fields := func() (fields []sqltype.Field) {
			for _, name := range rapid.SliceOfN(rapid.StringMatching(`[a-zA-Z_é$"'][a-zA-Z0-9_ .:é"()<>,]{0,6}|date|NULL|timestamp`), 1, 4).Draw(t,
				"names") {
				fields = append(fields, sqltype.Field{Name: name, Type: inner.Draw(t, "member")})
			}
			return fields
		}
		switch kind {
		case 1:
			p := rapid.IntRange(1, 38).Draw(t, "precision")
			return sqltype.Decimal{Precision: p, Scale: rapid.IntRange(0, p).Draw(t, "scale")}
		case 2:
			return sqltype.List{Element: inner.Draw(t, "element")}
		case 3:
			return sqltype.Array{Element: inner.Draw(t, "element"), Length: rapid.Uint32().Draw(t, "length")}
		case 4:
			return sqltype.Map{Key: inner.Draw(t, "key"), Value: inner.Draw(t, "value")}
		case 5:
			if rapid.Bool().Draw(t, "names") {
				return &sqltype.Struct{Fields: fields()}
			}
			return &sqltype.Struct{Fields: []sqltype.Field{{Type: inner.Draw(t, "first")}, {Type: inner.Draw(t, "second")}}}
		case 6:
			return &sqltype.Union{Fields: fields()}
		case 7:
			return &sqltype.Enum{Values: rapid.SliceOfN(rapid.StringMatching(`[a-z', )]{0,4}`), 1, 4).Draw(t, "values")}
		}
		return rapid.SampledFrom(scalars).Draw(t, "scalar")
	})
}

func TestParseReadsWhatStringPrints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyType(3).Draw(t, "type")
		got, err := sqltype.Parse(want.String())
		if err != nil {
			t.Fatal(err)
		}
		require.Equal(t, want, got)
		require.True(t, sqltype.Equal(want, got))
	})
}

func TestParseAliases(t *testing.T) {
	for text, want := range map[string]string{
		"long": "BIGINT", "int": "INTEGER", "string": "VARCHAR", "varchar(20)": "VARCHAR", "binary": "BLOB", "bytea": "BLOB",
		"timestamp": "TIMESTAMP WITH TIME ZONE", "TIMESTAMP": "TIMESTAMP", "Timestamp": "TIMESTAMP", "timestamp without time zone": "TIMESTAMP",
		"timestamptz": "TIMESTAMP WITH TIME ZONE", "timestamp_ntz": "TIMESTAMP", "time": "TIME", "time with time zone": "TIME WITH TIME ZONE",
		"decimal": "DECIMAL(10,0)", "DECIMAL": "DECIMAL(18,3)", "numeric(5)": "DECIMAL(5,0)", " decimal( 12 , 2 ) ": "DECIMAL(12,2)",
		"double precision": "DOUBLE", "array<array<int>>": "INTEGER[][]", "map<string,long>": "MAP(VARCHAR, BIGINT)", "INT [ 3 ]": "INTEGER[3]",
		"struct<a b:int>": "", "struct<`a b`:int not null>": `STRUCT("a b" INTEGER)`, "struct<date:date>": "STRUCT(date DATE)",
		`STRUCT("select" INT, "NULL" INT, "9a" INT)`: `STRUCT("select" INTEGER, "NULL" INTEGER, "9a" INTEGER)`,
		`STRUCT(INTEGER, "NULL"[])`:                  `STRUCT(INTEGER, "NULL"[])`,
	} {
		got, err := sqltype.Parse(text)
		if want == "" {
			require.ErrorIs(t, err, sqltype.ErrSyntax, text)
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, want, got.String(), text)
	}
	s := sqltype.MustParse("STRUCT(a INT NOT NULL, b INT)").(*sqltype.Struct)
	require.True(t, s.Fields[0].NotNull)
	require.False(t, s.Fields[1].NotNull)
}

func TestParseRefuses(t *testing.T) {
	for _, bad := range []string{
		"", " ", "array<int", "array", "map<int>", "STRUCT(a)", "STRUCT(a INT", "decimal(39,0)", "decimal(2,3)", "decimal(a)", "decimal(5,-1)",
		"decimal()",
		"long; DROP TABLE x", "long long", "void", "INT[", "INT[-1]", "INT[99999999999]", "ENUM()", "ENUM(a)", "ENUM('a", `STRUCT("" INT)`,
		`STRUCT("a INT)`,
		`"NULL`, "STRUCT(a INT,)", strings.Repeat("array<", 100_000), "INTEGER" + strings.Repeat("[]", 100_000),
		strings.Repeat("STRUCT(", 100_000),
		strings.Repeat("struct<date struct<", 50_000), strings.Repeat("MAP(", 100_000),
	} {
		_, err := sqltype.Parse(bad)
		require.ErrorIs(t, err, sqltype.ErrSyntax, "%.100s", bad)
	}
	require.Panics(t, func() { sqltype.MustParse("no type") })
}

func TestEqual(t *testing.T) {
	a, b := sqltype.MustParse("STRUCT(a INTEGER)[]"), sqltype.MustParse("struct<a:int>[]")
	require.True(t, sqltype.Equal(a, b))
	require.False(t, sqltype.Equal(a, sqltype.MustParse("STRUCT(A INTEGER)[]")))
	require.False(t, sqltype.Equal(a, nil))
	require.True(t, sqltype.Equal(nil, nil))
	require.NotPanics(t, func() { require.False(t, a == b) })
}

func TestContains(t *testing.T) {
	isDate := func(t sqltype.Type) bool { return t == sqltype.Date }
	for text, want := range map[string]bool{
		"DATE": true, "INTEGER": false, "MAP(INTEGER, STRUCT(a INTEGER, b DATE[3])[])": true, "UNION(a DATE)": true,
		`STRUCT("DATE" INTEGER)`: false,
	} {
		require.Equal(t, want, sqltype.Contains(sqltype.MustParse(text), isDate), text)
	}
}

func TestIntegerBits(t *testing.T) {
	want := map[sqltype.Type]int{
		sqltype.TinyInt: 8, sqltype.SmallInt: 16, sqltype.Integer: 32, sqltype.BigInt: 64, sqltype.HugeInt: 128,
		sqltype.UTinyInt: -8, sqltype.USmallInt: -16, sqltype.UInteger: -32, sqltype.UBigInt: -64, sqltype.UHugeInt: -128,
	}
	for _, scalar := range scalars {
		bits, signed := sqltype.IntegerBits(scalar)
		if !signed {
			bits = -bits
		}
		require.Equal(t, want[scalar], bits, scalar)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"long", "DECIMAL(12,2)", `STRUCT("a""b" INTEGER[], c MAP(VARCHAR, DATE))`, "array<struct<a:int not null>>",
		"ENUM('a')[3]", `STRUCT("NULL", INT)`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := sqltype.Parse(text)
		if err != nil {
			require.ErrorIs(t, err, sqltype.ErrSyntax)
			return
		}
		again, err := sqltype.Parse(parsed.String())
		require.NoError(t, err, parsed.String())
		require.Equal(t, parsed.String(), again.String())
	})
}
