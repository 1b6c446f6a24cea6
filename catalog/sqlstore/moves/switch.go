package moves

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// registration is a row of delta_tables.
type registration struct {
	ID              catalog.TableID
	Org             catalog.OrgID
	Config          catalog.ConfigID
	Delta, Previous catalog.DeltaID
	Path, Name      string
	Custom          bool
	State           catalog.TableState
	Version         int64
	RegisteredAt    int64
	Purging         bool
}

// registered returns the registrations at a place, by path.
func registered(ctx context.Context, s sqldb.Session, at catalog.Place) ([]registration, error) {
	return sqldb.List(ctx, s, func(r sqldb.Row) (t registration, err error) {
		err = r.Scan(&t.ID, &t.Org, &t.Config, &t.Delta, &t.Previous, &t.Path, &t.Name, &t.Custom, &t.State, &t.Version, &t.RegisteredAt,
			&t.Purging)
		return t, err
	}, `SELECT t.id, t.org_id, t.config_id, t.delta_id, t.previous_delta_id, t.path, t.name, t.name_is_custom, t.state, t.version,
		t.registered_at, t.purging_at IS NOT NULL FROM delta_tables t WHERE t.config_id = ? AND `+below("t.path", "?")+` ORDER BY t.path`,
		at.Config, at.Path, at.Path, at.Path, at.Path)
}

// undo is what a switch changed.
type undo struct {
	// Moved are the registrations as they were, Removed those at the destination.
	Moved, Removed []registration
	// Domains are those that took their values from the source.
	Domains []catalog.DomainID
}

// SwitchMove implements [catalog.Moves].
func (s *Store) SwitchMove(ctx context.Context, id catalog.MoveID, holder string, copied catalog.MovedObjects) (catalog.Move, error) {
	return s.step(ctx, id, holder, func(tx sqldb.Session, m *catalog.Move) (err error) {
		if m.State != catalog.MoveCopying {
			return catalog.ErrNotFound
		}
		var before undo
		if before.Removed, err = registered(ctx, tx, m.Target); err != nil {
			return err
		}
		if err := vacant(ctx, tx, m.Target); err != nil {
			return err
		}
		if before.Moved, err = registered(ctx, tx, m.Source); err != nil {
			return err
		}
		for _, t := range before.Removed {
			if _, err := tx.Exec(ctx, "DELETE FROM delta_tables WHERE id = ?", t.ID); err != nil {
				return err
			}
		}
		slug, err := sqldb.One(ctx, tx, sqldb.Value[string], "SELECT c.slug FROM storage_configs c WHERE c.id = ?", m.Target.Config)
		if err != nil {
			return err
		}
		for _, t := range before.Moved {
			if err := s.place(ctx, tx, *m, slug, t); err != nil {
				return err
			}
			if t.State != catalog.TableDropped {
				m.Tables++
			}
		}
		if before.Domains, err = follow(ctx, tx, *m, before.Moved); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "UPDATE moves SET undo = ? WHERE id = ?", sqldb.JSONText(before), m.ID); err != nil {
			return err
		}
		m.State, m.Objects, m.Bytes = catalog.MoveSwitched, copied.Objects, copied.Bytes
		m.Epoch, err = sqldb.One(ctx, tx, sqldb.Value[uint64], "SELECT value FROM catalog_epoch WHERE id = 1")
		return err
	})
}

// place registers a table at the destination.
func (s *Store) place(ctx context.Context, tx sqldb.Session, m catalog.Move, slug string, t registration) error {
	rest := t.Path[len(m.Source.Path):] // begins with a slash unless it is empty, or the source is the root
	switch {
	case m.Target.Path == "" && rest != "" && rest[0] == '/':
		rest = rest[1:]
	case m.Target.Path != "" && rest != "" && rest[0] != '/':
		rest = "/" + rest
	}
	to := t
	to.Config, to.Path = m.Target.Config, m.Target.Path+rest
	if (catalog.NewTable{Config: to.Config, DeltaID: to.Delta, Path: to.Path}).Validate() != nil {
		return catalog.FieldErrors{{Field: "destination_path", Message: "makes the path of a table too long"}}
	}
	if t.State != catalog.TableDropped {
		var failed error
		taken := func(folded string) bool {
			n, err := sqldb.One(ctx, tx, sqldb.Value[int64], `SELECT count(*) FROM delta_tables WHERE config_id = ? AND name_key = ?
				AND state <> ? AND id <> ?`, to.Config, folded, catalog.TableDropped, t.ID)
			failed = errors.Join(failed, err)
			return n > 0
		}
		if !t.Custom || taken(catalog.FoldName(t.Name)) {
			to.Custom, to.Name = false, catalog.FreeName(to.Path, slug, t.Delta, t.ID, taken)
		}
		if failed != nil {
			return failed
		}
	}
	return s.put(ctx, tx, to)
}

// put gives a registration another place and name.
func (s *Store) put(ctx context.Context, tx sqldb.Session, t registration) error {
	_, err := tx.Exec(ctx, `UPDATE delta_tables SET config_id = ?, path = ?, name = ?, name_key = ?, name_is_custom = ?,
		version = version + 1, updated_at = ? WHERE id = ?`,
		t.Config, t.Path, t.Name, catalog.FoldName(t.Name), t.Custom, sqldb.Micros(s.db.Clock()), t.ID)
	return err
}

// follow has domains that take their values from moved tables take them from the destination.
func follow(ctx context.Context, tx sqldb.Session, m catalog.Move, moved []registration) (domains []catalog.DomainID, err error) {
	for _, t := range moved {
		changed, err := sqldb.List(ctx, tx, sqldb.Value[catalog.DomainID], `UPDATE domains SET source_config_id = ?
			WHERE org_id = ? AND source_config_id = ? AND source_delta_id = ? RETURNING id`, m.Target.Config, m.Org, m.Source.Config, t.Delta)
		if err != nil {
			return nil, err
		}
		domains = append(domains, changed...)
	}
	return domains, nil
}

// DiscardMove implements [catalog.Moves].
func (s *Store) DiscardMove(ctx context.Context, id catalog.MoveID, holder string,
	problem catalog.OperationProblem) (catalog.Move, error) {
	return s.step(ctx, id, holder, func(tx sqldb.Session, m *catalog.Move) error {
		switch m.State {
		case catalog.MoveCopying:
		case catalog.MoveSwitched:
			if err := s.revert(ctx, tx, *m); err != nil {
				return err
			}
			m.Objects, m.Bytes, m.Tables, m.Epoch = 0, 0, 0, 0
		default:
			return catalog.ErrNotFound
		}
		m.State, m.Problem = catalog.MoveDiscarding, &problem
		return nil
	})
}

// revert undoes a switch. Names that people gave the tables meanwhile are lost.
func (s *Store) revert(ctx context.Context, tx sqldb.Session, m catalog.Move) error {
	text, err := sqldb.One(ctx, tx, sqldb.Value[string], "SELECT undo FROM moves WHERE id = ?", m.ID)
	if err != nil {
		return err
	}
	var before undo
	if err := json.Unmarshal([]byte(text), &before); err != nil {
		return err
	}
	for _, t := range before.Moved {
		if err := s.put(ctx, tx, t); err != nil {
			return err
		}
	}
	for _, t := range before.Removed {
		if _, err := tx.Exec(ctx, `INSERT INTO delta_tables (id, org_id, config_id, delta_id, previous_delta_id, path, name, name_key,
			name_is_custom, state, version, registered_at, updated_at) VALUES (`+sqldb.Marks(13)+`)`,
			t.ID, t.Org, t.Config, t.Delta, t.Previous, t.Path, t.Name, catalog.FoldName(t.Name), t.Custom, t.State, t.Version, t.RegisteredAt,
			sqldb.Micros(s.db.Clock())); err != nil {
			return err
		}
	}
	for _, domain := range before.Domains {
		if _, err := tx.Exec(ctx, "UPDATE domains SET source_config_id = ? WHERE id = ? AND source_config_id = ?", m.Source.Config, domain,
			m.Target.Config); err != nil {
			return err
		}
	}
	return nil
}
