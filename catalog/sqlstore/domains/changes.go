package domains

import (
	"context"
	"errors"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

const valueChangeColumns = "id, org_id, domain_id, kind, value_id, from_text, to_text, parent_text, narrowed, withdrawn, changed_by, holder"

func scanValueChange(r sqldb.Row) (c catalog.ValueChange, err error) {
	err = r.Scan(&c.ID, &c.Org, &c.Domain, &c.Kind, &c.Value, &c.From, &c.To, &c.Parent, &c.Narrowed, &c.Withdrawn, &c.By, &c.Holder)
	return c, err
}

// BeginValueChange implements [catalog.Domains].
func (s *Store) BeginValueChange(ctx context.Context, t catalog.DomainTarget,
	c catalog.ValueChange) (begun catalog.ValueChange, err error) {
	if err := c.Validate(); err != nil {
		return begun, err
	}
	if c.ID == "" {
		c.ID = catalog.NewID[catalog.ValueChangeID]()
	}
	_, err = s.changeValues(ctx, t, func(tx sqldb.Session, d catalog.Domain, values []catalog.DomainValue) error {
		if err := unchanging(ctx, tx, d.ID); err != nil {
			return err
		}
		v, parent, err := valueIn(values, c.Value)
		if err != nil {
			return err
		}
		_, exists := idsByText(values)[textBelow{parent, c.To}]
		switch {
		case c.Kind == catalog.ValueRename && exists:
			return &catalog.ExistsError{Field: "value"}
		case c.Kind == catalog.ValueReplace && (!exists || c.To == v.Value):
			return catalog.FieldErrors{{Field: "value", Message: "must be another value of the domain"}}
		case c.Kind == catalog.ValueRename:
			if _, err := tx.Exec(ctx, "UPDATE domain_values SET joining = ? WHERE id = ?", c.To, c.Value); err != nil {
				return err
			}
		}
		c.Org, c.Domain, c.From, c.Parent, c.Withdrawn = d.Org, d.ID, v.Value, parent, false
		c.Narrowed = c.Kind == catalog.ValueDelete
		return tx.Insert(ctx, "id", "INSERT INTO value_changes ("+valueChangeColumns+", renewed_at) VALUES ("+sqldb.Marks(13)+")",
			c.ID, c.Org, c.Domain, c.Kind, c.Value, c.From, c.To, c.Parent, c.Narrowed, c.Withdrawn, c.By, c.Holder, sqldb.Micros(s.db.Clock()))
	})
	if err != nil {
		return begun, err
	}
	return c, nil
}

// RenewValueChange implements [catalog.Domains].
func (s *Store) RenewValueChange(ctx context.Context, id catalog.ValueChangeID, holder string) error {
	return s.db.Transact(ctx, func(tx sqldb.Session) error {
		n, err := tx.Exec(ctx, "UPDATE value_changes SET renewed_at = ? WHERE id = ? AND holder = ?", sqldb.Micros(s.db.Clock()), id, holder)
		if err == nil && n == 0 {
			err = catalog.ErrNotFound
		}
		return err
	})
}

// stepValueChange runs fn in a transaction with a change, and raises the versions.
func (s *Store) stepValueChange(ctx context.Context, id catalog.ValueChangeID,
	fn func(tx sqldb.Session, c catalog.ValueChange) error) error {
	return s.db.Change(ctx, func(tx sqldb.Session) error {
		c, err := sqldb.One(ctx, tx, scanValueChange, "SELECT "+valueChangeColumns+" FROM value_changes WHERE id = ?", id)
		if err != nil {
			return err
		}
		if err := fn(tx, c); err != nil {
			return err
		}
		return s.raiseDomain(ctx, tx, c.Domain)
	})
}

// NarrowValueChange implements [catalog.Domains].
func (s *Store) NarrowValueChange(ctx context.Context, id catalog.ValueChangeID) error {
	return s.stepValueChange(ctx, id, func(tx sqldb.Session, c catalog.ValueChange) (err error) {
		if c.Narrowed {
			return sqldb.ErrUnchanged
		}
		if c.Kind == catalog.ValueRename {
			_, err = tx.Exec(ctx, "UPDATE domain_values SET value = ?, joining = '' WHERE id = ?", c.To, c.Value)
		} else {
			err = deleteValue(ctx, tx, c.Domain, c.Value)
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "UPDATE value_changes SET narrowed = ? WHERE id = ?", true, id)
		return err
	})
}

// WithdrawValueChange implements [catalog.Domains].
func (s *Store) WithdrawValueChange(ctx context.Context, id catalog.ValueChangeID) error {
	err := s.stepValueChange(ctx, id, func(tx sqldb.Session, c catalog.ValueChange) error {
		switch {
		case c.Withdrawn:
			return sqldb.ErrUnchanged
		case c.Narrowed && c.Kind != catalog.ValueDelete:
			return catalog.ErrValueChange
		case c.Kind != catalog.ValueRename:
			_, err := tx.Exec(ctx, "DELETE FROM value_changes WHERE id = ?", id)
			return err
		}
		if _, err := tx.Exec(ctx, "UPDATE domain_values SET joining = '' WHERE id = ?", c.Value); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "UPDATE value_changes SET from_text = ?, to_text = ?, narrowed = ?, withdrawn = ? WHERE id = ?",
			c.To, c.From, true, true, id)
		return err
	})
	if errors.Is(err, catalog.ErrNotFound) { // withdrawn or ended before
		err = nil
	}
	return err
}

// EndValueChange implements [catalog.Domains].
func (s *Store) EndValueChange(ctx context.Context, id catalog.ValueChangeID) error {
	return s.db.Transact(ctx, func(tx sqldb.Session) error {
		ended, err := sqldb.List(ctx, tx, scanValueChange,
			"DELETE FROM value_changes WHERE id = ? AND narrowed RETURNING "+valueChangeColumns, id)
		switch {
		case err != nil:
			return err
		case len(ended) > 0 && ended[0].Kind == catalog.ValueDelete:
			return deleteValue(ctx, tx, ended[0].Domain, ended[0].Value)
		case len(ended) > 0:
			return nil
		}
		open, err := sqldb.One(ctx, tx, sqldb.Value[int64], "SELECT COUNT(*) FROM value_changes WHERE id = ?", id)
		if err == nil && open > 0 {
			err = catalog.ErrValueChange
		}
		return err
	})
}

// TakeValueChanges implements [catalog.Domains].
func (s *Store) TakeValueChanges(ctx context.Context, holder string, since time.Time) (taken []catalog.ValueChange, err error) {
	err = s.db.Transact(ctx, func(tx sqldb.Session) error {
		taken, err = sqldb.List(ctx, tx, scanValueChange, `UPDATE value_changes SET holder = ?, renewed_at = ?
			WHERE (renewed_at < ? OR holder = ?) AND `+sqldb.LiveOrg("value_changes.org_id")+" RETURNING "+valueChangeColumns,
			holder, sqldb.Micros(s.db.Clock()), sqldb.Micros(since), holder)
		return err
	})
	return taken, err
}
