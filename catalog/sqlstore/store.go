package sqlstore

import (
	"context"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/analysis"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/domains"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/identity"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/moves"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/operations"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// Options are the optional parts of a [Store]; the zero value works.
type Options = sqldb.Options

// Store is a [catalog.Store] on a database. It is safe for concurrent use.
type Store struct {
	db *sqldb.DB
	catalog.Epochs
	catalog.Commits
	catalog.Domains
	catalog.Publications
	catalog.Identity
	catalog.Moves
	catalog.Analyses
	catalog.Operations
	columns *domains.Store
}

var _ catalog.Store = (*Store)(nil)

// Open opens the database of a URL: postgres://… or postgresql://…, sqlite:<file>, or a
// file name. It applies missing migrations, and returns an error that wraps
// [migrations.ErrUnknownSchema] for a newer schema.
func Open(ctx context.Context, databaseURL string, options Options) (*Store, error) {
	db, err := sqldb.Open(ctx, databaseURL, options)
	if err != nil {
		return nil, err
	}
	columns := domains.New(db)
	return &Store{db: db, Epochs: db, Commits: db, Domains: columns, Publications: columns, columns: columns,
		Identity: identity.New(db), Moves: moves.New(db), Analyses: analysis.New(db), Operations: operations.New(db)}, nil
}

// DB returns the database, for stores of other packages. It is closed with s.
func (s *Store) DB() *sqldb.DB { return s.db }

// Close ends the watches and closes the database. Calls in progress fail with
// [catalog.ErrUnavailable]. It may be called more than once.
func (s *Store) Close() error { return s.db.Close() }
