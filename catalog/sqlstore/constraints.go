package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

const selectConstraint = "SELECT k.org_id, k.delta_id, k.name, k.expression, k.created_by, k.created_at FROM table_constraints k"

func scanConstraint(r sqldb.Row) (c catalog.Constraint, err error) {
	err = r.Scan(&c.Org, &c.Table, &c.Name, &c.Expression, &c.CreatedBy, sqldb.Time(&c.CreatedAt))
	return c, err
}

// AddConstraints implements [catalog.Constraints].
func (s *Store) AddConstraints(ctx context.Context, v catalog.Viewer, id catalog.TableID, constraints []catalog.NewConstraint,
	by catalog.UserID) error {
	if err := catalog.ValidateConstraints(constraints); err != nil {
		return err
	}
	return s.db.Change(ctx, func(tx sqldb.Session) error {
		t, err := visibleTable(ctx, tx, v, id)
		if err != nil {
			return err
		}
		if len(constraints) == 0 {
			return sqldb.ErrUnchanged
		}
		for i, c := range constraints {
			if err := s.insertConstraint(ctx, tx, t.Org, t.DeltaID, c, by, fmt.Sprintf("constraints[%d].name", i)); err != nil {
				return err
			}
		}
		n, err := sqldb.One(ctx, tx, sqldb.Value[int64],
			"SELECT COUNT(*) FROM table_constraints WHERE org_id = ? AND delta_id = ?", t.Org, t.DeltaID)
		if err == nil && n > catalog.MaxTableConstraints {
			err = catalog.FieldErrors{{Field: "constraints", Message: fmt.Sprintf("a table has at most %d", catalog.MaxTableConstraints)}}
		}
		return err
	})
}

func (s *Store) insertConstraint(ctx context.Context, tx sqldb.Session, org catalog.OrgID, table catalog.DeltaID, c catalog.NewConstraint,
	by catalog.UserID, field string) error {
	return tx.Insert(ctx, field, `INSERT INTO table_constraints (org_id, delta_id, name, name_key, expression, created_by, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?)`, org, table, c.Name, catalog.FoldName(c.Name), c.Expression, by, sqldb.Micros(s.db.Clock()))
}

// Constraints implements [catalog.Constraints].
func (s *Store) Constraints(ctx context.Context, org catalog.OrgID, table catalog.DeltaID) ([]catalog.Constraint, error) {
	return sqldb.List(ctx, s.db.Read(), scanConstraint, selectConstraint+" WHERE k.org_id = ? AND k.delta_id = ? AND "+
		sqldb.LiveOrg("k.org_id")+" ORDER BY k.name_key", org, table)
}

// DeleteConstraint implements [catalog.Constraints].
func (s *Store) DeleteConstraint(ctx context.Context, v catalog.Viewer, id catalog.TableID, name string) error {
	return s.db.Change(ctx, func(tx sqldb.Session) error {
		t, err := visibleTable(ctx, tx, v, id)
		if err != nil {
			return err
		}
		n, err := tx.Exec(ctx, "DELETE FROM table_constraints WHERE org_id = ? AND delta_id = ? AND name_key = ?",
			t.Org, t.DeltaID, catalog.FoldName(name))
		if err == nil && n == 0 {
			err = catalog.ErrNotFound
		}
		return err
	})
}

// copyConstraints copies the constraints of one table to another.
func (s *Store) copyConstraints(ctx context.Context, tx sqldb.Session, org catalog.OrgID, from, to catalog.DeltaID,
	by catalog.UserID) error {
	_, err := tx.Exec(ctx, `INSERT INTO table_constraints (org_id, delta_id, name, name_key, expression, created_by, created_at)
		SELECT k.org_id, ?, k.name, k.name_key, k.expression, ?, ? FROM table_constraints k
		WHERE k.org_id = ? AND k.delta_id = ? AND NOT EXISTS (SELECT 1 FROM table_constraints o
			WHERE o.org_id = k.org_id AND o.delta_id = ? AND o.name_key = k.name_key)`,
		to, by, sqldb.Micros(s.db.Clock()), org, from, to)
	return err
}

// RememberedRules implements [catalog.Constraints].
func (s *Store) RememberedRules(ctx context.Context, table catalog.TableID, id catalog.DeltaID) (catalog.RememberedRules, error) {
	found, err := sqldb.One(ctx, s.db.Read(), func(r sqldb.Row) (k catalog.RememberedRules, err error) {
		err = r.Scan(&k.Table, &k.DeltaID, &k.Version, sqldb.JSON(&k.Stated), sqldb.JSON(&k.Dropped))
		return k, err
	}, "SELECT table_id, delta_id, version, stated, dropped FROM table_rules WHERE table_id = ? AND delta_id = ?", table, id)
	if errors.Is(err, catalog.ErrNotFound) {
		return catalog.RememberedRules{}, nil
	}
	return found, err
}

// RememberRules implements [catalog.Constraints].
func (s *Store) RememberRules(ctx context.Context, k catalog.RememberedRules) error {
	return s.db.Transact(ctx, func(tx sqldb.Session) error {
		_, err := tx.Exec(ctx, `INSERT INTO table_rules (table_id, delta_id, version, stated, dropped)
			SELECT t.id, ?, ?, ?, ? FROM delta_tables t WHERE t.id = ?
			ON CONFLICT (table_id) DO UPDATE SET delta_id = excluded.delta_id, version = excluded.version, stated = excluded.stated,
			dropped = excluded.dropped WHERE table_rules.delta_id <> excluded.delta_id OR table_rules.version <= excluded.version`,
			k.DeltaID, k.Version, sqldb.JSONText(k.Stated), sqldb.JSONText(k.Dropped), k.Table)
		return err
	})
}
