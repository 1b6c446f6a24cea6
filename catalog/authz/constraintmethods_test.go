package authz_test

import (
	"context"

	"github.com/lakewarden/lakewarden/catalog"
)

// constraintMethods holds the cases of catalog.Constraints.
var constraintMethods = map[string]method{
	"RememberedRules": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.RememberedRules(ctx, f.table.ID, f.table.DeltaID))
		},
		denied: catalog.ErrDenied,
	},
	"RememberRules": {
		call: func(f *fixture, ctx context.Context) error {
			return f.store.RememberRules(ctx, catalog.RememberedRules{Table: f.table.ID, DeltaID: f.table.DeltaID})
		},
		denied: catalog.ErrDenied,
	},
	"AddConstraints": {
		call: func(f *fixture, ctx context.Context) error {
			return f.store.AddConstraints(ctx, f.viewer(ctx), f.table.ID, []catalog.NewConstraint{{Name: "c", Expression: "a > 1"}}, f.actor(ctx))
		},
		allowed: builders, denied: catalog.ErrDenied,
	},
	"Constraints": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.Constraints(ctx, f.org, f.table.DeltaID))
		},
		allowed: everyone,
	},
	"DeleteConstraint": {
		call: func(f *fixture, ctx context.Context) error {
			return f.store.DeleteConstraint(ctx, f.viewer(ctx), f.table.ID, "kept")
		},
		allowed: builders, denied: catalog.ErrDenied,
	},
}
