package sqlstore

import (
	"context"
	"errors"

	"github.com/lakewarden/lakewarden/catalog"
)

// errUnchanged ends a transaction without changes: it is rolled back, the epoch retains
// its value, and change returns nil.
var errUnchanged = errors.New("nothing changed")

// change runs fn in a transaction that raises the epoch. The package comment explains
// why the epoch comes first.
func (s *DB) change(ctx context.Context, fn func(tx session) error) error {
	err := s.transact(ctx, func(tx session) error {
		if _, err := tx.exec(ctx, "UPDATE catalog_epoch SET value = value + 1 WHERE id = 1"); err != nil {
			return err
		}
		if err := fn(tx); err != nil {
			return err
		}
		if s.dialect.notify == "" {
			return nil
		}
		_, err := tx.exec(ctx, s.dialect.notify)
		return err
	})
	switch {
	case errors.Is(err, errUnchanged):
		return nil
	case err == nil:
		s.pokes.poke()
	}
	return err
}

// transact runs fn in a transaction that does not raise the epoch.
func (s *DB) transact(ctx context.Context, fn func(tx session) error) error {
	tx, err := s.writes.BeginTx(ctx, nil)
	if err != nil {
		return s.dialect.translate(err)
	}
	if err := fn(session{querier: tx, dialect: s.dialect}); err != nil {
		// The transaction is lost even if the rollback fails.
		_ = tx.Rollback()
		return err
	}
	return s.dialect.translate(tx.Commit())
}

// compare checks an expected version against the current one.
func compare(expected, current int64) error {
	if expected != catalog.AnyVersion && expected != current {
		return &catalog.VersionConflictError{Current: current}
	}
	return nil
}

// replaced turns the result of a compare-and-set statement into an error: no changed
// row means that the version differs from the one read in the same transaction.
func replaced(changed, current int64) error {
	if changed == 0 {
		return &catalog.VersionConflictError{Current: current}
	}
	return nil
}
