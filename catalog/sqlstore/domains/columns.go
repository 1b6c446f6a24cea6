package domains

import (
	"context"
	"errors"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// SetColumnDomain implements [catalog.Domains].
func (s *Store) SetColumnDomain(ctx context.Context, v catalog.Viewer, table catalog.TableID, at catalog.ColumnDomainAt,
	n catalog.NewDomain, by catalog.UserID) (set catalog.ColumnDomain, err error) {
	if err := n.ValidateOwn(); err != nil {
		return set, err
	}
	if err := at.Validate(n.Kind); err != nil {
		return set, err
	}
	err = s.changeColumn(ctx, v, table, at, func(tx sqldb.Session, t catalog.Table, before *catalog.Domain) error {
		id := catalog.NewID[catalog.DomainID]()
		if before != nil && before.ID != "" && !before.Shared() {
			id = before.ID
			err = s.updateDomain(ctx, tx, *before, n)
		} else {
			err = s.insertDomain(ctx, tx, t.Org, id, n, by)
		}
		if err != nil {
			return err
		}
		set, err = putColumnDomain(ctx, tx, t.Org, t.DeltaID, at, id)
		return err
	})
	return set, err
}

// UseDomain implements [catalog.Domains].
func (s *Store) UseDomain(ctx context.Context, v catalog.Viewer, table catalog.TableID, at catalog.ColumnDomainAt,
	id catalog.DomainID, _ catalog.UserID) (set catalog.ColumnDomain, err error) {
	err = s.changeColumn(ctx, v, table, at, func(tx sqldb.Session, t catalog.Table, before *catalog.Domain) error {
		if id != "" {
			d, err := sharedDomain(ctx, tx, t.Org, id)
			if err != nil {
				return err
			}
			if err := at.Validate(d.Kind); err != nil {
				return err
			}
			// A table that begins to use the domain during a change of a value would not be rewritten.
			if err := unchanging(ctx, tx, id); err != nil {
				return err
			}
		}
		if set, err = putColumnDomain(ctx, tx, t.Org, t.DeltaID, at, id); err != nil {
			return err
		}
		return deleteOwn(ctx, tx, before)
	})
	return set, err
}

// RemoveColumnDomain implements [catalog.Domains].
func (s *Store) RemoveColumnDomain(ctx context.Context, v catalog.Viewer, table catalog.TableID, at catalog.ColumnDomainAt) error {
	return s.changeColumn(ctx, v, table, at, func(tx sqldb.Session, t catalog.Table, before *catalog.Domain) error {
		if before == nil {
			return catalog.ErrNotFound
		}
		_, err := tx.Exec(ctx, "DELETE FROM column_domains WHERE org_id = ? AND delta_id = ? AND column_name = ?",
			t.Org, t.DeltaID, at.Column)
		if err != nil {
			return err
		}
		return deleteOwn(ctx, tx, before)
	})
}

// changeColumn runs fn in a transaction with the domain that the column has, or nil, and
// raises the version of the table's domains. A deleted domain has no id.
func (s *Store) changeColumn(ctx context.Context, v catalog.Viewer, table catalog.TableID, at catalog.ColumnDomainAt,
	fn func(tx sqldb.Session, t catalog.Table, before *catalog.Domain) error) error {
	return s.db.Change(ctx, func(tx sqldb.Session) error {
		t, err := locate(ctx, tx, v, table)
		if err != nil {
			return err
		}
		var before *catalog.Domain
		found, err := columnDomain(ctx, tx, t.Org, t.DeltaID, at.Column)
		switch {
		case err == nil:
			before = &found.Domain
			err = unchanging(ctx, tx, before.ID)
		case errors.Is(err, catalog.ErrNotFound):
			err = nil
		}
		if err != nil {
			return err
		}
		if err := expect(at, before); err != nil {
			return err
		}
		if err := raiseTable(ctx, tx, t.Org, t.DeltaID); err != nil {
			return err
		}
		return fn(tx, t, before)
	})
}

// locate returns the organisation and the Delta id of a table that a viewer sees.
func locate(ctx context.Context, tx sqldb.Session, v catalog.Viewer, id catalog.TableID) (catalog.Table, error) {
	var w sqldb.Where
	w.Visible(v)
	w.And("t.id = ?", id)
	return sqldb.One(ctx, tx, func(r sqldb.Row) (t catalog.Table, err error) {
		err = r.Scan(&t.Org, &t.DeltaID)
		return t, err
	}, "SELECT t.org_id, t.delta_id FROM delta_tables t JOIN storage_configs c ON c.id = t.config_id WHERE "+w.Text, w.Args...)
}

// expect compares the domain of a column with the expected one.
func expect(at catalog.ColumnDomainAt, current *catalog.Domain) error {
	switch {
	case at.ExpectNone && current != nil:
		return &catalog.VersionConflictError{Current: current.Version}
	case at.Expected == "":
		return nil
	case current == nil:
		return &catalog.VersionConflictError{}
	case at.Expected != current.ID:
		return &catalog.VersionConflictError{Current: current.Version}
	}
	return sqldb.Compare(at.ExpectedVersion, current.Version)
}

// deleteOwn removes a domain that no column uses any more, unless it is shared.
func deleteOwn(ctx context.Context, tx sqldb.Session, d *catalog.Domain) error {
	if d == nil || d.Shared() {
		return nil
	}
	_, err := tx.Exec(ctx, "DELETE FROM domains WHERE id = ?", d.ID)
	return err
}

// Purge removes the domains of a table that was dropped with its files, unless it is
// registered elsewhere, too.
func Purge(ctx context.Context, tx sqldb.Session, t catalog.Table) error {
	others, err := sqldb.One(ctx, tx, sqldb.Value[int64], `SELECT COUNT(*) FROM delta_tables o WHERE o.org_id = ? AND o.id <> ?
		AND (o.delta_id = ? OR o.state = ? AND o.previous_delta_id = ?)`,
		t.Org, t.ID, t.DeltaID, catalog.TableIdentityChanged, t.DeltaID)
	if err != nil || others > 0 {
		return err
	}
	if err := raiseTable(ctx, tx, t.Org, t.DeltaID); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `DELETE FROM domains WHERE name_key = '' AND id IN
		(SELECT a.domain_id FROM column_domains a WHERE a.org_id = ? AND a.delta_id = ?)`, t.Org, t.DeltaID)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "DELETE FROM column_domains WHERE org_id = ? AND delta_id = ?", t.Org, t.DeltaID)
	return err
}

// putColumnDomain gives a column a domain that exists.
func putColumnDomain(ctx context.Context, tx sqldb.Session, org catalog.OrgID, table catalog.DeltaID, at catalog.ColumnDomainAt,
	id catalog.DomainID) (none catalog.ColumnDomain, err error) {
	_, err = tx.Exec(ctx, `INSERT INTO column_domains (org_id, delta_id, column_name, parent_column, domain_id) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (org_id, delta_id, column_name) DO UPDATE SET parent_column = excluded.parent_column, domain_id = excluded.domain_id`,
		org, table, at.Column, at.Parent, sqldb.TextOrNull(id))
	if err != nil {
		return none, err
	}
	if err := acyclic(ctx, tx, org, column{table, at.Column}); err != nil {
		return none, err
	}
	return columnDomain(ctx, tx, org, table, at.Column)
}

// column is a node of the graph in which a column depends on the columns from which its
// domain takes the allowed values.
type column struct {
	table catalog.DeltaID
	name  string
}

// acyclic returns ErrDomainCycle if a column depends on itself.
func acyclic(ctx context.Context, tx sqldb.Session, org catalog.OrgID, start column) error {
	seen := map[column]bool{}
	for open := []column{start}; len(open) > 0; {
		from := open[len(open)-1]
		open = open[:len(open)-1]
		c, err := columnDomain(ctx, tx, org, from.table, from.name)
		if errors.Is(err, catalog.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		for _, next := range dependsOn(c) {
			if next == start {
				return catalog.ErrDomainCycle
			}
			if !seen[next] {
				seen[next] = true
				open = append(open, next)
			}
		}
	}
	return nil
}

// dependsOn returns the columns that decide which values a domain allows.
func dependsOn(c catalog.ColumnDomain) (columns []column) {
	if c.Parent != "" {
		columns = append(columns, column{c.Table, c.Parent})
	}
	if source := c.Domain.Source; source != nil {
		columns = append(columns, column{source.Table, source.Column})
		if source.ParentKey != "" {
			columns = append(columns, column{source.Table, source.ParentKey})
		}
	}
	return columns
}

// Adopt gives the columns of one table the domains of another's, on behalf of by,
// and makes the new table the source of the domains that take their values from the old
// one. Domains of the old table itself keep their source. It returns
// [catalog.ErrDomainCycle] if a column would depend on itself.
func (s *Store) Adopt(ctx context.Context, tx sqldb.Session, from catalog.DeltaID, to catalog.Table, by catalog.UserID) error {
	columns, err := sqldb.List(ctx, tx, scanColumnDomain, selectColumnDomain+` WHERE a.org_id = ? AND a.delta_id = ?
		AND NOT EXISTS (SELECT 1 FROM column_domains o WHERE o.org_id = a.org_id AND o.delta_id = ? AND o.column_name = a.column_name)`,
		to.Org, from, to.DeltaID)
	if err != nil {
		return err
	}
	for _, c := range columns {
		id := c.Domain.ID
		switch {
		case c.Domain.Shared():
			err = unchanging(ctx, tx, id) // a change under way would not rewrite the new table
		case !c.Deleted():
			id, err = s.copyDomain(ctx, tx, c.Domain, from, to, by)
		}
		if err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "INSERT INTO column_domains (org_id, delta_id, column_name, parent_column, domain_id) VALUES (?, ?, ?, ?, ?)",
			to.Org, to.DeltaID, c.Column, c.Parent, sqldb.TextOrNull(id))
		if err != nil {
			return err
		}
	}
	if len(columns) > 0 {
		if err := raiseTable(ctx, tx, to.Org, to.DeltaID); err != nil {
			return err
		}
	}
	sourced, err := sqldb.List(ctx, tx, sqldb.Value[catalog.DomainID], `SELECT d.id FROM domains d WHERE d.org_id = ? AND d.source_delta_id = ?
		AND (d.name_key <> '' OR NOT EXISTS (SELECT 1 FROM column_domains a WHERE a.domain_id = d.id AND a.delta_id = ?))`,
		to.Org, from, from)
	if err != nil {
		return err
	}
	for _, id := range sourced {
		_, err := tx.Exec(ctx, "UPDATE domains SET source_delta_id = ?, source_config_id = ? WHERE id = ?", to.DeltaID, to.Config, id)
		if err != nil {
			return err
		}
		if err := s.raiseDomain(ctx, tx, id); err != nil {
			return err
		}
	}
	// Every dependency that is new starts at a column of the new table, or ends at one.
	columns, err = sqldb.List(ctx, tx, scanColumnDomain, selectColumnDomain+" WHERE a.org_id = ? AND a.delta_id = ?", to.Org, to.DeltaID)
	for _, c := range columns {
		if err == nil {
			err = acyclic(ctx, tx, to.Org, column{c.Table, c.Column})
		}
	}
	return err
}

// copyDomain copies a domain with its values, under new ids. If a value is being renamed,
// rows of the new table may have either text, so the copy has both. It also has a value
// whose deletion is under way, which may be withdrawn.
func (s *Store) copyDomain(ctx context.Context, tx sqldb.Session, d catalog.Domain, from catalog.DeltaID, to catalog.Table,
	by catalog.UserID) (catalog.DomainID, error) {
	n := catalog.NewDomain{DomainSpec: d.DomainSpec}
	if d.Source != nil && d.Source.Table == from {
		source := *d.Source
		source.Table, source.Config = to.DeltaID, to.Config
		n.Source = &source
	}
	values, err := domainValues(ctx, tx, d.ID)
	if err != nil {
		return "", err
	}
	parents := map[catalog.ValueID]string{}
	for _, v := range values {
		parents[v.ID] = v.Value
		copied := catalog.NewDomainValue{Parent: parents[v.Parent], Value: v.Value, Label: v.Label, Description: v.Description}
		n.Values = append(n.Values, copied)
		if v.Joining != "" {
			copied.Value = v.Joining
			n.Values = append(n.Values, copied)
		}
	}
	id := catalog.NewID[catalog.DomainID]()
	return id, s.insertDomain(ctx, tx, to.Org, id, n, by)
}
