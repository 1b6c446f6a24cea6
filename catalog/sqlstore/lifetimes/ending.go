package lifetimes

import (
	"context"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// stored lists the credentials with an end of their own, and the condition that they have not
// ended another way.
var stored = []struct {
	kind        Kind
	table, open string
}{
	{Key, "api_keys", "revoked_at IS NULL"},
	{Session, "token_sessions", "revoked_at IS NULL"},
	{Invitation, "invitations", "revoked_at IS NULL AND accepted_at IS NULL"},
}

// End revokes what is bound to revoked keys of an organisation. Every transaction that revokes
// keys calls it afterwards.
func End(ctx context.Context, tx sqldb.Session, now time.Time, org catalog.OrgID) error {
	for _, s := range stored {
		_, err := tx.Exec(ctx, "UPDATE "+s.table+" SET revoked_at = ? WHERE "+s.open+` AND id IN (SELECT b.id FROM credential_bindings b
			JOIN api_keys bk ON bk.id = b.key_id WHERE b.kind = ? AND bk.org_id = ? AND bk.revoked_at IS NOT NULL)`,
			sqldb.Micros(now), string(s.kind), org)
		if err != nil {
			return err
		}
	}
	return nil
}

// HandOver binds what is bound to a rotated key to its successor instead, and to what the
// successor is bound to. None of it expires later than the successor.
func HandOver(ctx context.Context, tx sqldb.Session, old catalog.KeyID, successor catalog.APIKey, b Bound) error {
	from := old
	for _, key := range append([]catalog.KeyID{successor.ID}, b.keys...) {
		_, err := tx.Exec(ctx, `INSERT INTO credential_bindings (kind, id, key_id) SELECT b.kind, b.id, ? FROM credential_bindings b
			WHERE b.key_id = ? AND NOT (b.kind = ? AND b.id = ?) ON CONFLICT DO NOTHING`, key, from, string(Key), key)
		if err != nil {
			return err
		}
		if key == successor.ID {
			if _, err := tx.Exec(ctx, "DELETE FROM credential_bindings WHERE key_id = ?", old); err != nil {
				return err
			}
			from = successor.ID
		}
	}
	for _, s := range stored {
		_, err := tx.Exec(ctx, "UPDATE "+s.table+` SET expires_at = ? WHERE expires_at > ? AND id IN (SELECT b.id FROM credential_bindings b
			WHERE b.kind = ? AND b.key_id = ?)`, sqldb.Micros(successor.ExpiresAt), sqldb.Micros(successor.ExpiresAt), string(s.kind),
			successor.ID)
		if err != nil {
			return err
		}
	}
	return nil
}

// List returns what ends with a key, at most [catalog.MaxEndings].
func List(ctx context.Context, s sqldb.Session, now time.Time, key catalog.KeyID) ([]catalog.Ending, error) {
	scan := func(r sqldb.Row) (e catalog.Ending, err error) {
		err = r.Scan(&e.Kind, &e.ID, &e.Name)
		return e, err
	}
	at := sqldb.Micros(now)
	return sqldb.List(ctx, s, scan, `SELECT e.kind, e.id, e.name FROM (
		SELECT 'api_key' AS kind, k.id AS id, k.name AS name FROM credential_bindings b JOIN api_keys k ON k.id = b.id
			WHERE b.kind = 'api_key' AND b.key_id = ? AND k.revoked_at IS NULL AND k.expires_at > ?
		UNION ALL SELECT CASE WHEN c.user_id = '' THEN 'client' ELSE 'service_account' END,
			CASE WHEN c.user_id = '' THEN c.id ELSE c.user_id END, c.name FROM credential_bindings b JOIN oauth_clients c ON c.id = b.id
			WHERE b.kind = 'client' AND b.key_id = ?
		UNION ALL SELECT 'client_secret', c.id, c.name FROM credential_bindings b JOIN oauth_clients c ON c.id = b.id
			WHERE b.kind = 'client_secret' AND b.key_id = ? AND NOT EXISTS (SELECT 1 FROM credential_bindings o
			WHERE o.kind = 'client' AND o.id = b.id AND o.key_id = b.key_id)
		UNION ALL SELECT 'invitation', i.id, i.email FROM credential_bindings b JOIN invitations i ON i.id = b.id
			WHERE b.kind = 'invitation' AND b.key_id = ? AND i.revoked_at IS NULL AND i.accepted_at IS NULL AND i.expires_at > ?
		) e ORDER BY e.kind, e.name, e.id LIMIT ?`, key, at, key, key, key, at, catalog.MaxEndings)
}

// TakeUnbound returns the number of usable credentials of earlier releases for each
// organisation, and forgets them: a second call returns none.
func TakeUnbound(ctx context.Context, tx sqldb.Session, now time.Time) ([]catalog.UnboundCredentials, error) {
	scan := func(r sqldb.Row) (u catalog.UnboundCredentials, err error) {
		err = r.Scan(&u.Org, &u.Keys, &u.ServiceAccounts, &u.Clients)
		return u, err
	}
	// The lock of the first statement lets one of several replicas count.
	if _, err := tx.Exec(ctx, "UPDATE unbound_credentials SET kind = kind"); err != nil {
		return nil, err
	}
	found, err := sqldb.List(ctx, tx, scan, `SELECT u.org_id, SUM(CASE WHEN k.id IS NOT NULL THEN 1 ELSE 0 END),
		SUM(CASE WHEN c.user_id <> '' THEN 1 ELSE 0 END), SUM(CASE WHEN c.user_id = '' THEN 1 ELSE 0 END) FROM unbound_credentials u
		LEFT JOIN api_keys k ON u.kind = 'api_key' AND k.id = u.id AND k.revoked_at IS NULL AND k.expires_at > ?
		LEFT JOIN oauth_clients c ON u.kind = 'client' AND c.id = u.id
		WHERE (k.id IS NOT NULL OR c.id IS NOT NULL) AND `+sqldb.LiveOrg("u.org_id")+" GROUP BY u.org_id ORDER BY u.org_id", sqldb.Micros(now))
	if err == nil {
		_, err = tx.Exec(ctx, "DELETE FROM unbound_credentials")
	}
	return found, err
}
