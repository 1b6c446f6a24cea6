package identity

import (
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// Store implements [catalog.Identity]. It is safe for concurrent use.
type Store struct{ db *sqldb.DB }

var _ catalog.Identity = (*Store)(nil)

// New returns the identity records in a database.
func New(db *sqldb.DB) *Store { return &Store{db} }
