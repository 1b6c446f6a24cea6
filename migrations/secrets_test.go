package migrations_test

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/migrations"
)

// TestStorageSecretsMove checks that a sealed credential keeps its value when it
// moves to a separate table and back.
func TestStorageSecretsMove(t *testing.T) {
	each(t, func(t *testing.T, dialect migrations.Dialect, open func() *sql.DB) {
		db := open()
		_, err := migrations.Apply(t.Context(), dialect, db)
		require.NoError(t, err)
		require.NoError(t, migrations.Rollback(t.Context(), dialect, db, 1))
		sealed := `x'00ff'`
		if dialect == migrations.Postgres {
			sealed = `'\x00ff'`
		}
		for _, statement := range []string{
			`INSERT INTO users VALUES ('u', 'u@example.com', 'u', 1, 1, 1)`,
			`INSERT INTO organisations VALUES ('o', 'o', 'u', '{}', 1, 1, 1, NULL)`,
			`INSERT INTO storage_configs (id, org_id, name, slug, kind, owner_user_id, location, settings, auth_mode, sealed_secret,
					version, created_at, updated_at)
				VALUES ('with', 'o', 'n', 'n', 's3', 'u', 's3://e/b/', '{}', 'access_key', ` + sealed + `, 1, 1, 1),
				('without', 'o', 'n', 'n', 'local', 'u', 'file:///x/', '{}', '', NULL, 1, 1, 1)`,
		} {
			_, err := db.Exec(statement)
			require.NoError(t, err, statement)
		}
		read := func(query string) (ids []string, secrets [][]byte) {
			rows, err := db.Query(query)
			require.NoError(t, err)
			defer rows.Close()
			for rows.Next() {
				var id string
				var secret []byte
				require.NoError(t, rows.Scan(&id, &secret))
				ids, secrets = append(ids, id), append(secrets, secret)
			}
			require.NoError(t, rows.Err())
			return ids, secrets
		}
		for range 2 {
			_, err = migrations.Apply(t.Context(), dialect, db)
			require.NoError(t, err)
			ids, secrets := read(`SELECT config_id, sealed FROM storage_secrets`)
			require.Equal(t, []string{"with"}, ids)
			require.Equal(t, [][]byte{{0, 0xff}}, secrets)
			require.NoError(t, migrations.Rollback(t.Context(), dialect, db, 1))
			ids, secrets = read(`SELECT id, sealed_secret FROM storage_configs ORDER BY id`)
			require.Equal(t, []string{"with", "without"}, ids)
			require.Equal(t, [][]byte{{0, 0xff}, nil}, secrets)
		}
	})
}
