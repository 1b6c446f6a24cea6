package sqlstore

import (
	"context"
	"errors"
	"math/bits"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/moves"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// registrations holds the registered tables at some paths of one configuration within a
// transaction.
type registrations struct {
	tx     sqldb.Session
	config catalog.StorageConfig
	byPath map[string]catalog.Table
}

func loadRegistrations(ctx context.Context, tx sqldb.Session, config catalog.StorageConfig, paths ...string) (registrations, error) {
	r := registrations{tx: tx, config: config, byPath: make(map[string]catalog.Table, len(paths))}
	if len(paths) == 0 {
		return r, nil
	}
	marks, values := pathList(paths)
	tables, err := sqldb.List(ctx, tx, scanTable, selectTable+" WHERE t.config_id = ? AND t.path IN ("+marks+")",
		append([]any{config.ID}, values...)...)
	for _, t := range tables {
		r.byPath[t.Path] = t
	}
	return r, err
}

// pathList returns the placeholders and values of a list of paths. Repetitions make its length a
// power of two, so that few different statements are prepared.
func pathList(paths []string) (marks string, values []any) {
	values = make([]any, 1<<bits.Len(uint(len(paths)-1)))
	for i := range values {
		values[i] = paths[min(i, len(paths)-1)]
	}
	return sqldb.Marks(len(values)), values
}

// taken reports whether a table of the configuration has a folded name.
func (r registrations) taken(ctx context.Context, folded string) (bool, error) {
	return exists(ctx, r.tx, "SELECT 1 FROM delta_tables WHERE config_id = ? AND name_key = ? AND state <> ?",
		r.config.ID, folded, catalog.TableDropped)
}

// purging reports whether the files of a dropped table are being deleted.
func (r registrations) purging(ctx context.Context, t catalog.Table) (bool, error) {
	return exists(ctx, r.tx, "SELECT 1 FROM delta_tables WHERE id = ? AND purging_at IS NOT NULL", t.ID)
}

// governed reports whether a Delta id has rules.
func (r registrations) governed(ctx context.Context, id catalog.DeltaID) (bool, error) {
	org := r.config.Org
	return exists(ctx, r.tx, `SELECT 1 FROM policies WHERE org_id = ? AND delta_id = ?
		UNION SELECT 1 FROM table_constraints WHERE org_id = ? AND delta_id = ?
		UNION SELECT 1 FROM column_domains WHERE org_id = ? AND delta_id = ?
		UNION SELECT 1 FROM domains WHERE org_id = ? AND source_delta_id = ?`, org, id, org, id, org, id, org, id)
}

func exists(ctx context.Context, tx sqldb.Session, query string, args ...any) (bool, error) {
	found, err := sqldb.List(ctx, tx, sqldb.Value[int64], query, args...)
	return len(found) > 0, err
}

// name gives t a free name. It retains the current name if that is allowed.
func (r registrations) name(ctx context.Context, t *catalog.Table) error {
	var failed error
	taken := func(folded string) bool {
		used, err := r.taken(ctx, folded)
		failed = errors.Join(failed, err)
		return used
	}
	if !t.NameIsCustom || taken(catalog.FoldName(t.Name)) {
		t.NameIsCustom = false
		t.Name = catalog.FreeName(t.Path, r.config.Slug, t.DeltaID, t.ID, taken)
	}
	return failed
}

func (r registrations) fresh(path string, delta catalog.DeltaID, now time.Time) catalog.Table {
	return catalog.Table{
		ID: catalog.NewID[catalog.TableID](), Org: r.config.Org, Config: r.config.ID,
		DeltaID: delta, Path: path, State: catalog.TableLive, Version: 1, RegisteredAt: now, UpdatedAt: now,
	}
}

// RegisterTable implements [catalog.Tables].
func (s *Store) RegisterTable(ctx context.Context, v catalog.Viewer, n catalog.NewTable) (registered catalog.Table, err error) {
	if err := n.Validate(); err != nil {
		return registered, err
	}
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		config, err := visibleConfig(ctx, tx, v, n.Config)
		if err != nil {
			return err
		}
		if err := moves.Covers(ctx, tx, config.ID, n.Path); err != nil {
			return err
		}
		known, err := loadRegistrations(ctx, tx, config, n.Path)
		if err != nil {
			return err
		}
		t, tombstone := known.byPath[n.Path]
		purging, err := known.purging(ctx, t)
		if err != nil {
			return err
		}
		switch {
		case !tombstone:
			t = known.fresh(n.Path, n.DeltaID, s.db.Clock())
		case t.State != catalog.TableDropped, purging:
			return &catalog.ExistsError{Field: "path"}
		default:
			t.DeltaID, t.PreviousDeltaID, t.State = n.DeltaID, "", catalog.TableLive
		}
		if n.Name == "" {
			t.NameIsCustom = false
			if err := known.name(ctx, &t); err != nil {
				return err
			}
		} else {
			taken, err := known.taken(ctx, catalog.FoldName(n.Name))
			if err != nil {
				return err
			}
			if taken {
				return &catalog.ExistsError{Field: "name"}
			}
			t.Name, t.NameIsCustom = n.Name, n.Name != catalog.PathName(n.Path, config.Slug)
		}
		registered = t
		if tombstone {
			err = s.updateTable(ctx, tx, &registered)
		} else {
			err = insertTable(ctx, tx, t)
		}
		if err != nil || !config.Sandbox {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE delta_tables SET created_by = COALESCE((SELECT u.id FROM users u WHERE u.id = ? AND u.kind = ?), ''),
			used_at = ?, size_bytes = 0, size_version = 0 WHERE id = ?`, v.User, catalog.UserPerson, sqldb.Micros(s.db.Clock()), t.ID)
		return err
	})
	return registered, err
}

// SyncTables implements [catalog.Tables].
func (s *Store) SyncTables(ctx context.Context, v catalog.Viewer, id catalog.ConfigID,
	discovery catalog.Discovery) (result catalog.DiscoveryResult, err error) {
	if err := discovery.Validate(); err != nil {
		return result, err
	}
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		config, err := visibleConfig(ctx, tx, v, id)
		if err != nil {
			return err
		}
		known, err := loadRegistrations(ctx, tx, config, discovery.Paths()...)
		if err != nil {
			return err
		}
		moving, err := moves.Owned(ctx, tx, config.ID)
		if err != nil {
			return err
		}
		changed := false
		for _, f := range discovery.Found {
			if moving(f.Path) {
				continue
			}
			updated, err := s.syncFound(ctx, tx, known, f, discovery.IncludeDropped, &result)
			if err != nil {
				return err
			}
			changed = changed || updated
		}
		for _, path := range discovery.Missing {
			t, registered := known.byPath[path]
			if !registered || t.State != catalog.TableLive || moving(path) {
				continue
			}
			updated, err := s.syncMissing(ctx, tx, t, discovery.VanishAfter, &result)
			if err != nil {
				return err
			}
			changed = changed || updated
		}
		if !changed {
			return sqldb.ErrUnchanged
		}
		return nil
	})
	if err != nil {
		return catalog.DiscoveryResult{}, err
	}
	if discovery.Complete {
		err = s.db.Transact(ctx, func(tx sqldb.Session) error {
			_, err := tx.Exec(ctx, "UPDATE storage_configs SET discovered_at = ? WHERE id = ?", sqldb.Micros(s.db.Clock()), id)
			return err
		})
	}
	return result, err
}

// syncMissing updates the registration of a live table that was not found. It reports whether it
// has changed.
func (s *Store) syncMissing(ctx context.Context, tx sqldb.Session, t catalog.Table, vanishAfter time.Duration,
	result *catalog.DiscoveryResult) (changed bool, err error) {
	now := s.db.Clock()
	if known := !t.MissingSince.IsZero(); known && now.Sub(t.MissingSince) >= vanishAfter {
		t.State = catalog.TableVanished
		err = s.updateTable(ctx, tx, &t)
		result.Vanished = append(result.Vanished, t)
		return true, err
	} else if result.Missing++; known {
		return false, nil
	}
	t.MissingSince = now
	return true, s.updateTable(ctx, tx, &t)
}

// syncFound updates one registration to match the table found at its path. It reports whether it
// has changed.
func (s *Store) syncFound(ctx context.Context, tx sqldb.Session, known registrations, f catalog.FoundTable, includeDropped bool,
	result *catalog.DiscoveryResult) (changed bool, err error) {
	before, registered := known.byPath[f.Path]
	if !registered && known.config.Sandbox {
		return false, nil // only the server creates tables there, and registers them with their creators
	}
	if !registered {
		t := known.fresh(f.Path, f.DeltaID, s.db.Clock())
		if err := known.name(ctx, &t); err != nil {
			return false, err
		}
		result.Found++
		result.Added = append(result.Added, t)
		return true, insertTable(ctx, tx, t)
	}
	if before.State == catalog.TableDropped {
		purging, err := known.purging(ctx, before)
		if err != nil || purging || !includeDropped {
			return false, err
		}
	}
	result.Found++
	t := before
	t.MissingSince = time.Time{}
	switch {
	case f.DeltaID == before.DeltaID && before.State == catalog.TableIdentityChanged:
		// The same unknown table as before: only a person can accept it.
	case f.DeltaID == before.DeltaID:
		t.State = catalog.TableLive
	case before.State == catalog.TableIdentityChanged && f.DeltaID == before.PreviousDeltaID:
		// The governed table has returned.
		t.DeltaID, t.PreviousDeltaID, t.State = f.DeltaID, "", catalog.TableLive
	case before.State == catalog.TableIdentityChanged:
		// Another unknown table. The governed id remains the previous id.
		t.DeltaID = f.DeltaID
	default:
		t.PreviousDeltaID, t.DeltaID, t.State = before.DeltaID, f.DeltaID, catalog.TableLive
		governed, err := known.governed(ctx, before.DeltaID)
		if err != nil {
			return false, err
		}
		if governed || f.Governed {
			t.State = catalog.TableIdentityChanged
		}
	}
	if before.State == catalog.TableDropped {
		if err := known.name(ctx, &t); err != nil {
			return false, err
		}
	}
	if t == before {
		return false, nil
	}
	if err := s.updateTable(ctx, tx, &t); err != nil {
		return false, err
	}
	switch {
	case before.State == catalog.TableDropped:
		result.Added = append(result.Added, t)
	case before.State == catalog.TableVanished:
		result.Returned = append(result.Returned, t)
	}
	if t.DeltaID != before.DeltaID {
		result.Changed = append(result.Changed, t)
	}
	return true, nil
}
