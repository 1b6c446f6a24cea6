package authz

import (
	"context"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// Permits checks that the actor holds one of the scopes where a configuration
// is, its role in that workspace counted. It serves work on files that the
// catalog has no part in. Errors: those of the catalog; a configuration that the
// actor does not see is not found.
func (s *Store) Permits(ctx context.Context, viewer catalog.Viewer, config catalog.ConfigID, anyOf ...auth.Scope) error {
	_, err := s.onConfig(ctx, viewer, config, anyOf...)
	return err
}
