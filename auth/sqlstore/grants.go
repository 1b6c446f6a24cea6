package sqlstore

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/lifetimes"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// grantOfSession is a grant with its session.
type grantOfSession struct {
	grant   session.Grant
	session session.Session
}

func scanGrant(r sqldb.Row) (f grantOfSession, err error) {
	g := &f.grant
	var id, request string
	f.session, err = scanSessionAnd(r, &g.Kind, &id, &g.Client, &request, sqldb.Time(&g.CreatedAt), sqldb.Time(&g.ExpiresAt),
		sqldb.Time(&g.UsedAt))
	if err != nil {
		return f, err
	}
	g.Request = json.RawMessage(request)
	g.Session, err = uuid.Parse(id)
	return f, err
}

// CreateGrant implements [session.Grants].
func (s *Store) CreateGrant(ctx context.Context, hash []byte, g session.Grant) error {
	err := s.db.Transact(ctx, func(tx sqldb.Session) error { return s.insertGrant(ctx, tx, hash, g) })
	if errors.Is(err, errTooManyGrants) {
		return s.exhausted(ctx, g.Session)
	}
	return err
}

// insertGrant stores a grant unless its session does not exist. It returns
// errTooManyGrants.
func (s *Store) insertGrant(ctx context.Context, tx sqldb.Session, hash []byte, g session.Grant) error {
	n, err := tx.Exec(ctx, `INSERT INTO oauth_grants (hash, kind, session_id, client_id, request, created_at, expires_at)
		SELECT ?, ?, t.id, ?, ?, ?, ? FROM token_sessions t WHERE t.id = ?`, hash, string(g.Kind), g.Client, string(g.Request),
		sqldb.Micros(s.db.Clock()), sqldb.Micros(g.ExpiresAt), g.Session.String())
	if err == nil && n == 0 {
		err = session.ErrNotFound
	}
	if err == nil {
		err = s.checkGrants(ctx, tx, g.Session)
	}
	return err
}

// Grant implements [session.Grants].
func (s *Store) Grant(ctx context.Context, kind session.GrantKind, hash []byte) (session.Grant, session.Session, error) {
	f, err := s.grant(ctx, s.db.Read(), kind, hash)
	if err != nil {
		return session.Grant{}, session.Session{}, err
	}
	if !f.grant.UsedAt.IsZero() {
		return f.grant, f.session, s.reused(ctx, f.grant.Session)
	}
	return f.grant, f.session, nil
}

// grant returns an unexpired grant of a live session.
func (s *Store) grant(ctx context.Context, db sqldb.Session, kind session.GrantKind, hash []byte) (grantOfSession, error) {
	now := sqldb.Micros(s.db.Clock())
	f, err := sqldb.One(ctx, db, scanGrant, `SELECT g.kind, g.session_id, g.client_id, g.request, g.created_at, g.expires_at, g.used_at, `+
		sessionColumns+` FROM oauth_grants g JOIN token_sessions t ON t.id = g.session_id
		WHERE g.hash = ? AND g.kind = ? AND g.expires_at > ? AND t.revoked_at IS NULL AND t.expires_at > ?`,
		hash, string(kind), now, now)
	return f, missing(err)
}

// reused revokes the session of a grant that was used twice, and returns the error for
// the caller.
func (s *Store) reused(ctx context.Context, id uuid.UUID) error {
	if err := s.RevokeSession(ctx, id); err != nil {
		return err
	}
	return session.ErrReused
}

// ExchangeGrant implements [session.Grants].
func (s *Store) ExchangeGrant(ctx context.Context, kind session.GrantKind, hash, successorHash []byte, successor session.Grant) error {
	var found grantOfSession
	err := s.db.Transact(ctx, func(tx sqldb.Session) (err error) {
		if found, err = s.grant(ctx, tx, kind, hash); err != nil {
			return err
		}
		// The condition decides between concurrent exchanges: the second one waits for the
		// first one to commit.
		n, err := tx.Exec(ctx, "UPDATE oauth_grants SET used_at = ? WHERE hash = ? AND used_at IS NULL", sqldb.Micros(s.db.Clock()), hash)
		switch {
		case err != nil:
			return err
		case n == 0:
			return session.ErrReused
		case successor.Session != found.grant.Session:
			return catalog.FieldErrors{{Field: "session", Message: "must be that of the grant"}}
		}
		if err := s.bindSession(ctx, tx, found.session); err != nil {
			return err
		}
		return s.insertGrant(ctx, tx, successorHash, successor)
	})
	switch {
	case errors.Is(err, session.ErrReused):
		return s.reused(ctx, found.grant.Session)
	case errors.Is(err, errTooManyGrants):
		return s.exhausted(ctx, found.grant.Session)
	}
	return err
}

// bindSession binds a session to what its client and the client's secret are bound to. The
// secret may be younger than the session, and whoever exchanges a grant knows it.
func (s *Store) bindSession(ctx context.Context, tx sqldb.Session, of session.Session) error {
	bound, err := lifetimes.FindClient(ctx, tx, of.Client)
	if err != nil || bound.Free() {
		return err
	}
	if bound.Check(s.db.Clock()) != nil {
		return session.ErrNotFound
	}
	if err := lifetimes.Bind(ctx, tx, lifetimes.Session, of.ID.String(), bound); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "UPDATE token_sessions SET expires_at = ? WHERE id = ?", sqldb.Micros(bound.Cut(of.ExpiresAt)), of.ID.String())
	return err
}
