package sqlstore

import (
	"context"
	"errors"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/domains"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// sandbox returns the configuration of an organisation's sandbox in any state.
func sandbox(ctx context.Context, s sqldb.Session, org catalog.OrgID) (catalog.StorageConfig, error) {
	return sqldb.One(ctx, s, scanConfig, selectConfig+" WHERE c.org_id = ? AND c.sandbox <> ''", org)
}

func sandboxState(o catalog.Organisation) string {
	if o.Config.Enabled(catalog.FeatureSandbox) {
		return "on"
	}
	return "off"
}

// CreateSandbox implements [catalog.Sandboxes].
func (s *Store) CreateSandbox(ctx context.Context, org catalog.OrgID, location catalog.Location) (created catalog.StorageConfig,
	err error) {
	now := sqldb.Micros(s.db.Clock())
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		o, err := organisation(ctx, tx, org)
		if err != nil {
			return err
		}
		if created, err = sandbox(ctx, tx, org); !errors.Is(err, catalog.ErrNotFound) {
			if err == nil {
				err = sqldb.ErrUnchanged
			}
			return err
		}
		if taken, err := s.takeOverSandbox(ctx, tx, o, location); err != nil || taken {
			if err == nil {
				created, err = sandbox(ctx, tx, org)
			}
			return err
		}
		home, err := defaultWorkspace(ctx, tx, org)
		if err != nil {
			return err
		}
		n := catalog.NewStorageConfig{ID: catalog.NewID[catalog.ConfigID](), Org: org, Name: catalog.SandboxName, Kind: catalog.KindLocal,
			Workspace: home.ID, Owner: o.Owner, Location: location}
		if err := n.Validate(); err != nil {
			return err
		}
		if err := freeLocation(ctx, tx, n); err != nil {
			return err
		}
		err = tx.Insert(ctx, "id", `INSERT INTO storage_configs (id, org_id, name, slug, kind, workspace_id,
			owner_user_id, location, settings, auth_mode, sandbox, version, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, '{}', '', ?, 1, ?, ?)`,
			n.ID, n.Org, n.Name, catalog.Slug(n.Name), n.Kind, n.Workspace, n.Owner, n.Location, sandboxState(o), now, now)
		if err != nil {
			return err
		}
		created, err = sandbox(ctx, tx, org)
		return err
	})
	return created, err
}

// takeOverSandbox makes the ordinary configuration that a rollback of the schema has left of
// an organisation's sandbox the sandbox again, and reports whether there was one.
func (s *Store) takeOverSandbox(ctx context.Context, tx sqldb.Session, o catalog.Organisation, location catalog.Location) (bool, error) {
	n, err := tx.Exec(ctx, `UPDATE storage_configs SET sandbox = ?, version = version + 1, updated_at = ?
		WHERE org_id = ? AND kind = ? AND name = ? AND location = ?`,
		sandboxState(o), sqldb.Micros(s.db.Clock()), o.ID, catalog.KindLocal, catalog.SandboxName, location)
	if err != nil || n == 0 {
		return false, err
	}
	return true, s.wakeSandbox(ctx, tx, o.ID)
}

// switchSandbox makes the sandbox of an organisation visible or invisible, as the
// organisation says. Its tables become idle anew when it is switched on.
func (s *Store) switchSandbox(ctx context.Context, tx sqldb.Session, o catalog.Organisation) error {
	changed, err := tx.Exec(ctx, "UPDATE storage_configs SET sandbox = ?, version = version + 1 WHERE org_id = ? AND sandbox NOT IN ('', ?)",
		sandboxState(o), o.ID, sandboxState(o))
	if err != nil || changed == 0 {
		return err
	}
	return s.wakeSandbox(ctx, tx, o.ID)
}

// wakeSandbox makes the tables of an organisation's sandbox idle anew.
func (s *Store) wakeSandbox(ctx context.Context, tx sqldb.Session, org catalog.OrgID) error {
	_, err := tx.Exec(ctx, `UPDATE delta_tables SET used_at = ? WHERE config_id IN (
		SELECT c.id FROM storage_configs c WHERE c.org_id = ? AND c.sandbox = 'on')`, sqldb.Micros(s.db.Clock()), org)
	return err
}

// UseTable implements [catalog.Sandboxes].
func (s *Store) UseTable(ctx context.Context, table catalog.TableID) error {
	return s.db.Transact(ctx, func(tx sqldb.Session) error {
		now := sqldb.Micros(s.db.Clock())
		_, err := tx.Exec(ctx, "UPDATE delta_tables SET used_at = ? WHERE id = ? AND used_at < ?", now, table, now)
		return err
	})
}

// ReserveGrowth implements [catalog.Sandboxes].
func (s *Store) ReserveGrowth(ctx context.Context, lease catalog.WriteLeaseID, id catalog.TableID, size catalog.TableSize,
	growth, limit int64, since time.Time) error {
	return s.db.Transact(ctx, func(tx sqldb.Session) error {
		// This row is the lock of all reservations in the sandbox.
		_, err := tx.Exec(ctx, `UPDATE storage_configs SET sandbox = sandbox WHERE id = (SELECT t.config_id FROM delta_tables t WHERE t.id = ?)`,
			id)
		if err != nil {
			return err
		}
		if err := recordSize(ctx, tx, size, "id = ?", id); err != nil {
			return err
		}
		n, err := tx.Exec(ctx, "UPDATE write_leases SET reserved_bytes = ? WHERE id = ?", max(growth, 0), lease)
		switch {
		case err != nil:
			return err
		case n == 0:
			return catalog.ErrNotFound
		case growth <= 0:
			return nil
		}
		used, err := sqldb.One(ctx, tx, sqldb.Value[int64], `SELECT CAST(COALESCE(SUM(t.size_bytes + COALESCE(
			(SELECT SUM(l.reserved_bytes) FROM write_leases l WHERE l.org_id = t.org_id AND l.delta_id = t.delta_id AND l.renewed_at >= ?), 0)
			), 0) AS BIGINT)
			FROM delta_tables t JOIN delta_tables own ON own.config_id = t.config_id AND own.created_by = t.created_by
			WHERE own.id = ?`, sqldb.Micros(since), id)
		if err == nil && used > limit {
			err = catalog.ErrQuota
		}
		return err
	})
}

// recordSize stores the size of a version of the table that meets a condition, unless a
// later one is known.
func recordSize(ctx context.Context, tx sqldb.Session, size catalog.TableSize, condition string, args ...any) error {
	_, err := tx.Exec(ctx, "UPDATE delta_tables SET size_bytes = ?, size_version = ? WHERE size_version <= ? AND "+condition,
		append([]any{size.Bytes, size.Version, size.Version}, args...)...)
	return err
}

// SettleGrowth implements [catalog.Sandboxes].
func (s *Store) SettleGrowth(ctx context.Context, lease catalog.WriteLeaseID, id catalog.TableID, size catalog.TableSize) error {
	return s.db.Transact(ctx, func(tx sqldb.Session) error {
		if err := recordSize(ctx, tx, size, "id = ?", id); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "UPDATE write_leases SET reserved_bytes = 0 WHERE id = ?", lease)
		return err
	})
}

// MeasureTable implements [catalog.Sandboxes].
func (s *Store) MeasureTable(ctx context.Context, config catalog.ConfigID, path string, size catalog.TableSize) error {
	return s.db.Transact(ctx, func(tx sqldb.Session) error {
		return recordSize(ctx, tx, size, "config_id = ? AND path = ?", config, path)
	})
}

// idleSince is the condition that a table of a sandbox was neither used nor changed since
// a time. A table that was restored has changed.
func idleSince(since time.Time) (w sqldb.Where) {
	w.And("c.sandbox = 'on' AND t.state <> ? AND t.used_at < ? AND t.updated_at < ? AND "+sqldb.LiveOrg("c.org_id"),
		catalog.TableDropped, sqldb.Micros(since), sqldb.Micros(since))
	return w
}

// IdleTables implements [catalog.Sandboxes].
func (s *Store) IdleTables(ctx context.Context, since time.Time, limit int) ([]catalog.LocatedTable, error) {
	w := idleSince(since)
	return sqldb.List(ctx, s.db.Read(), scanLocated, selectLocated+" WHERE "+w.Text+" ORDER BY t.used_at, t.id LIMIT ?",
		append(w.Args, limit)...)
}

// DropIdleTable implements [catalog.Sandboxes].
func (s *Store) DropIdleTable(ctx context.Context, id catalog.TableID, since time.Time) error {
	return s.db.Change(ctx, func(tx sqldb.Session) error {
		// A use that is recorded at the same time waits for this row, or this one for it.
		if _, err := tx.Exec(ctx, "UPDATE delta_tables SET used_at = used_at WHERE id = ?", id); err != nil {
			return err
		}
		w := idleSince(since)
		w.And("t.id = ?", id)
		t, err := sqldb.One(ctx, tx, scanLocated, selectLocated+" WHERE "+w.Text, w.Args...)
		if err != nil {
			return err
		}
		return s.dropTable(ctx, tx, &t.Table)
	})
}

// ClaimDroppedTables implements [catalog.Sandboxes].
func (s *Store) ClaimDroppedTables(ctx context.Context, since time.Time, limit int) (claimed []catalog.LocatedTable, err error) {
	err = s.db.Transact(ctx, func(tx sqldb.Session) error {
		claimed = nil
		found, err := sqldb.List(ctx, tx, scanLocated, selectLocated+` WHERE c.sandbox <> '' AND t.state = ? AND t.updated_at < ?
			AND `+sqldb.LiveOrg("c.org_id")+" ORDER BY t.updated_at, t.id LIMIT ?", catalog.TableDropped, sqldb.Micros(since), limit)
		if err != nil {
			return err
		}
		for _, t := range found {
			err := s.updateTable(ctx, tx, &t.Table)
			if errors.Is(err, catalog.ErrVersionConflict) {
				continue // another replica was faster
			}
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, "UPDATE delta_tables SET purging_at = ? WHERE id = ?", sqldb.Micros(t.UpdatedAt), t.ID); err != nil {
				return err
			}
			claimed = append(claimed, t)
		}
		return nil
	})
	return claimed, err
}

// ForgetTable implements [catalog.Sandboxes].
func (s *Store) ForgetTable(ctx context.Context, id catalog.TableID, expectedVersion int64) error {
	return s.db.Transact(ctx, func(tx sqldb.Session) error {
		forgotten, err := sqldb.List(ctx, tx, scanTable, selectTable+" WHERE t.id = ?", id)
		if err != nil {
			return err
		}
		n, err := tx.Exec(ctx, "DELETE FROM delta_tables WHERE id = ? AND state = ? AND version = ?", id, catalog.TableDropped, expectedVersion)
		if err == nil {
			err = sqldb.Replaced(n, expectedVersion)
		}
		if err != nil {
			return err
		}
		return domains.Purge(ctx, tx, forgotten[0])
	})
}

// PurgedSandboxes implements [catalog.Sandboxes].
func (s *Store) PurgedSandboxes(ctx context.Context, after catalog.OrgID, limit int) ([]catalog.PurgedSandbox, error) {
	return sqldb.List(ctx, s.db.Read(), func(r sqldb.Row) (p catalog.PurgedSandbox, err error) {
		err = r.Scan(&p.Org, &p.Location)
		return p, err
	}, "SELECT p.id, p.sandbox FROM purged_organisations p WHERE p.sandbox <> '' AND p.id > ? ORDER BY p.id LIMIT ?", after, limit)
}

// ForgetSandbox implements [catalog.Sandboxes].
func (s *Store) ForgetSandbox(ctx context.Context, org catalog.OrgID) error {
	return s.db.Transact(ctx, func(tx sqldb.Session) error {
		_, err := tx.Exec(ctx, "UPDATE purged_organisations SET sandbox = '' WHERE id = ?", org)
		return err
	})
}
