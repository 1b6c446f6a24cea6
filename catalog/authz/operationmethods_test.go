package authz_test

import (
	"context"
	"maps"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
)

// methods returns the cases of all methods of the store.
var methods = func() map[string]method {
	all := maps.Clone(otherMethods)
	maps.Copy(all, operationMethods)
	maps.Copy(all, domainMethods)
	maps.Copy(all, sandboxMethods)
	maps.Copy(all, constraintMethods)
	maps.Copy(all, sharingMethods)
	maps.Copy(all, moveMethods)
	maps.Copy(all, identityMethods)
	maps.Copy(all, keyMethods)
	maps.Copy(all, organisationMethods)
	maps.Copy(all, providerMethods)
	maps.Copy(all, singleSignOnMethods)
	maps.Copy(all, bindingMethods)
	maps.Copy(all, clientMethods)
	maps.Copy(all, analysisMethods)
	return all
}()

// operationMethods returns the cases of catalog.Operations.
var operationMethods = map[string]method{
	"CreateOperation": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.CreateOperation(ctx, catalog.NewOperation{Org: f.org, User: f.actor(ctx), Kind: catalog.OperationQuery,
				Runner: "runner"}))
		},
		denied: catalog.ErrDenied,
	},
	"Operation": {
		call:    func(f *fixture, ctx context.Context) error { return drop(f.store.Operation(ctx, f.org, f.running.ID)) },
		allowed: builders, denied: catalog.ErrNotFound,
	},
	"ListOperations": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.ListOperations(ctx, f.org, catalog.OperationFilter{User: f.users["builder"]}, catalog.Page{}))
		},
		allowed: builders, denied: catalog.ErrDenied,
	},
	"CancelOperation": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.CancelOperation(ctx, f.org, f.running.ID))
		},
		allowed: builders, denied: catalog.ErrNotFound,
	},
	"ForgetOperation": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.ForgetOperation(ctx, f.org, f.ended.ID))
		},
		allowed: builders, denied: catalog.ErrNotFound,
	},
	"OperationUsage": {
		call:   func(f *fixture, ctx context.Context) error { return drop(f.store.OperationUsage(ctx, f.org)) },
		denied: catalog.ErrDenied,
	},
	"StartOperation": {
		call: func(f *fixture, ctx context.Context) error {
			return f.store.StartOperation(ctx, "runner", f.running.ID)
		},
		denied: catalog.ErrDenied,
	},
	"ReportOperation": {
		call: func(f *fixture, ctx context.Context) error {
			return f.store.ReportOperation(ctx, "runner", f.running.ID, catalog.Progress{})
		},
		denied: catalog.ErrDenied,
	},
	"ReserveOperation": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.ReserveOperation(ctx, "runner", f.running.ID, 1, 1<<40))
		},
		denied: catalog.ErrDenied,
	},
	"FinishOperation": {
		call: func(f *fixture, ctx context.Context) error {
			return f.store.FinishOperation(ctx, "runner", f.running.ID, cancelled())
		},
		denied: catalog.ErrDenied,
	},
	"BeatOperations": {
		call:   func(f *fixture, ctx context.Context) error { return f.store.BeatOperations(ctx, "runner") },
		denied: catalog.ErrDenied,
	},
	"CancelledOperations": {
		call:   func(f *fixture, ctx context.Context) error { return drop(f.store.CancelledOperations(ctx, "runner")) },
		denied: catalog.ErrDenied,
	},
	"LoseOperations": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.LoseOperations(ctx, time.Now(), cancelled()))
		},
		denied: catalog.ErrDenied,
	},
	"ExpiredOperations": {
		call:   func(f *fixture, ctx context.Context) error { return drop(f.store.ExpiredOperations(ctx, 1)) },
		denied: catalog.ErrDenied,
	},
	"DeleteOperation": {
		call:   func(f *fixture, ctx context.Context) error { return f.store.DeleteOperation(ctx, f.org, f.ended.ID) },
		denied: catalog.ErrDenied,
	},
}
