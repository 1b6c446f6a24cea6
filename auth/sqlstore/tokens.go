package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// CreateToken implements [session.OneTimeTokens].
func (s *Store) CreateToken(ctx context.Context, purpose, subject string, data any, life time.Duration) (string, error) {
	text, err := json.Marshal(data)
	if err != nil {
		return "", fmt.Errorf("encode data of a token: %w", err)
	}
	token, now := session.NewSecret(), s.db.Clock()
	err = s.db.Transact(ctx, func(tx sqldb.Session) error {
		return tx.Insert(ctx, "hash", `INSERT INTO one_time_tokens (hash, purpose, subject, data, created_at, expires_at)
			VALUES (?, ?, ?, ?, ?, ?)`, session.Hash(token), purpose, subject, string(text), sqldb.Micros(now), sqldb.Micros(now.Add(life)))
	})
	return token, err
}

const tokenCondition = " FROM one_time_tokens WHERE hash = ? AND purpose = ? AND expires_at > ?"

// ReadToken implements [session.OneTimeTokens].
func (s *Store) ReadToken(ctx context.Context, purpose, token string, data any) error {
	text, err := sqldb.One(ctx, s.db.Read(), sqldb.Value[string], "SELECT data"+tokenCondition,
		session.Hash(token), purpose, sqldb.Micros(s.db.Clock()))
	if err != nil {
		return missing(err)
	}
	return decodeData(text, data)
}

// TakeToken implements [session.OneTimeTokens].
func (s *Store) TakeToken(ctx context.Context, purpose, token string, data any) error {
	var text string
	err := s.db.Transact(ctx, func(tx sqldb.Session) (err error) {
		text, err = sqldb.One(ctx, tx, sqldb.Value[string], "DELETE"+tokenCondition+" RETURNING data",
			session.Hash(token), purpose, sqldb.Micros(s.db.Clock()))
		return err
	})
	if err != nil {
		return missing(err)
	}
	return decodeData(text, data)
}

func decodeData(text string, data any) error {
	if err := json.Unmarshal([]byte(text), data); err != nil {
		return fmt.Errorf("decode data of a token: %w", err)
	}
	return nil
}

// WithdrawTokens implements [session.OneTimeTokens].
func (s *Store) WithdrawTokens(ctx context.Context, purpose, subject string) error {
	return s.db.Transact(ctx, func(tx sqldb.Session) error {
		_, err := tx.Exec(ctx, "DELETE FROM one_time_tokens WHERE purpose = ? AND subject = ?", purpose, subject)
		return err
	})
}

// CreateBrowser implements [session.Browsers].
func (s *Store) CreateBrowser(ctx context.Context, id uuid.UUID) (string, error) {
	cookie, now := session.NewSecret(), s.db.Clock()
	err := s.db.Transact(ctx, func(tx sqldb.Session) error {
		n, err := tx.Exec(ctx, `INSERT INTO browser_sessions (hash, session_id, created_at, expires_at)
			SELECT ?, t.id, ?, t.expires_at FROM token_sessions t WHERE t.id = ?`, session.Hash(cookie), sqldb.Micros(now), id.String())
		if err == nil && n == 0 {
			err = session.ErrNotFound
		}
		return err
	})
	return cookie, err
}

// Browser implements [session.Browsers].
func (s *Store) Browser(ctx context.Context, cookie string) (session.Session, error) {
	found, err := sqldb.One(ctx, s.db.Read(), scanSession, selectSession+
		" JOIN browser_sessions b ON b.session_id = t.id WHERE b.hash = ? AND t.revoked_at IS NULL AND t.expires_at > ?",
		session.Hash(cookie), sqldb.Micros(s.db.Clock()))
	return found, missing(err)
}

// ReplaceBrowser implements [session.Browsers].
func (s *Store) ReplaceBrowser(ctx context.Context, cookie string, by session.Session) error {
	older, err := s.Browser(ctx, cookie)
	if errors.Is(err, session.ErrNotFound) || err == nil && older.ID == by.ID {
		return nil
	}
	if err == nil && older.User == by.User {
		err = s.db.Transact(ctx, func(tx sqldb.Session) error {
			_, err := tx.Exec(ctx, "UPDATE token_sessions SET parent_id = ? WHERE parent_id = ?", by.ID.String(), older.ID.String())
			return err
		})
	}
	if err != nil {
		return err
	}
	return s.RevokeFamily(ctx, older.ID)
}

// DeleteBrowser implements [session.Browsers].
func (s *Store) DeleteBrowser(ctx context.Context, cookie string) error {
	return s.db.Transact(ctx, func(tx sqldb.Session) error {
		_, err := tx.Exec(ctx, "DELETE FROM browser_sessions WHERE hash = ?", session.Hash(cookie))
		return err
	})
}
