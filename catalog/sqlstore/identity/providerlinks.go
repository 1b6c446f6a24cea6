package identity

import (
	"context"
	"strings"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

const selectLink = `SELECT l.org_id, l.provider, l.user_id, l.subject, l.scopes, l.broken_at, l.version, l.created_at, l.updated_at
	FROM provider_links l`

func scanLink(r sqldb.Row) (l catalog.ProviderLink, err error) {
	var scopes string
	err = r.Scan(&l.Org, &l.Provider, &l.User, &l.Subject, &scopes, sqldb.Time(&l.BrokenAt), &l.Version,
		sqldb.Time(&l.CreatedAt), sqldb.Time(&l.UpdatedAt))
	l.Scopes = strings.Fields(scopes)
	return l, err
}

// ofLink is the condition that a row of provider_links has a key.
const ofLink = "org_id = ? AND provider = ? AND user_id = ?"

func link(ctx context.Context, s sqldb.Session, k catalog.ProviderLinkKey) (catalog.ProviderLink, error) {
	return sqldb.One(ctx, s, scanLink, selectLink+" WHERE "+ofLink+" AND "+sqldb.LiveOrg("l.org_id"), k.Org, k.Provider, k.User)
}

// PutProviderLink implements [catalog.ProviderLinks].
func (s *Store) PutProviderLink(ctx context.Context, n catalog.NewProviderLink) (stored catalog.ProviderLink, err error) {
	if err := n.Validate(); err != nil {
		return stored, err
	}
	now := sqldb.Micros(s.db.Clock())
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		current, err := app(ctx, tx, n.Org, n.Provider)
		if err != nil {
			return err
		}
		if err := sqldb.Compare(n.AppVersion, current.Version); err != nil {
			return err
		}
		// A reference refuses a user who is not a member.
		_, err = tx.Exec(ctx, `INSERT INTO provider_links
			(org_id, provider, user_id, subject, scopes, sealed_token, version, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?) ON CONFLICT (org_id, provider, user_id) DO UPDATE SET subject = excluded.subject,
			scopes = excluded.scopes, sealed_token = excluded.sealed_token, broken_at = NULL, claimed_until = NULL,
			version = provider_links.version + 1, updated_at = excluded.updated_at`,
			n.Org, n.Provider, n.User, n.Subject, strings.Join(n.Scopes, " "), n.SealedToken, now, now)
		if err != nil {
			return err
		}
		stored, err = link(ctx, tx, n.ProviderLinkKey)
		return err
	})
	return stored, err
}

// ProviderLinks implements [catalog.ProviderLinks].
func (s *Store) ProviderLinks(ctx context.Context, org catalog.OrgID, user catalog.UserID) ([]catalog.ProviderLink, error) {
	return sqldb.List(ctx, s.db.Read(), scanLink, selectLink+" WHERE l.org_id = ? AND l.user_id = ? AND "+sqldb.LiveOrg("l.org_id")+
		" ORDER BY l.provider", org, user)
}

// DeleteProviderLink implements [catalog.ProviderLinks].
func (s *Store) DeleteProviderLink(ctx context.Context, k catalog.ProviderLinkKey) error {
	return s.db.Change(ctx, func(tx sqldb.Session) error {
		if _, err := link(ctx, tx, k); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "DELETE FROM provider_links WHERE "+ofLink, k.Org, k.Provider, k.User)
		return err
	})
}

// ProviderLinkToken implements [catalog.ProviderLinks].
func (s *Store) ProviderLinkToken(ctx context.Context, k catalog.ProviderLinkKey) (catalog.ProviderLinkToken, error) {
	return sqldb.One(ctx, s.db.Read(), func(r sqldb.Row) (t catalog.ProviderLinkToken, err error) {
		var broken time.Time
		err = r.Scan(&t.Sealed, &t.Version, sqldb.Time(&broken), sqldb.Time(&t.ClaimedUntil))
		t.Broken = !broken.IsZero()
		return t, err
	}, "SELECT l.sealed_token, l.version, l.broken_at, l.claimed_until FROM provider_links l WHERE "+ofLink+
		" AND "+sqldb.LiveOrg("l.org_id"), k.Org, k.Provider, k.User)
}

// ClaimProviderLink implements [catalog.ProviderLinks].
func (s *Store) ClaimProviderLink(ctx context.Context, k catalog.ProviderLinkKey, expectedVersion int64,
	until time.Time) (version int64, err error) {
	err = s.replaceLink(ctx, k, expectedVersion, "claimed_until = ?", sqldb.Micros(until))
	return expectedVersion + 1, err
}

// RenewProviderLink implements [catalog.ProviderLinks].
func (s *Store) RenewProviderLink(ctx context.Context, k catalog.ProviderLinkKey, expectedVersion int64, sealed []byte, broken bool) error {
	set, args := "claimed_until = NULL, updated_at = ?", []any{sqldb.Micros(s.db.Clock())}
	if len(sealed) > 0 {
		set, args = set+", sealed_token = ?", append(args, sealed)
	}
	if broken {
		set, args = set+", broken_at = ?", append(args, sqldb.Micros(s.db.Clock()))
	}
	return s.replaceLink(ctx, k, expectedVersion, set, args...)
}

// replaceLink changes columns of a link at a version.
func (s *Store) replaceLink(ctx context.Context, k catalog.ProviderLinkKey, expectedVersion int64, set string, args ...any) error {
	return s.db.Transact(ctx, func(tx sqldb.Session) error {
		n, err := tx.Exec(ctx, "UPDATE provider_links SET version = version + 1, "+set+" WHERE "+ofLink+" AND version = ?",
			append(args, k.Org, k.Provider, k.User, expectedVersion)...)
		if err != nil || n == 1 {
			return err
		}
		current, err := link(ctx, tx, k)
		if err != nil {
			return err
		}
		return &catalog.VersionConflictError{Current: current.Version}
	})
}
