package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakewarden/lakewarden/catalog"
)

// querier is a pool or a transaction.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Session runs statements in one dialect and translates errors.
type Session struct {
	querier
	dialect    dialect
	statements prometheus.Counter
}

// Row is the source of a scan function.
type Row interface{ Scan(dest ...any) error }

// Exec runs a statement and returns the number of changed rows.
func (s Session) Exec(ctx context.Context, statement string, args ...any) (int64, error) {
	s.statements.Inc()
	result, err := s.ExecContext(ctx, s.dialect.text(statement), plain(args)...)
	if err != nil {
		return 0, s.dialect.translate(err)
	}
	n, err := result.RowsAffected()
	return n, s.dialect.translate(err)
}

// Insert is Exec for one new row. If a unique value is taken, it returns an ExistsError
// with the field.
func (s Session) Insert(ctx context.Context, field, statement string, args ...any) error {
	_, err := s.Exec(ctx, statement, args...)
	if errors.Is(err, ErrUnique) {
		return &catalog.ExistsError{Field: field}
	}
	return err
}

// ShareClause returns the clause that lets a SELECT lock its rows against changes until
// the transaction ends.
func (s Session) ShareClause() string { return s.dialect.share }

// UnlockedClause returns the clause that lets a SELECT lock its rows for a change, and leave
// out those that another transaction has locked.
func (s Session) UnlockedClause() string { return s.dialect.unlocked }

// List reads all rows of a statement. The result is never nil.
func List[T any](ctx context.Context, s Session, scan func(Row) (T, error), statement string, args ...any) (_ []T, err error) {
	s.statements.Inc()
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

// One returns the only row of a statement, or [catalog.ErrNotFound].
func One[T any](ctx context.Context, s Session, scan func(Row) (T, error), statement string, args ...any) (T, error) {
	items, err := List(ctx, s, scan, statement, args...)
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

// Value scans a row of a single column.
func Value[T any](r Row) (v T, err error) {
	err = r.Scan(&v)
	return v, err
}

// Where collects conditions and their values. The zero value has none.
type Where struct {
	Text string
	Args []any
}

// And adds a condition and the values of its placeholders.
func (w *Where) And(condition string, args ...any) {
	if w.Text != "" {
		w.Text += " AND "
	}
	w.Text += condition
	w.Args = append(w.Args, args...)
}
