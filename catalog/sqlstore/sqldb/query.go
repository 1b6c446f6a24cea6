package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/lakewarden/lakewarden/catalog"
)

// querier is a pool or a transaction.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// session runs statements in one dialect and translates errors.
type session struct {
	querier
	dialect dialect
}

// row is the source of a scan function.
type row interface{ Scan(dest ...any) error }

// exec runs a statement and returns the number of changed rows.
func (s session) exec(ctx context.Context, statement string, args ...any) (int64, error) {
	result, err := s.ExecContext(ctx, s.dialect.text(statement), plain(args)...)
	if err != nil {
		return 0, s.dialect.translate(err)
	}
	n, err := result.RowsAffected()
	return n, s.dialect.translate(err)
}

// insert is exec for one new row. If a unique value is taken, it returns an ExistsError
// with the field.
func (s session) insert(ctx context.Context, field, statement string, args ...any) error {
	_, err := s.exec(ctx, statement, args...)
	if errors.Is(err, errUnique) {
		return &catalog.ExistsError{Field: field}
	}
	return err
}

// shareClause returns the clause that lets a SELECT lock its rows against changes until
// the transaction ends.
func (s session) shareClause() string { return s.dialect.share }

// list reads all rows. The result is never nil.
func list[T any](ctx context.Context, s session, scan func(row) (T, error), statement string, args ...any) (_ []T, err error) {
	rows, err := s.QueryContext(ctx, s.dialect.text(statement), plain(args)...)
	if err != nil {
		return nil, s.dialect.translate(err)
	}
	defer func() {
		if closeErr := rows.Close(); err == nil && closeErr != nil {
			err = s.dialect.translate(closeErr)
		}
	}()
	items := []T{}
	for rows.Next() {
		item, err := scan(rows)
		if err != nil {
			return nil, s.dialect.translate(err)
		}
		items = append(items, item)
	}
	if err := rows.Err(); err != nil {
		return nil, s.dialect.translate(err)
	}
	return items, nil
}

// one returns the only row, or ErrNotFound.
func one[T any](ctx context.Context, s session, scan func(row) (T, error), statement string, args ...any) (T, error) {
	items, err := list(ctx, s, scan, statement, args...)
	var none T
	switch {
	case err != nil:
		return none, err
	case len(items) == 0:
		return none, catalog.ErrNotFound
	case len(items) > 1:
		return none, fmt.Errorf("%d rows where one was expected", len(items))
	}
	return items[0], nil
}

// value scans a single column.
func value[T any](r row) (v T, err error) {
	err = r.Scan(&v)
	return v, err
}

// where collects conditions and their values.
type where struct {
	text string
	args []any
}

func (w *where) and(condition string, args ...any) {
	if w.text != "" {
		w.text += " AND "
	}
	w.text += condition
	w.args = append(w.args, args...)
}
