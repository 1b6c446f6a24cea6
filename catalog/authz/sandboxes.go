package authz

import (
	"context"
	"time"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// creates checks that the actor may create tables in a configuration: with tables:create
// in its workspace, or in a sandbox with rows:insert.
func (s *Store) creates(ctx context.Context, viewer catalog.Viewer, id catalog.ConfigID) error {
	config, err := s.onConfig(ctx, viewer, id)
	if err != nil {
		return err
	}
	scopes := []auth.Scope{auth.ScopeTablesCreate}
	if config.Sandbox {
		scopes = append(scopes, auth.ScopeRowsInsert)
	}
	_, err = s.onConfig(ctx, viewer, id, scopes...)
	return err
}

// CreateSandbox is for the system, which makes the directory.
func (s *Store) CreateSandbox(ctx context.Context, org catalog.OrgID, location catalog.Location) (catalog.StorageConfig, error) {
	if err := systemOnly(ctx); err != nil {
		return catalog.StorageConfig{}, err
	}
	return s.inner.CreateSandbox(ctx, org, location)
}

// UseTable is for the system, which opens tables for callers.
func (s *Store) UseTable(ctx context.Context, table catalog.TableID) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.UseTable(ctx, table)
}

// ReserveGrowth is for the system, which runs the write.
func (s *Store) ReserveGrowth(ctx context.Context, lease catalog.WriteLeaseID, table catalog.TableID, size catalog.TableSize,
	growth, limit int64, since time.Time) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.ReserveGrowth(ctx, lease, table, size, growth, limit, since)
}

// SettleGrowth is for the system, which runs the write.
func (s *Store) SettleGrowth(ctx context.Context, lease catalog.WriteLeaseID, table catalog.TableID, size catalog.TableSize) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.SettleGrowth(ctx, lease, table, size)
}

// MeasureTable is for the system, which watches other writers.
func (s *Store) MeasureTable(ctx context.Context, config catalog.ConfigID, path string, size catalog.TableSize) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.MeasureTable(ctx, config, path, size)
}

// IdleTables is for the system: it spans organisations.
func (s *Store) IdleTables(ctx context.Context, since time.Time, limit int) ([]catalog.LocatedTable, error) {
	if err := systemOnly(ctx); err != nil {
		return nil, err
	}
	return s.inner.IdleTables(ctx, since, limit)
}

// DropIdleTable is for the system, which cleans up sandboxes.
func (s *Store) DropIdleTable(ctx context.Context, table catalog.TableID, since time.Time) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.DropIdleTable(ctx, table, since)
}

// ClaimDroppedTables is for the system: it spans organisations.
func (s *Store) ClaimDroppedTables(ctx context.Context, since time.Time, limit int) ([]catalog.LocatedTable, error) {
	if err := systemOnly(ctx); err != nil {
		return nil, err
	}
	return s.inner.ClaimDroppedTables(ctx, since, limit)
}

// ForgetTable is for the system, which cleans up sandboxes.
func (s *Store) ForgetTable(ctx context.Context, table catalog.TableID, expectedVersion int64) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.ForgetTable(ctx, table, expectedVersion)
}

// PurgedSandboxes is for the system: it spans organisations.
func (s *Store) PurgedSandboxes(ctx context.Context, after catalog.OrgID, limit int) ([]catalog.PurgedSandbox, error) {
	if err := systemOnly(ctx); err != nil {
		return nil, err
	}
	return s.inner.PurgedSandboxes(ctx, after, limit)
}

// ForgetSandbox is for the system, which deletes the files.
func (s *Store) ForgetSandbox(ctx context.Context, org catalog.OrgID) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.ForgetSandbox(ctx, org)
}
