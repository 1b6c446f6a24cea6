package identity

import (
	"context"
	"errors"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

const selectEmailDomain = `SELECT d.org_id, d.domain, d.challenge, d.method, d.verified_at, d.checked_at, d.failed_at, d.created_at
	FROM email_domains d`

func scanEmailDomain(r sqldb.Row) (d catalog.EmailDomain, err error) {
	err = r.Scan(&d.Org, &d.Domain, &d.Challenge, &d.Method, sqldb.Time(&d.VerifiedAt), sqldb.Time(&d.CheckedAt), sqldb.Time(&d.FailedAt),
		sqldb.Time(&d.CreatedAt))
	return d, err
}

func emailDomains(ctx context.Context, s sqldb.Session, org catalog.OrgID) ([]catalog.EmailDomain, error) {
	return sqldb.List(ctx, s, scanEmailDomain, selectEmailDomain+" WHERE d.org_id = ? AND "+sqldb.LiveOrg("d.org_id")+" ORDER BY d.domain",
		org)
}

func emailDomain(ctx context.Context, s sqldb.Session, org catalog.OrgID, domain string) (catalog.EmailDomain, error) {
	return sqldb.One(ctx, s, scanEmailDomain, selectEmailDomain+" WHERE d.org_id = ? AND d.domain = ? AND "+sqldb.LiveOrg("d.org_id"),
		org, domain)
}

// EmailDomains implements [catalog.SingleSignOn].
func (s *Store) EmailDomains(ctx context.Context, org catalog.OrgID) ([]catalog.EmailDomain, error) {
	return emailDomains(ctx, s.db.Read(), org)
}

// VerifiedDomain implements [catalog.SingleSignOn].
func (s *Store) VerifiedDomain(ctx context.Context, domain string) (catalog.EmailDomain, error) {
	return sqldb.One(ctx, s.db.Read(), scanEmailDomain, selectEmailDomain+" WHERE d.domain = ? AND d.method <> '' AND "+
		sqldb.LiveOrg("d.org_id"), domain)
}

// VerifyEmailDomain implements [catalog.SingleSignOn].
func (s *Store) VerifyEmailDomain(ctx context.Context, org catalog.OrgID, domain string,
	method catalog.DomainMethod) (verified catalog.EmailDomain, err error) {
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		before, err := emailDomain(ctx, tx, org, domain)
		if err != nil {
			return err
		}
		now := s.db.Clock()
		after := before
		after.FailedAt = time.Time{}
		if before.VerifiedAt.IsZero() {
			after.VerifiedAt = now
		}
		if before.Method != catalog.DomainByOperator {
			after.Method = method
		}
		if method == catalog.DomainByDNS {
			after.CheckedAt = now
		}
		if err := updateDomain(ctx, tx, after); err != nil {
			return err
		}
		verified, err = emailDomain(ctx, tx, org, domain)
		return err
	})
	return verified, err
}

// RecordDomainCheck implements [catalog.SingleSignOn].
func (s *Store) RecordDomainCheck(ctx context.Context, org catalog.OrgID, domain string, found bool,
	grace time.Duration) (checked catalog.EmailDomain, err error) {
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		d, err := emailDomain(ctx, tx, org, domain)
		if err != nil {
			return err
		}
		now := s.db.Clock()
		d.CheckedAt = now
		switch {
		case found:
			d.FailedAt = time.Time{}
		case d.FailedAt.IsZero():
			d.FailedAt = now
		case d.Lapsed(now, grace):
			d.Method, d.VerifiedAt = "", time.Time{}
			if err := s.endSignIns(ctx, tx, org, domain); err != nil {
				return err
			}
		}
		checked = d
		return updateDomain(ctx, tx, d)
	})
	return checked, err
}

func updateDomain(ctx context.Context, tx sqldb.Session, d catalog.EmailDomain) error {
	_, err := tx.Exec(ctx, `UPDATE email_domains SET method = ?, verified_at = ?, checked_at = ?, failed_at = ?
		WHERE org_id = ? AND domain = ?`, d.Method,
		sqldb.MicrosOrNull(d.VerifiedAt), sqldb.MicrosOrNull(d.CheckedAt), sqldb.MicrosOrNull(d.FailedAt), d.Org, d.Domain)
	if errors.Is(err, sqldb.ErrUnique) {
		return catalog.ErrDomainTaken
	}
	return err
}

// DomainsToCheck implements [catalog.SingleSignOn].
func (s *Store) DomainsToCheck(ctx context.Context, since time.Time, limit int) ([]catalog.EmailDomain, error) {
	return sqldb.List(ctx, s.db.Read(), scanEmailDomain, selectEmailDomain+
		" WHERE d.method = 'dns' AND COALESCE(d.checked_at, 0) < ? AND "+sqldb.LiveOrg("d.org_id")+
		" ORDER BY d.checked_at, d.org_id, d.domain LIMIT ?", sqldb.Micros(since), limit)
}
