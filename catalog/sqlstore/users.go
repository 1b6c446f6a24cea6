package sqlstore

import (
	"context"
	"errors"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/people"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

const selectUser = "SELECT u.id, u.kind, u.email, u.display_name, u.version, u.created_at, u.updated_at FROM users u"

func scanUser(r sqldb.Row) (u catalog.User, err error) {
	err = r.Scan(&u.ID, &u.Kind, &u.Email, &u.DisplayName, &u.Version, sqldb.Time(&u.CreatedAt), sqldb.Time(&u.UpdatedAt))
	return u, err
}

func user(ctx context.Context, s sqldb.Session, id catalog.UserID) (catalog.User, error) {
	return sqldb.One(ctx, s, scanUser, selectUser+" WHERE u.id = ? AND u.deleted_at IS NULL", id)
}

// CreateUser implements [catalog.Users]. A user without membership does not change what
// anyone may see or do, so the epoch is not raised.
func (s *Store) CreateUser(ctx context.Context, n catalog.NewUser) (created catalog.User, err error) {
	if err := n.Validate(); err != nil {
		return created, err
	}
	err = s.db.Transact(ctx, func(tx sqldb.Session) error {
		created, err = s.insertUser(ctx, tx, n)
		return err
	})
	return created, err
}

// insertUser inserts a user that was validated.
func (s *Store) insertUser(ctx context.Context, tx sqldb.Session, n catalog.NewUser) (catalog.User, error) {
	n = n.Complete()
	now := sqldb.Micros(s.db.Clock())
	err := tx.Insert(ctx, "email", `INSERT INTO users (id, kind, email, display_name, version, created_at, updated_at)
		VALUES (?, ?, ?, ?, 1, ?, ?)`, n.ID, n.Kind, n.Email, n.DisplayName, now, now)
	if err != nil {
		return catalog.User{}, err
	}
	return user(ctx, tx, n.ID)
}

// User implements [catalog.Users].
func (s *Store) User(ctx context.Context, id catalog.UserID) (catalog.User, error) {
	return user(ctx, s.db.Read(), id)
}

// UserByEmail implements [catalog.Users].
func (s *Store) UserByEmail(ctx context.Context, email string) (catalog.User, error) {
	return userByEmail(ctx, s.db.Read(), email)
}

func userByEmail(ctx context.Context, s sqldb.Session, email string) (catalog.User, error) {
	return sqldb.One(ctx, s, scanUser, selectUser+" WHERE u.email = ? AND u.kind = ?",
		catalog.NormaliseEmail(email), catalog.UserPerson)
}

// UpdateUser implements [catalog.Users]. Tokens of foreign issuers are matched by the
// address, so the epoch is raised.
func (s *Store) UpdateUser(ctx context.Context, id catalog.UserID, expectedVersion int64, change catalog.UserChange) (updated catalog.User,
	err error) {
	if err := change.Validate(); err != nil {
		return updated, err
	}
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		u, err := user(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := sqldb.Compare(expectedVersion, u.Version); err != nil {
			return err
		}
		if change.Email != nil {
			if u.Kind != catalog.UserPerson {
				return catalog.FieldErrors{{Field: "email", Message: "must be empty for a service account"}}
			}
			u.Email = catalog.NormaliseEmail(*change.Email)
		}
		if change.DisplayName != nil {
			u.DisplayName = *change.DisplayName
		}
		n, err := tx.Exec(ctx, `UPDATE users SET email = ?, display_name = ?, version = version + 1, updated_at = ?
			WHERE id = ? AND version = ?`, u.Email, u.DisplayName, sqldb.Micros(s.db.Clock()), id, u.Version)
		switch {
		case errors.Is(err, sqldb.ErrUnique):
			return &catalog.ExistsError{Field: "email"}
		case err != nil:
			return err
		}
		if err := sqldb.Replaced(n, u.Version); err != nil {
			return err
		}
		updated, err = user(ctx, tx, id)
		return err
	})
	return updated, err
}

// Holdings implements [catalog.Users].
func (s *Store) Holdings(ctx context.Context, id catalog.UserID) (catalog.Holdings, error) {
	return people.Holdings(ctx, s.db.Read(), s.db.Clock(), id)
}

// DeletePerson implements [catalog.Users].
func (s *Store) DeletePerson(ctx context.Context, id catalog.UserID) (former catalog.Holdings, err error) {
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		former, err = people.Delete(ctx, tx, s.db.Clock(), id)
		return err
	})
	return former, err
}
