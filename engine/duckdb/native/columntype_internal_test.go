package native

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// TestTypesPrintAsTypeof compares the text of types with that of typeof, also for
// members that have DuckDB's keywords as their names.
func TestTypesPrintAsTypeof(t *testing.T) {
	in, err := Open(nil)
	require.NoError(t, err)
	defer in.Close()
	var words []string
	require.NoError(t, in.Each("SELECT keyword_name FROM duckdb_keywords()", engine.Args{}, func(r engine.Row) error {
		words = append(words, r.Text(0))
		return nil
	}))
	require.Greater(t, len(words), 400)
	for _, typ := range []string{
		"BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT",
		"BIGNUM", "FLOAT", "DOUBLE", "DECIMAL(18,3)", "DECIMAL(38,38)", "VARCHAR", "JSON", "BLOB", "BIT", "UUID", "DATE", "TIME", "TIME_NS",
		"TIMETZ",
		"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMPTZ", "INTERVAL", "VARIANT", "GEOMETRY",
		"ENUM('a', 'it''s')", "INTEGER[][3][]", `MAP(VARCHAR, STRUCT(a INTEGER, "b c" DATE, "9" DATE, "é" DATE, "a""b" DATE, A_1 DATE))`,
		"UNION(a INTEGER, \"select\" VARCHAR[])",
		`STRUCT("` + strings.Join(words, `" INTEGER, "`) + `" INTEGER)`,
		`STRUCT("` + strings.ToUpper(strings.Join(words, `" INTEGER, "`)) + `" INTEGER)`,
	} {
		d, err := in.Describe("SELECT NULL::" + typ)
		require.NoError(t, err, typ)
		var want string
		require.NoError(t, in.Each("SELECT typeof(NULL::"+typ+")", engine.Args{}, func(r engine.Row) error {
			want = r.Text(0)
			return nil
		}))
		require.Equal(t, want, d.Types[0].String())
		parsed, err := sqltype.Parse(want)
		require.NoError(t, err)
		require.True(t, sqltype.Equal(d.Types[0], parsed), want)
	}
}
