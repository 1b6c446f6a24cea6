package sqlstore

import (
	"context"
	"errors"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/domains"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

const tableColumns = `t.id, t.org_id, t.config_id, t.delta_id, t.previous_delta_id, t.path, t.name, t.name_is_custom,
	t.state, t.version, t.registered_at, t.updated_at, t.missing_since`

const (
	selectTable   = "SELECT " + tableColumns + " FROM delta_tables t"
	selectLocated = "SELECT " + tableColumns + ", " + configColumns + `
	FROM delta_tables t JOIN storage_configs c ON c.id = t.config_id`
)

// tableDest returns the scan destinations of tableColumns.
func tableDest(t *catalog.Table) []any {
	return []any{
		&t.ID, &t.Org, &t.Config, &t.DeltaID, &t.PreviousDeltaID, &t.Path, &t.Name, &t.NameIsCustom,
		&t.State, &t.Version, sqldb.Time(&t.RegisteredAt), sqldb.Time(&t.UpdatedAt), sqldb.Time(&t.MissingSince),
	}
}

func scanTable(r sqldb.Row) (t catalog.Table, err error) {
	err = r.Scan(tableDest(&t)...)
	return t, err
}

func scanLocated(r sqldb.Row) (t catalog.LocatedTable, err error) {
	err = r.Scan(append(tableDest(&t.Table), configDest(&t.StorageConfig)...)...)
	return t, err
}

func visibleTable(ctx context.Context, s sqldb.Session, v catalog.Viewer, id catalog.TableID) (catalog.LocatedTable, error) {
	var w sqldb.Where
	w.Visible(v)
	w.And("t.id = ?", id)
	return sqldb.One(ctx, s, scanLocated, selectLocated+" WHERE "+w.Text, w.Args...)
}

// visibleTableAt is visibleTable with a check of the version.
func visibleTableAt(ctx context.Context, s sqldb.Session, v catalog.Viewer, id catalog.TableID,
	expected int64) (catalog.LocatedTable, error) {
	t, err := visibleTable(ctx, s, v, id)
	if err == nil {
		err = sqldb.Compare(expected, t.Version)
	}
	return t, err
}

func insertTable(ctx context.Context, tx sqldb.Session, t catalog.Table) error {
	return tx.Insert(ctx, "name", `INSERT INTO delta_tables (id, org_id, config_id, delta_id, previous_delta_id, path,
		name, name_key, name_is_custom, state, version, registered_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		t.ID, t.Org, t.Config, t.DeltaID, t.PreviousDeltaID, t.Path,
		t.Name, catalog.FoldName(t.Name), t.NameIsCustom, t.State, t.Version, sqldb.Micros(t.RegisteredAt), sqldb.Micros(t.UpdatedAt))
}

// updateTable writes all mutable columns and raises the version of t.
func (s *Store) updateTable(ctx context.Context, tx sqldb.Session, t *catalog.Table) error {
	t.UpdatedAt = s.db.Clock()
	n, err := tx.Exec(ctx, `UPDATE delta_tables SET delta_id = ?, previous_delta_id = ?, name = ?, name_key = ?,
		name_is_custom = ?, state = ?, missing_since = ?, version = version + 1, updated_at = ? WHERE id = ? AND version = ?`,
		t.DeltaID, t.PreviousDeltaID, t.Name, catalog.FoldName(t.Name), t.NameIsCustom, t.State, sqldb.MicrosOrNull(t.MissingSince),
		sqldb.Micros(t.UpdatedAt), t.ID, t.Version)
	switch {
	case errors.Is(err, sqldb.ErrUnique):
		return &catalog.ExistsError{Field: "name"}
	case err != nil:
		return err
	}
	if err := sqldb.Replaced(n, t.Version); err != nil {
		return err
	}
	t.Version++
	return nil
}

// Table implements [catalog.Tables].
func (s *Store) Table(ctx context.Context, v catalog.Viewer, id catalog.TableID) (catalog.LocatedTable, error) {
	return visibleTable(ctx, s.db.Read(), v, id)
}

// ListTables implements [catalog.Tables].
func (s *Store) ListTables(ctx context.Context, v catalog.Viewer, filter catalog.TableFilter,
	page catalog.Page) (catalog.List[catalog.LocatedTable], error) {
	order := sqldb.Paging[catalog.LocatedTable]{
		List: "tables", Key: "t.name_key", ID: "t.id",
		Position: func(t catalog.LocatedTable) (string, string) { return catalog.FoldName(t.Name), string(t.ID) },
	}
	var w sqldb.Where
	w.Visible(v)
	if filter.Config != "" {
		w.And("t.config_id = ?", filter.Config)
	}
	if filter.DeltaID != "" {
		w.And("t.delta_id = ?", filter.DeltaID)
	}
	if len(filter.Paths) > 0 {
		marks, values := pathList(filter.Paths)
		w.And("t.path IN ("+marks+")", values...)
	}
	if len(filter.States) == 0 {
		w.And("t.state <> ?", catalog.TableDropped)
	} else {
		states := make([]any, len(filter.States))
		for i, state := range filter.States {
			states[i] = state
		}
		w.And("t.state IN ("+sqldb.Marks(len(states))+")", states...)
	}
	return order.Fetch(ctx, s.db.Read(), page, scanLocated, selectLocated, w)
}

// ResolveDelta implements [catalog.Tables].
func (s *Store) ResolveDelta(ctx context.Context, v catalog.Viewer, id catalog.DeltaID) (none catalog.LocatedTable, err error) {
	var w sqldb.Where
	w.Visible(v)
	w.And("t.delta_id = ? AND t.state = ?", id, catalog.TableLive)
	found, err := sqldb.List(ctx, s.db.Read(), scanLocated, selectLocated+" WHERE "+w.Text+" LIMIT 2", w.Args...)
	switch {
	case err != nil:
		return none, err
	case len(found) == 0:
		return none, catalog.ErrNotFound
	case len(found) > 1:
		return none, catalog.ErrAmbiguous
	}
	return found[0], nil
}

// RenameTable implements [catalog.Tables].
func (s *Store) RenameTable(ctx context.Context, v catalog.Viewer, id catalog.TableID, expectedVersion int64,
	name string) (renamed catalog.LocatedTable, err error) {
	if err := catalog.ValidateTableName("name", name); err != nil {
		return renamed, err
	}
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		t, err := visibleTableAt(ctx, tx, v, id, expectedVersion)
		if err != nil {
			return err
		}
		if t.State == catalog.TableDropped {
			return catalog.ErrTableState
		}
		t.Name, t.NameIsCustom = name, true
		if err := s.updateTable(ctx, tx, &t.Table); err != nil {
			return err
		}
		renamed = t
		return nil
	})
	return renamed, err
}

// DropTable implements [catalog.Tables].
func (s *Store) DropTable(ctx context.Context, v catalog.Viewer, id catalog.TableID, expectedVersion int64) error {
	return s.removeTable(ctx, v, id, expectedVersion, s.dropTable)
}

// PurgeTable implements [catalog.Tables].
func (s *Store) PurgeTable(ctx context.Context, v catalog.Viewer, id catalog.TableID, expectedVersion int64) error {
	return s.removeTable(ctx, v, id, expectedVersion, func(ctx context.Context, tx sqldb.Session, t *catalog.Table) error {
		if err := s.dropTable(ctx, tx, t); err != nil {
			return err
		}
		return domains.Purge(ctx, tx, *t)
	})
}

// removeTable runs remove in a transaction with a table that is not dropped.
func (s *Store) removeTable(ctx context.Context, v catalog.Viewer, id catalog.TableID, expectedVersion int64,
	remove func(context.Context, sqldb.Session, *catalog.Table) error) error {
	return s.db.Change(ctx, func(tx sqldb.Session) error {
		t, err := visibleTable(ctx, tx, v, id)
		if err != nil {
			return err
		}
		if t.State == catalog.TableDropped {
			return catalog.ErrNotFound
		}
		if err := sqldb.Compare(expectedVersion, t.Version); err != nil {
			return err
		}
		return remove(ctx, tx, &t.Table)
	})
}

// dropTable makes a table a tombstone.
func (s *Store) dropTable(ctx context.Context, tx sqldb.Session, t *catalog.Table) error {
	if t.State == catalog.TableIdentityChanged {
		// The tombstone retains the governed id, so that dropping and rediscovering
		// a table cannot bypass the confirmation.
		t.DeltaID, t.PreviousDeltaID = t.PreviousDeltaID, ""
	}
	t.State = catalog.TableDropped
	return s.updateTable(ctx, tx, t)
}

// AdoptIdentity implements [catalog.Tables].
func (s *Store) AdoptIdentity(ctx context.Context, v catalog.Viewer, id catalog.TableID, expectedVersion int64, keepRules bool,
	by catalog.UserID) (adopted catalog.LocatedTable, err error) {
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		t, err := visibleTableAt(ctx, tx, v, id, expectedVersion)
		if err != nil {
			return err
		}
		if t.State != catalog.TableIdentityChanged {
			return catalog.ErrTableState
		}
		if keepRules {
			rules, err := sqldb.List(ctx, tx, scanPolicy, selectPolicy+" WHERE p.org_id = ? AND p.delta_id = ? ORDER BY p.created_at, p.id",
				t.Org, t.PreviousDeltaID)
			if err != nil {
				return err
			}
			for _, rule := range rules {
				rule.Table = t.DeltaID
				copied := catalog.NewPolicy{ID: catalog.NewID[catalog.PolicyID](), Org: t.Org, PolicySpec: rule.PolicySpec, By: by}
				if err := s.insertPolicy(ctx, tx, copied); err != nil {
					return err
				}
			}
			if err := s.copyConstraints(ctx, tx, t.Org, t.PreviousDeltaID, t.DeltaID, by); err != nil {
				return err
			}
			if err := s.columns.Adopt(ctx, tx, t.PreviousDeltaID, t.Table, by); err != nil {
				return err
			}
		}
		t.State = catalog.TableLive
		if err := s.updateTable(ctx, tx, &t.Table); err != nil {
			return err
		}
		adopted = t
		return nil
	})
	return adopted, err
}
