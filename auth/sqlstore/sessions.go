package sqlstore

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/lifetimes"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

const (
	sessionColumns = `t.id, t.user_id, t.org_id, t.client_id, t.parent_id, t.method, t.issuer, t.subject, t.provider_session,
	t.created_at, t.expires_at, t.revoked_at`
	selectSession = "SELECT " + sessionColumns + " FROM token_sessions t"
)

func scanSession(r sqldb.Row) (session.Session, error) { return scanSessionAnd(r) }

// scanSessionAnd scans a row of sessionColumns after other columns.
func scanSessionAnd(r sqldb.Row, before ...any) (s session.Session, err error) {
	var id, user, org, parent string
	err = r.Scan(append(before, &id, &user, &org, &s.Client, &parent, &s.Method, &s.Issuer, &s.Subject, &s.ProviderSession,
		sqldb.Time(&s.CreatedAt), sqldb.Time(&s.ExpiresAt), sqldb.Time(&s.RevokedAt))...)
	if err != nil {
		return s, err
	}
	if s.ID, err = uuid.Parse(id); err != nil {
		return s, err
	}
	if s.User, err = uuid.Parse(user); err != nil {
		return s, err
	}
	if s.Org, err = optionalID(org); err != nil {
		return s, err
	}
	s.Parent, err = optionalID(parent)
	return s, err
}

// optionalID parses the result of idOrEmpty.
func optionalID(text string) (uuid.UUID, error) {
	if text == "" {
		return uuid.Nil, nil
	}
	return uuid.Parse(text)
}

// idOrEmpty returns the text of an id, or "" for [uuid.Nil].
func idOrEmpty(id uuid.UUID) string {
	if id == uuid.Nil {
		return ""
	}
	return id.String()
}

// CreateSession implements [session.Sessions].
func (s *Store) CreateSession(ctx context.Context, n session.Session) (session.Session, error) {
	if n.ID == uuid.Nil {
		n.ID = uuid.New()
	}
	n.CreatedAt = s.db.Clock()
	err := s.db.Transact(ctx, func(tx sqldb.Session) error {
		bound, err := lifetimes.FindClient(ctx, tx, n.Client)
		if err != nil {
			return err
		}
		n.ExpiresAt = bound.Cut(n.ExpiresAt)
		if err := lifetimes.Bind(ctx, tx, lifetimes.Session, n.ID.String(), bound); err != nil {
			return err
		}
		return tx.Insert(ctx, "id", `INSERT INTO token_sessions (id, user_id, org_id, client_id, parent_id, method, issuer, subject,
			provider_session, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			n.ID.String(), n.User.String(), idOrEmpty(n.Org), n.Client, idOrEmpty(n.Parent), n.Method, n.Issuer, n.Subject, n.ProviderSession,
			sqldb.Micros(n.CreatedAt), sqldb.Micros(n.ExpiresAt))
	})
	if err != nil {
		return n, missing(err)
	}
	// Transactions of sessions that begin at once do not see each other. After its commit,
	// the last of them counts all, even if its client has gone.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endingTime)
	defer cancel()
	stored, err := countSessions(ctx, s.db.Read(), n.User, n.Client)
	if err == nil && stored > s.limits.sessions {
		err = s.endOldest(ctx, n.User, n.Client, n.ID)
	}
	return n, missing(err)
}

// Session implements [session.Sessions].
func (s *Store) Session(ctx context.Context, id uuid.UUID) (session.Session, error) {
	found, err := sqldb.One(ctx, s.db.Read(), scanSession, selectSession+" WHERE t.id = ?", id.String())
	return found, missing(err)
}

// Live returns a session, or the zero value if it has ended, was revoked or does not
// exist.
func (s *Store) Live(ctx context.Context, id uuid.UUID) (auth.LiveSession, error) {
	found, err := s.Session(ctx, id)
	if errors.Is(err, session.ErrNotFound) || err == nil && !found.Live(s.db.Clock()) {
		return auth.LiveSession{}, nil
	}
	return auth.LiveSession{Until: found.ExpiresAt, Org: found.Org, Program: found.Program()}, err
}

// RevokeSession implements [session.Sessions].
func (s *Store) RevokeSession(ctx context.Context, id uuid.UUID) error {
	_, err := s.revoke(ctx, "id = ?", id.String())
	return err
}

// RevokeFamily implements [session.Sessions].
func (s *Store) RevokeFamily(ctx context.Context, id uuid.UUID) error {
	_, err := s.revoke(ctx, "(id = ? OR parent_id = ?)", id.String(), id.String())
	return err
}

// RevokeUser implements [session.Sessions].
func (s *Store) RevokeUser(ctx context.Context, user, except uuid.UUID) error {
	_, err := s.revoke(ctx, "user_id = ? AND id <> ?", user.String(), except.String())
	return err
}

// RevokeProvider implements [session.Sessions].
func (s *Store) RevokeProvider(ctx context.Context, org uuid.UUID, issuer, subject, providerSession string) (int64, error) {
	switch {
	case providerSession != "" && subject != "":
		// A session without an id of the provider's may be the one that ends.
		return s.revoke(ctx, "org_id = ? AND issuer = ? AND subject = ? AND provider_session IN (?, '')",
			org.String(), issuer, subject, providerSession)
	case providerSession != "":
		return s.revoke(ctx, "org_id = ? AND issuer = ? AND provider_session = ?", org.String(), issuer, providerSession)
	}
	return s.revoke(ctx, "org_id = ? AND issuer = ? AND subject = ?", org.String(), issuer, subject)
}

// revoke revokes the sessions that meet a condition and raises the epoch if there were
// any.
func (s *Store) revoke(ctx context.Context, condition string, args ...any) (revoked int64, err error) {
	now := sqldb.Micros(s.db.Clock())
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		revoked, err = tx.Exec(ctx, "UPDATE token_sessions SET revoked_at = ? WHERE revoked_at IS NULL AND "+condition,
			append([]any{now}, args...)...)
		if err == nil && revoked == 0 {
			err = sqldb.ErrUnchanged
		}
		return err
	})
	return revoked, err
}
