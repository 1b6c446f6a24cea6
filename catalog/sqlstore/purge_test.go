package sqlstore_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog/sqlstore"
)

// TestPurgeKnowsEveryTable fails for a new table with records of organisations that a
// purge does not remove.
func TestPurgeKnowsEveryTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	open(t, path, sqlstore.Options{})
	rows, err := raw(t, path).Query(`SELECT m.name FROM sqlite_master m WHERE m.type = 'table' AND EXISTS (
		SELECT 1 FROM pragma_table_info(m.name) c WHERE c.name = 'org_id') ORDER BY m.name`)
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	var tables []string
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		tables = append(tables, name)
	}
	require.NoError(t, rows.Err())
	purged := append(slices.Clone(sqlstore.PurgedTables), "audit_entries") // which outlive the organisation
	slices.Sort(purged)
	require.Equal(t, tables, purged)
}
