package authz_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// fillSandbox creates a sandbox with two tables.
func (f *fixture) fillSandbox(ctx context.Context) (err error) {
	if f.scratch, err = f.inner.CreateSandbox(ctx, f.org, "file:///sandbox/"); err != nil {
		return err
	}
	viewer := catalog.MemberViewer(f.org, f.users["builder"])
	for path, table := range map[string]*catalog.Table{"trial": &f.trial, "gone": &f.discarded} {
		n := catalog.NewTable{Config: f.scratch.ID, DeltaID: catalog.DeltaID(uuid.NewString()), Path: path}
		if *table, err = f.inner.RegisterTable(ctx, viewer, n); err != nil {
			return err
		}
	}
	if err := f.inner.DropTable(ctx, viewer, f.discarded.ID, catalog.AnyVersion); err != nil {
		return err
	}
	f.discarded.Version++
	return nil
}

// sandboxMethods holds the cases of catalog.Sandboxes.
var sandboxMethods = map[string]method{
	"CreateSandbox": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.CreateSandbox(ctx, f.org, "file:///other/"))
		},
		denied: catalog.ErrDenied,
	},
	"UseTable": {
		call:   func(f *fixture, ctx context.Context) error { return f.store.UseTable(ctx, f.trial.ID) },
		denied: catalog.ErrDenied,
	},
	"ReserveGrowth": {
		call: func(f *fixture, ctx context.Context) error {
			return f.store.ReserveGrowth(ctx, f.write, f.trial.ID, catalog.TableSize{Version: 1}, 1, 10, time.Now())
		},
		denied: catalog.ErrDenied,
	},
	"SettleGrowth": {
		call: func(f *fixture, ctx context.Context) error {
			return f.store.SettleGrowth(ctx, f.write, f.trial.ID, catalog.TableSize{Version: 1})
		},
		denied: catalog.ErrDenied,
	},
	"MeasureTable": {
		call: func(f *fixture, ctx context.Context) error {
			return f.store.MeasureTable(ctx, f.scratch.ID, f.trial.Path, catalog.TableSize{Version: 1})
		},
		denied: catalog.ErrDenied,
	},
	"PurgedSandboxes": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.PurgedSandboxes(ctx, "", 1))
		},
		denied: catalog.ErrDenied,
	},
	"ForgetSandbox": {
		call:   func(f *fixture, ctx context.Context) error { return f.store.ForgetSandbox(ctx, f.org) },
		denied: catalog.ErrDenied,
	},
	"IdleTables": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.IdleTables(ctx, time.Now().Add(time.Hour), 1))
		},
		denied: catalog.ErrDenied,
	},
	"DropIdleTable": {
		call: func(f *fixture, ctx context.Context) error {
			return f.store.DropIdleTable(ctx, f.trial.ID, time.Now().Add(time.Hour))
		},
		denied: catalog.ErrDenied,
	},
	"ClaimDroppedTables": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.ClaimDroppedTables(ctx, time.Now().Add(time.Hour), 1))
		},
		denied: catalog.ErrDenied,
	},
	"ForgetTable": {
		call: func(f *fixture, ctx context.Context) error {
			return f.store.ForgetTable(ctx, f.discarded.ID, f.discarded.Version)
		},
		denied: catalog.ErrDenied,
	},
}

// TestEditorsCreateTablesInTheSandbox checks that the sandbox is the only place where
// rows:insert suffices, and that nobody changes its configuration.
func TestEditorsCreateTablesInTheSandbox(t *testing.T) {
	f := newFixture(t)
	for who, allowed := range map[string]bool{
		"admin": true, "builder": true, "editor": true, "viewer": false, "curator": false, "nobody": false,
	} {
		ctx := as(f.people[who])
		n := catalog.NewTable{Config: f.scratch.ID, DeltaID: catalog.DeltaID(uuid.NewString()), Path: "of_" + who}
		_, err := f.store.RegisterTable(ctx, f.viewer(ctx), n)
		require.Equal(t, allowed, err == nil, "%s: %v", who, err)
		if err != nil {
			require.ErrorIs(t, err, catalog.ErrDenied)
		}
		require.Equal(t, allowed, errors.Is(permits(ctx, f, f.scratch), nil), who)
	}
	editor := as(f.people["editor"])
	_, err := f.store.RegisterTable(editor, f.viewer(editor), catalog.NewTable{Config: f.config.ID, DeltaID: "d", Path: "x"})
	require.ErrorIs(t, err, catalog.ErrDenied, "not elsewhere")
	key := as(asKey(narrow(f.people["editor"], auth.ScopeTablesRead, auth.ScopeRowsInsert), ""))
	_, err = f.store.RegisterTable(key, f.viewer(key), catalog.NewTable{Config: f.scratch.ID, DeltaID: "e", Path: "by_key"})
	require.NoError(t, err)
	reader := as(asKey(narrow(f.people["editor"], auth.ScopeTablesRead), ""))
	_, err = f.store.RegisterTable(reader, f.viewer(reader), catalog.NewTable{Config: f.scratch.ID, DeltaID: "f", Path: "by_reader"})
	require.ErrorIs(t, err, catalog.ErrDenied)

	admin := as(f.people["admin"])
	name := "mine"
	_, err = f.store.UpdateStorageConfig(admin, f.viewer(admin), f.scratch.ID, catalog.AnyVersion, catalog.StorageConfigChange{Name: &name})
	require.ErrorIs(t, err, catalog.ErrSandbox)
	require.ErrorIs(t, f.store.DeleteStorageConfig(admin, f.viewer(admin), f.scratch.ID, catalog.AnyVersion), catalog.ErrSandbox)
}

func permits(ctx context.Context, f *fixture, config catalog.StorageConfig) error {
	store, _ := f.store.(*authz.Store)
	return store.Permits(ctx, f.viewer(ctx), config.ID, auth.ScopeTablesCreate, auth.ScopeRowsInsert)
}
