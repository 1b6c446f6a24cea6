package authz

import (
	"context"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// RegisterTable needs tables:create in the workspace of the configuration, or rows:insert in
// a sandbox.
func (s *Store) RegisterTable(ctx context.Context, viewer catalog.Viewer, table catalog.NewTable) (catalog.Table, error) {
	if err := s.creates(ctx, viewer, table.Config); err != nil {
		return catalog.Table{}, err
	}
	return s.inner.RegisterTable(ctx, viewer, table)
}

// SyncTables needs storage:configure or storage:write in the workspace of the
// configuration, because it makes the contents of the storage visible.
func (s *Store) SyncTables(ctx context.Context, viewer catalog.Viewer, config catalog.ConfigID,
	discovery catalog.Discovery) (catalog.DiscoveryResult, error) {
	if _, err := s.onConfig(ctx, viewer, config, auth.ScopeStorageWrite, auth.ScopeStorageConfigure); err != nil {
		return catalog.DiscoveryResult{}, err
	}
	return s.inner.SyncTables(ctx, viewer, config, discovery)
}

// Table needs a scope for tables or storage.
func (s *Store) Table(ctx context.Context, viewer catalog.Viewer, table catalog.TableID) (catalog.LocatedTable, error) {
	if err := checkRead(ctx, viewer); err != nil {
		return catalog.LocatedTable{}, err
	}
	return s.inner.Table(ctx, viewer, table)
}

// ListTables needs a scope for tables or storage.
func (s *Store) ListTables(ctx context.Context, viewer catalog.Viewer, filter catalog.TableFilter,
	page catalog.Page) (catalog.List[catalog.LocatedTable], error) {
	if err := checkRead(ctx, viewer); err != nil {
		return catalog.List[catalog.LocatedTable]{}, err
	}
	return s.inner.ListTables(ctx, viewer, filter, page)
}

// ResolveTables needs a scope for tables or storage.
func (s *Store) ResolveTables(ctx context.Context, viewer catalog.Viewer, names []catalog.TableName) ([]catalog.Resolved, error) {
	if err := checkRead(ctx, viewer); err != nil {
		return nil, err
	}
	return s.inner.ResolveTables(ctx, viewer, names)
}

// ResolveDelta needs a scope for tables or storage.
func (s *Store) ResolveDelta(ctx context.Context, viewer catalog.Viewer, id catalog.DeltaID) (catalog.LocatedTable, error) {
	if err := checkRead(ctx, viewer); err != nil {
		return catalog.LocatedTable{}, err
	}
	return s.inner.ResolveDelta(ctx, viewer, id)
}

// RenameTable needs tables:modify in the workspace of the table.
func (s *Store) RenameTable(ctx context.Context, viewer catalog.Viewer, table catalog.TableID, expectedVersion int64,
	name string) (catalog.LocatedTable, error) {
	if err := s.onTable(ctx, viewer, table, auth.ScopeTablesModify); err != nil {
		return catalog.LocatedTable{}, err
	}
	return s.inner.RenameTable(ctx, viewer, table, expectedVersion, name)
}

// DropTable needs tables:modify in the workspace of the table.
func (s *Store) DropTable(ctx context.Context, viewer catalog.Viewer, table catalog.TableID, expectedVersion int64) error {
	if err := s.onTable(ctx, viewer, table, auth.ScopeTablesModify); err != nil {
		return err
	}
	return s.inner.DropTable(ctx, viewer, table, expectedVersion)
}

// PurgeTable needs tables:modify in the workspace of the table.
func (s *Store) PurgeTable(ctx context.Context, viewer catalog.Viewer, table catalog.TableID, expectedVersion int64) error {
	if err := s.onTable(ctx, viewer, table, auth.ScopeTablesModify); err != nil {
		return err
	}
	return s.inner.PurgeTable(ctx, viewer, table, expectedVersion)
}

// AdoptIdentity decides which policies apply, so it needs rls_policies:write in the
// organisation. A role in a workspace does not grant it.
func (s *Store) AdoptIdentity(ctx context.Context, viewer catalog.Viewer, table catalog.TableID, expectedVersion int64, keepRules bool,
	by catalog.UserID) (none catalog.LocatedTable, err error) {
	if err := s.onTable(ctx, viewer, table); err != nil {
		return none, err
	}
	if err := inOrg(ctx, viewer.Org, auth.ScopePoliciesWrite); err != nil {
		return none, err
	}
	if err := signed(ctx, by); err != nil {
		return none, err
	}
	return s.inner.AdoptIdentity(ctx, viewer, table, expectedVersion, keepRules, by)
}

func signed(ctx context.Context, by catalog.UserID) error {
	a, err := actorFrom(ctx)
	if err != nil {
		return err
	}
	return a.signs(by)
}
