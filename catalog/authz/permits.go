package authz

import (
	"context"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// Permits checks that the actor holds one of the scopes in the workspace of a
// configuration, including the actor's role there. It is for work on files, which does
// not go through the catalog. Errors are those of the catalog. A configuration that the
// actor does not see is not found.
func (s *Store) Permits(ctx context.Context, viewer catalog.Viewer, config catalog.ConfigID, anyOf ...auth.Scope) error {
	_, err := s.onConfig(ctx, viewer, config, anyOf...)
	return err
}
