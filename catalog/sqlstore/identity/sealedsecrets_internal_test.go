package identity

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/catalogtest/pgtest"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// TestEveryColumnOfSecretsIsListed fails for a new column of bytes that is neither a hash
// nor listed, because a reseal would miss it and then retire the key that opens it.
func TestEveryColumnOfSecretsIsListed(t *testing.T) {
	for name, query := range map[string]string{
		"sqlite": `SELECT t.name || '.' || c.name FROM sqlite_master t JOIN pragma_table_info(t.name) c
			WHERE t.type = 'table' AND c.type NOT IN ('TEXT', 'INTEGER', 'REAL', 'timestamp', 'datetime') AND t.name NOT LIKE 'sqlite%'
			AND t.name <> 'goose_db_version'`,
		"postgres": `SELECT table_name || '.' || column_name FROM information_schema.columns
			WHERE table_schema = current_schema() AND data_type = 'bytea'`,
	} {
		t.Run(name, func(t *testing.T) {
			target := filepath.Join(t.TempDir(), "catalog.db")
			if name == "postgres" {
				target = pgtest.URL(t)
			}
			db, err := sqldb.Open(t.Context(), target, sqldb.Options{})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			found, err := sqldb.List(t.Context(), db.Read(), sqldb.Value[string], query)
			require.NoError(t, err)
			found = slices.DeleteFunc(found, func(column string) bool { return strings.HasSuffix(column, "hash") })
			var listed []string
			for _, c := range sealedColumns {
				listed = append(listed, c.table+"."+c.column)
			}
			require.ElementsMatch(t, listed, found)
		})
	}
	var kinds []catalog.SealedKind
	for _, c := range sealedColumns {
		kinds = append(kinds, c.kind)
	}
	require.Equal(t, catalog.SealedKinds(), kinds)
}
