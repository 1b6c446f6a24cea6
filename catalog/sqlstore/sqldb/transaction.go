package sqldb

import (
	"context"
	"errors"

	"github.com/lakewarden/lakewarden/catalog"
)

// ErrUnchanged ends a transaction without changes: it is rolled back, the epoch retains
// its value, and [DB.Change] returns nil.
var ErrUnchanged = errors.New("nothing changed")

// Change runs fn in a transaction that raises the epoch. The package comment explains
// why the epoch comes first. When Change returns, [Options.Raised] knows the epoch.
func (s *DB) Change(ctx context.Context, fn func(tx Session) error) error {
	var epoch uint64
	err := s.Transact(ctx, func(tx Session) (err error) {
		epoch, err = One(ctx, tx, Value[uint64], "UPDATE catalog_epoch SET value = value + 1 WHERE id = 1 RETURNING value")
		if err != nil {
			return err
		}
		if err := fn(tx); err != nil {
			return err
		}
		if s.dialect.notify == "" {
			return nil
		}
		_, err = tx.Exec(ctx, s.dialect.notify)
		return err
	})
	switch {
	case errors.Is(err, ErrUnchanged):
		return nil
	case err == nil:
		s.learn(epoch)
		s.raised(epoch)
		s.pokes.poke()
	}
	return err
}

// Transact runs fn in a transaction that does not raise the epoch.
func (s *DB) Transact(ctx context.Context, fn func(tx Session) error) error {
	tx, err := s.writes.BeginTx(ctx, nil)
	if err != nil {
		return s.dialect.translate(err)
	}
	if err := fn(Session{querier: tx, dialect: s.dialect, statements: s.inside}); err != nil {
		// The transaction is lost even if the rollback fails.
		_ = tx.Rollback()
		return err
	}
	return s.dialect.translate(tx.Commit())
}

// Compare checks an expected version against the current one.
func Compare(expected, current int64) error {
	if expected != catalog.AnyVersion && expected != current {
		return &catalog.VersionConflictError{Current: current}
	}
	return nil
}

// Replaced turns the result of a compare-and-set statement into an error: no changed
// row means that the version differs from the one read in the same transaction.
func Replaced(changed, current int64) error {
	if changed == 0 {
		return &catalog.VersionConflictError{Current: current}
	}
	return nil
}
