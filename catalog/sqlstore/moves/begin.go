package moves

import (
	"context"
	"errors"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// BeginMove implements [catalog.Moves].
func (s *Store) BeginMove(ctx context.Context, n catalog.NewMove) (begun catalog.Move, err error) {
	if err := n.Validate(); err != nil {
		return begun, err
	}
	if n.ID == "" {
		n.ID = catalog.NewID[catalog.MoveID]()
	}
	err = s.db.Change(ctx, func(tx sqldb.Session) error {
		if n.Key != "" {
			begun, err = one(ctx, tx, "m.org_id = ? AND m.key_hash = ?", n.Org, n.Key)
			switch {
			case err == nil && (begun.State != catalog.MoveFailed || begun.Epoch != 0 || begun.Fingerprint != n.Fingerprint):
				return sqldb.ErrUnchanged
			case err == nil:
				_, err = tx.Exec(ctx, "UPDATE moves SET key_hash = NULL WHERE id = ?", begun.ID)
			}
			if err != nil && !errors.Is(err, catalog.ErrNotFound) {
				return err
			}
		}
		source, err := location(ctx, tx, n.Org, n.Source)
		if err != nil {
			return err
		}
		target, err := location(ctx, tx, n.Org, n.Target)
		if err != nil {
			return err
		}
		if err := free(ctx, tx, n, source, target); err != nil {
			return err
		}
		if err := registrable(ctx, tx, n.Source, n.Target); err != nil {
			return err
		}
		now := sqldb.Micros(s.db.Clock())
		if err := tx.Insert(ctx, "id", `INSERT INTO moves (id, org_id, user_id, key_hash, fingerprint, source_config_id, source_path,
			source_location, target_config_id, target_path, target_location, state, objects, bytes, tables, undo, epoch, problem, holder,
			renewed_at, begun_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, '', 0, '', ?, ?, ?)`,
			n.ID, n.Org, n.User, sqldb.TextOrNull(n.Key), n.Fingerprint, n.Source.Config, n.Source.Path, source, n.Target.Config,
			n.Target.Path, target, catalog.MoveCopying, n.Holder, now, now); err != nil {
			return err
		}
		begun, err = one(ctx, tx, "m.id = ?", n.ID)
		return err
	})
	if err != nil {
		return catalog.Move{}, err
	}
	return begun, nil
}

// location returns the location of a place. It returns [catalog.ErrSandbox] for one in a sandbox.
func location(ctx context.Context, tx sqldb.Session, org catalog.OrgID, at catalog.Place) (catalog.Location, error) {
	var sandbox string
	root, err := sqldb.One(ctx, tx, func(r sqldb.Row) (l catalog.Location, err error) {
		err = r.Scan(&l, &sandbox)
		return l, err
	}, "SELECT c.location, c.sandbox FROM storage_configs c WHERE c.org_id = ? AND c.id = ? AND "+
		sqldb.LiveOrg("c.org_id"), org, at.Config)
	if err == nil && sandbox != "" {
		err = catalog.ErrSandbox
	}
	return root.Within(at.Path), err
}

// free checks that the places of a move overlap neither each other nor those of another move.
func free(ctx context.Context, tx sqldb.Session, n catalog.NewMove, source, target catalog.Location) error {
	if source.Overlaps(target) {
		return catalog.FieldErrors{{Field: "destination_path", Message: "must neither contain the source nor lie in it"}}
	}
	others, err := sqldb.List(ctx, tx, func(r sqldb.Row) (at [2]catalog.Location, err error) {
		err = r.Scan(&at[0], &at[1])
		return at, err
	}, "SELECT m.source_location, m.target_location FROM moves m WHERE m.org_id = ? AND "+live, n.Org)
	if err != nil {
		return err
	}
	for _, other := range others {
		for _, at := range other {
			if at.Overlaps(source) || at.Overlaps(target) {
				return catalog.ErrMoveUnderWay
			}
		}
	}
	return nil
}

// registrable checks the registrations around and at both places.
func registrable(ctx context.Context, tx sqldb.Session, source, target catalog.Place) error {
	for field, at := range map[string]catalog.Place{"source_path": source, "destination_path": target} {
		around, err := sqldb.One(ctx, tx, sqldb.Value[int64], `SELECT count(*) FROM delta_tables t
			WHERE t.config_id = ? AND t.state <> ? AND t.path <> ? AND `+below("?", "t.path"),
			at.Config, catalog.TableDropped, at.Path, at.Path, at.Path)
		if err != nil {
			return err
		}
		if around > 0 {
			return catalog.FieldErrors{{Field: field, Message: "must not lie in the folder of a table"}}
		}
	}
	moved, err := registered(ctx, tx, source)
	if err != nil {
		return err
	}
	if len(moved) > catalog.MaxMovedTables {
		return catalog.FieldErrors{{Field: "source_path", Message: "must not hold more than 1000 tables"}}
	}
	return vacant(ctx, tx, target)
}

// vacant returns [*catalog.ExistsError] unless only tombstones are registered at a place whose
// files are not being deleted.
func vacant(ctx context.Context, tx sqldb.Session, at catalog.Place) error {
	taken, err := registered(ctx, tx, at)
	if err != nil {
		return err
	}
	for _, t := range taken {
		if t.State != catalog.TableDropped || t.Purging {
			return &catalog.ExistsError{Field: "destination_path"}
		}
	}
	return nil
}

// Covers returns [catalog.ErrMoveUnderWay] if a move owns a path of a configuration: then no
// table can be registered there.
func Covers(ctx context.Context, tx sqldb.Session, config catalog.ConfigID, path string) error {
	owned, err := Owned(ctx, tx, config)
	if err == nil && owned(path) {
		err = catalog.ErrMoveUnderWay
	}
	return err
}

// Owned returns a function that reports whether a move owns a path of a configuration.
func Owned(ctx context.Context, tx sqldb.Session, config catalog.ConfigID) (func(path string) bool, error) {
	all, err := sqldb.List(ctx, tx, scanMove, "SELECT "+moveColumns+
		" FROM moves m WHERE (m.source_config_id = ? OR m.target_config_id = ?) AND "+live, config, config)
	return func(path string) bool {
		for _, m := range all {
			if m.Source.Covers(config, path) || m.Target.Covers(config, path) {
				return true
			}
		}
		return false
	}, err
}

// Uses returns [catalog.ErrMoveUnderWay] if a move concerns a configuration.
func Uses(ctx context.Context, tx sqldb.Session, config catalog.ConfigID) error {
	n, err := sqldb.One(ctx, tx, sqldb.Value[int64],
		"SELECT count(*) FROM moves m WHERE (m.source_config_id = ? OR m.target_config_id = ?) AND "+live, config, config)
	if err == nil && n > 0 {
		err = catalog.ErrMoveUnderWay
	}
	return err
}
