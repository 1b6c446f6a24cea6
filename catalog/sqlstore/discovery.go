package sqlstore

import (
	"context"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// registrations holds the registered tables of one configuration within a transaction.
type registrations struct {
	config catalog.StorageConfig
	byPath map[string]catalog.Table
	// taken holds the folded names in use.
	taken map[string]bool
	// governed holds the Delta ids that have rules.
	governed map[catalog.DeltaID]bool
}

func loadRegistrations(ctx context.Context, tx sqldb.Session, config catalog.StorageConfig) (registrations, error) {
	r := registrations{
		config:   config,
		byPath:   map[string]catalog.Table{},
		taken:    map[string]bool{},
		governed: map[catalog.DeltaID]bool{},
	}
	tables, err := sqldb.List(ctx, tx, scanTable, selectTable+" WHERE t.config_id = ?", config.ID)
	if err != nil {
		return r, err
	}
	for _, t := range tables {
		r.byPath[t.Path] = t
		if t.State != catalog.TableDropped {
			r.taken[catalog.FoldName(t.Name)] = true
		}
	}
	governed, err := sqldb.List(ctx, tx, sqldb.Value[catalog.DeltaID], `SELECT delta_id FROM policies WHERE org_id = ? AND delta_id <> ''
		UNION SELECT delta_id FROM table_constraints WHERE org_id = ?
		UNION SELECT delta_id FROM column_domains WHERE org_id = ?
		UNION SELECT source_delta_id FROM domains WHERE org_id = ? AND source_delta_id <> ''`,
		config.Org, config.Org, config.Org, config.Org)
	for _, id := range governed {
		r.governed[id] = true
	}
	return r, err
}

// name gives t a free name. It retains the current name if that is allowed.
func (r registrations) name(t *catalog.Table) {
	if !t.NameIsCustom || r.taken[catalog.FoldName(t.Name)] {
		t.NameIsCustom = false
		t.Name = catalog.FreeName(t.Path, r.config.Slug, t.DeltaID, t.ID, func(folded string) bool { return r.taken[folded] })
	}
	r.taken[catalog.FoldName(t.Name)] = true
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
		known, err := loadRegistrations(ctx, tx, config)
		if err != nil {
			return err
		}
		t, tombstone := known.byPath[n.Path]
		switch {
		case !tombstone:
			t = known.fresh(n.Path, n.DeltaID, s.db.Clock())
		case t.State != catalog.TableDropped:
			return &catalog.ExistsError{Field: "path"}
		default:
			t.DeltaID, t.PreviousDeltaID, t.State = n.DeltaID, "", catalog.TableLive
		}
		if n.Name == "" {
			t.NameIsCustom = false
			known.name(&t)
		} else {
			if known.taken[catalog.FoldName(n.Name)] {
				return &catalog.ExistsError{Field: "name"}
			}
			t.Name, t.NameIsCustom = n.Name, n.Name != catalog.PathName(n.Path, config.Slug)
		}
		registered = t
		if tombstone {
			return s.updateTable(ctx, tx, &registered)
		}
		return insertTable(ctx, tx, t)
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
		known, err := loadRegistrations(ctx, tx, config)
		if err != nil {
			return err
		}
		found := make(map[string]bool, len(discovery.Found))
		for _, f := range discovery.Found {
			found[f.Path] = true
			if err := s.syncFound(ctx, tx, known, f, discovery.IncludeDropped, &result); err != nil {
				return err
			}
		}
		if discovery.Complete {
			for path, t := range known.byPath {
				if found[path] || t.State != catalog.TableLive {
					continue
				}
				t.State = catalog.TableVanished
				if err := s.updateTable(ctx, tx, &t); err != nil {
					return err
				}
				result.Vanished = append(result.Vanished, t)
			}
		}
		if len(result.Added)+len(result.Returned)+len(result.Vanished)+len(result.Changed) == 0 {
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

// syncFound updates one registration to match the table found at its path.
func (s *Store) syncFound(ctx context.Context, tx sqldb.Session, known registrations, f catalog.FoundTable, includeDropped bool,
	result *catalog.DiscoveryResult) error {
	before, registered := known.byPath[f.Path]
	if !registered {
		t := known.fresh(f.Path, f.DeltaID, s.db.Clock())
		known.name(&t)
		result.Found++
		result.Added = append(result.Added, t)
		return insertTable(ctx, tx, t)
	}
	if before.State == catalog.TableDropped && !includeDropped {
		return nil
	}
	result.Found++
	t := before
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
		if known.governed[before.DeltaID] || f.Governed {
			t.State = catalog.TableIdentityChanged
		}
	}
	if before.State == catalog.TableDropped {
		known.name(&t)
	}
	if t == before {
		return nil
	}
	if err := s.updateTable(ctx, tx, &t); err != nil {
		return err
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
	return nil
}
