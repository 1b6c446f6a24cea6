package identity

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

const (
	selectSSOConfig = `SELECT c.org_id, c.issuer, c.client_id, c.default_role, c.max_role, c.role_claim, c.attribute_claims, c.version,
	c.created_at, c.updated_at FROM sso_configs c`
	ofLiveOrg = " WHERE c.org_id = ? AND "
)

func scanSSOConfig(r sqldb.Row) (c catalog.SSOConfig, err error) {
	err = r.Scan(&c.Org, &c.Issuer, &c.ClientID, &c.DefaultRole, &c.MaxRole, &c.RoleClaim, sqldb.JSON(&c.AttributeClaims), &c.Version,
		sqldb.Time(&c.CreatedAt), sqldb.Time(&c.UpdatedAt))
	return c, err
}

func ssoConfig(ctx context.Context, s sqldb.Session, org catalog.OrgID) (catalog.SSOConfig, error) {
	return sqldb.One(ctx, s, scanSSOConfig, selectSSOConfig+ofLiveOrg+sqldb.LiveOrg("c.org_id"), org)
}

// SSOConfig implements [catalog.SingleSignOn].
func (s *Store) SSOConfig(ctx context.Context, org catalog.OrgID) (catalog.SSOConfig, error) {
	return ssoConfig(ctx, s.db.Read(), org)
}

// SSOConfigsByClient implements [catalog.SingleSignOn].
func (s *Store) SSOConfigsByClient(ctx context.Context, issuer, clientID string) ([]catalog.SSOConfig, error) {
	return sqldb.List(ctx, s.db.Read(), scanSSOConfig, selectSSOConfig+" WHERE c.issuer = ? AND c.client_id = ? AND "+
		sqldb.LiveOrg("c.org_id")+" ORDER BY c.org_id", issuer, clientID)
}

// SSOSecret implements [catalog.SingleSignOn].
func (s *Store) SSOSecret(ctx context.Context, org catalog.OrgID) ([]byte, error) {
	return sqldb.One(ctx, s.db.Read(), sqldb.Value[[]byte], "SELECT c.sealed_secret FROM sso_configs c"+ofLiveOrg+
		sqldb.LiveOrg("c.org_id"), org)
}

// PutSSOConfig implements [catalog.SingleSignOn].
func (s *Store) PutSSOConfig(ctx context.Context, org catalog.OrgID, n catalog.NewSSOConfig) (stored catalog.SSOConfig, err error) {
	if err := n.Validate(); err != nil {
		return stored, err
	}
	if n.AttributeClaims == nil {
		n.AttributeClaims = map[string]string{}
	}
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		if err := sqldb.RequireOrg(ctx, tx, org); err != nil {
			return err
		}
		if err := s.upsertSSOConfig(ctx, tx, org, n); err != nil {
			return err
		}
		if err := s.replaceDomains(ctx, tx, org, n.Domains); err != nil {
			return err
		}
		stored, err = ssoConfig(ctx, tx, org)
		return err
	})
	return stored, err
}

func (s *Store) upsertSSOConfig(ctx context.Context, tx sqldb.Session, org catalog.OrgID, n catalog.NewSSOConfig) error {
	before, err := ssoConfig(ctx, tx, org)
	if err != nil && !errors.Is(err, catalog.ErrNotFound) {
		return err
	}
	if len(n.SealedSecret) == 0 && before.Issuer != n.Issuer { // also if there is none before
		return catalog.FieldErrors{{Field: "client_secret", Message: "must be given for a new issuer"}}
	}
	now := sqldb.Micros(s.db.Clock())
	if before.Org == "" {
		return tx.Insert(ctx, "org_id", `INSERT INTO sso_configs (org_id, issuer, client_id, sealed_secret, default_role, max_role, role_claim,
			attribute_claims, version, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?)`, org, n.Issuer, n.ClientID,
			n.SealedSecret, n.DefaultRole, n.MaxRole, n.RoleClaim, sqldb.JSONText(n.AttributeClaims), now, now)
	}
	if len(n.SealedSecret) > 0 {
		if _, err := tx.Exec(ctx, "UPDATE sso_configs SET sealed_secret = ? WHERE org_id = ?", n.SealedSecret, org); err != nil {
			return err
		}
	}
	if before.Issuer != n.Issuer || before.ClientID != n.ClientID {
		if err := s.endSignIns(ctx, tx, org, ""); err != nil {
			return err
		}
	}
	_, err = tx.Exec(ctx, `UPDATE sso_configs SET issuer = ?, client_id = ?, default_role = ?, max_role = ?, role_claim = ?,
		attribute_claims = ?, version = version + 1, updated_at = ? WHERE org_id = ?`, n.Issuer, n.ClientID, n.DefaultRole, n.MaxRole,
		n.RoleClaim, sqldb.JSONText(n.AttributeClaims), now, org)
	return err
}

// endSignIns revokes the sessions that began at the provider of an organisation, or only
// those of people with an address of a domain.
func (s *Store) endSignIns(ctx context.Context, tx sqldb.Session, org catalog.OrgID, domain string) error {
	statement := "UPDATE token_sessions SET revoked_at = ? WHERE org_id = ? AND method = 'sso' AND revoked_at IS NULL"
	args := []any{sqldb.Micros(s.db.Clock()), org}
	if domain != "" { // its characters have no meaning in a pattern
		statement += " AND EXISTS (SELECT 1 FROM users u WHERE u.id = token_sessions.user_id AND u.email LIKE ?)"
		args = append(args, "%@"+domain)
	}
	_, err := tx.Exec(ctx, statement, args...)
	return err
}

// replaceDomains adds and removes domains, so that they are the listed ones.
func (s *Store) replaceDomains(ctx context.Context, tx sqldb.Session, org catalog.OrgID, listed []string) error {
	before, err := emailDomains(ctx, tx, org)
	if err != nil {
		return err
	}
	remaining := map[string]bool{}
	for _, domain := range listed {
		remaining[domain] = true
	}
	for _, d := range before {
		if remaining[d.Domain] {
			delete(remaining, d.Domain)
			continue
		}
		if _, err := tx.Exec(ctx, "DELETE FROM email_domains WHERE org_id = ? AND domain = ?", org, d.Domain); err != nil {
			return err
		}
		if !d.Verified() {
			continue
		}
		if err := s.endSignIns(ctx, tx, org, d.Domain); err != nil {
			return err
		}
	}
	for _, domain := range listed {
		if !remaining[domain] {
			continue
		}
		taken, err := sqldb.One(ctx, tx, sqldb.Value[int64], "SELECT COUNT(*) FROM email_domains d WHERE d.domain = ? AND d.method <> ''", domain)
		if err == nil && taken > 0 {
			err = catalog.ErrDomainTaken
		}
		if err == nil {
			err = tx.Insert(ctx, "domains", `INSERT INTO email_domains (org_id, domain, challenge, method, created_at) VALUES (?, ?, ?, '', ?)`,
				org, domain, rand.Text(), sqldb.Micros(s.db.Clock()))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// DeleteSSOConfig implements [catalog.SingleSignOn].
func (s *Store) DeleteSSOConfig(ctx context.Context, org catalog.OrgID) error {
	return s.db.Change(ctx, func(tx sqldb.Session) error {
		if _, err := ssoConfig(ctx, tx, org); err != nil {
			return err
		}
		if err := s.endSignIns(ctx, tx, org, ""); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "DELETE FROM email_domains WHERE org_id = ?", org); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "DELETE FROM sso_configs WHERE org_id = ?", org)
		return err
	})
}
