package domains

import (
	"context"
	"errors"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// Store implements [catalog.Domains] and [catalog.Publications]. It is safe for
// concurrent use.
type Store struct{ db *sqldb.DB }

var (
	_ catalog.Domains      = (*Store)(nil)
	_ catalog.Publications = (*Store)(nil)
)

// New returns the domains in a database.
func New(db *sqldb.DB) *Store { return &Store{db} }

// domainColumns can also be selected from an outer join that found no domain.
const domainColumns = `d.id, d.org_id, d.name, d.description, d.kind, d.source_config_id, d.source_delta_id, d.source_column,
	d.source_parent_key, d.range_min, d.range_max, COALESCE(d.range_inclusive, FALSE), COALESCE(d.version, 0), d.created_by,
	d.created_at, d.updated_at`

const (
	selectDomain       = "SELECT " + domainColumns + " FROM domains d"
	columnDomainPlace  = "a.org_id, a.delta_id, a.column_name, a.parent_column, "
	selectColumnDomain = "SELECT " + columnDomainPlace + domainColumns + " FROM column_domains a LEFT JOIN domains d ON d.id = a.domain_id"

	// present is the condition that the table of a column is not gone, see
	// [catalog.Domains]. The place of a table that another one has taken counts until the
	// change of identity is adopted.
	present = ` (EXISTS (SELECT 1 FROM delta_tables t WHERE t.org_id = a.org_id AND t.delta_id = a.delta_id
		AND t.state IN ('live', 'identity_changed'))
		OR EXISTS (SELECT 1 FROM delta_tables t WHERE t.org_id = a.org_id AND t.state = 'identity_changed'
		AND t.previous_delta_id = a.delta_id))`
)

// domainRow receives domainColumns.
type domainRow struct {
	catalog.Domain
	source catalog.DomainSource
	bounds catalog.DomainRangeBounds
}

func (d *domainRow) dest() []any {
	return []any{
		sqldb.OrEmpty(&d.ID), sqldb.OrEmpty(&d.Org), sqldb.OrEmpty(&d.Name), sqldb.OrEmpty(&d.Description), sqldb.OrEmpty(&d.Kind),
		sqldb.OrEmpty(&d.source.Config), sqldb.OrEmpty(&d.source.Table), sqldb.OrEmpty(&d.source.Column), sqldb.OrEmpty(&d.source.ParentKey),
		sqldb.OrEmpty(&d.bounds.Min), sqldb.OrEmpty(&d.bounds.Max), &d.bounds.Inclusive, &d.Version, sqldb.OrEmpty(&d.CreatedBy),
		sqldb.Time(&d.CreatedAt), sqldb.Time(&d.UpdatedAt),
	}
}

func (d *domainRow) domain() catalog.Domain {
	out := d.Domain
	if d.source.Table != "" {
		out.Source = &d.source
	}
	if out.Kind == catalog.DomainRange {
		out.Range = &d.bounds
	}
	return out
}

func scanDomain(r sqldb.Row) (catalog.Domain, error) {
	var d domainRow
	err := r.Scan(d.dest()...)
	return d.domain(), err
}

func columnDomainDest(c *catalog.ColumnDomain, d *domainRow) []any {
	return append([]any{sqldb.OrEmpty(&c.Org), sqldb.OrEmpty(&c.Table), sqldb.OrEmpty(&c.Column), sqldb.OrEmpty(&c.Parent)}, d.dest()...)
}

func scanColumnDomain(r sqldb.Row) (c catalog.ColumnDomain, err error) {
	var d domainRow
	err = r.Scan(columnDomainDest(&c, &d)...)
	c.Domain = d.domain()
	return c, err
}

func columnDomain(ctx context.Context, s sqldb.Session, org catalog.OrgID, table catalog.DeltaID,
	column string) (catalog.ColumnDomain, error) {
	return sqldb.One(ctx, s, scanColumnDomain, selectColumnDomain+" WHERE a.org_id = ? AND a.delta_id = ? AND a.column_name = ?",
		org, table, column)
}

// sharedDomain returns a domain with a name.
func sharedDomain(ctx context.Context, s sqldb.Session, org catalog.OrgID, id catalog.DomainID) (catalog.Domain, error) {
	return sqldb.One(ctx, s, scanDomain, selectDomain+" WHERE d.org_id = ? AND d.id = ? AND d.name_key <> '' AND "+
		sqldb.LiveOrg("d.org_id"), org, id)
}

// sharedDomainAt is sharedDomain with a check of the version.
func sharedDomainAt(ctx context.Context, s sqldb.Session, org catalog.OrgID, id catalog.DomainID, expected int64) (catalog.Domain, error) {
	d, err := sharedDomain(ctx, s, org, id)
	if err == nil {
		err = sqldb.Compare(expected, d.Version)
	}
	return d, err
}

// TableDomains implements [catalog.Domains].
func (s *Store) TableDomains(ctx context.Context, org catalog.OrgID, table catalog.DeltaID) (catalog.TableDomains, error) {
	domains := catalog.TableDomains{Columns: []catalog.ColumnDomain{}}
	found, err := sqldb.List(ctx, s.db.Read(), func(r sqldb.Row) (c catalog.ColumnDomain, err error) {
		var d domainRow
		err = r.Scan(append([]any{&domains.Version}, columnDomainDest(&c, &d)...)...)
		c.Domain = d.domain()
		return c, err
	}, "SELECT v.version, "+columnDomainPlace+domainColumns+` FROM table_domain_versions v
		LEFT JOIN column_domains a ON a.org_id = v.org_id AND a.delta_id = v.delta_id
		LEFT JOIN domains d ON d.id = a.domain_id
		WHERE v.org_id = ? AND v.delta_id = ? AND `+sqldb.LiveOrg("v.org_id")+" ORDER BY a.column_name", org, table)
	if err != nil {
		return catalog.TableDomains{}, err
	}
	if len(found) > 0 && found[0].Column != "" { // otherwise the row holds the version only
		domains.Columns = found
	}
	return domains, nil
}

// DomainsFrom implements [catalog.Domains].
func (s *Store) DomainsFrom(ctx context.Context, org catalog.OrgID, source catalog.DeltaID) ([]catalog.ColumnDomain, error) {
	return sqldb.List(ctx, s.db.Read(), scanColumnDomain, selectColumnDomain+" WHERE d.org_id = ? AND d.source_delta_id = ? AND "+
		present+" AND "+sqldb.LiveOrg("d.org_id")+" ORDER BY a.delta_id, a.column_name", org, source)
}

// insertDomain adds a domain with version 1 and its values.
func (s *Store) insertDomain(ctx context.Context, tx sqldb.Session, org catalog.OrgID, id catalog.DomainID, n catalog.NewDomain,
	by catalog.UserID) error {
	now := sqldb.Micros(s.db.Clock())
	args := append([]any{id, org}, specArgs(n)...)
	err := tx.Insert(ctx, "name", `INSERT INTO domains (id, org_id, name, name_key, description, kind, source_config_id, source_delta_id,
		source_column, source_parent_key, range_min, range_max, range_inclusive, version, created_by, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?)`, append(args, by, now, now)...)
	if err != nil {
		return err
	}
	return insertValues(ctx, tx, id, 0, identified(n.Values, nil, nil))
}

// updateDomain replaces the content of a domain and raises its version. Values that the
// domain has already keep their ids, if the kind is the same.
func (s *Store) updateDomain(ctx context.Context, tx sqldb.Session, before catalog.Domain, n catalog.NewDomain) error {
	_, err := tx.Exec(ctx, `UPDATE domains SET name = ?, name_key = ?, description = ?, kind = ?, source_config_id = ?, source_delta_id = ?,
		source_column = ?, source_parent_key = ?, range_min = ?, range_max = ?, range_inclusive = ? WHERE id = ?`,
		append(specArgs(n), before.ID)...)
	switch {
	case errors.Is(err, sqldb.ErrUnique):
		return &catalog.ExistsError{Field: "name"}
	case err != nil:
		return err
	}
	var kept map[textBelow]catalog.ValueID
	if before.Kind == n.Kind {
		values, err := domainValues(ctx, tx, before.ID)
		if err != nil {
			return err
		}
		kept = idsByText(values)
	}
	if _, err := tx.Exec(ctx, "DELETE FROM domain_values WHERE domain_id = ?", before.ID); err != nil {
		return err
	}
	if err := insertValues(ctx, tx, before.ID, 0, identified(n.Values, nil, kept)); err != nil {
		return err
	}
	return s.raiseDomain(ctx, tx, before.ID)
}

// specArgs returns the columns from name to range_inclusive.
func specArgs(n catalog.NewDomain) []any {
	var source catalog.DomainSource
	if n.Source != nil {
		source = *n.Source
	}
	var bounds catalog.DomainRangeBounds
	if n.Range != nil {
		bounds = *n.Range
	}
	return []any{
		n.Name, sqldb.NameKey(n.Name), n.Description, n.Kind, source.Config, source.Table, source.Column, source.ParentKey,
		bounds.Min, bounds.Max, bounds.Inclusive,
	}
}

// raiseDomain raises the version of a domain, and those of the tables that use it.
func (s *Store) raiseDomain(ctx context.Context, tx sqldb.Session, id catalog.DomainID) error {
	_, err := tx.Exec(ctx, "UPDATE domains SET version = version + 1, updated_at = ? WHERE id = ?", sqldb.Micros(s.db.Clock()), id)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO table_domain_versions (org_id, delta_id, version)
		SELECT DISTINCT a.org_id, a.delta_id, 1 FROM column_domains a WHERE a.domain_id = ?
		ON CONFLICT (org_id, delta_id) DO UPDATE SET version = table_domain_versions.version + 1`, id)
	return err
}

// raiseTable raises the version of the domains of one table.
func raiseTable(ctx context.Context, tx sqldb.Session, org catalog.OrgID, table catalog.DeltaID) error {
	_, err := tx.Exec(ctx, `INSERT INTO table_domain_versions (org_id, delta_id, version) VALUES (?, ?, 1)
		ON CONFLICT (org_id, delta_id) DO UPDATE SET version = table_domain_versions.version + 1`, org, table)
	return err
}

// unchanging returns ErrValueChange while a value of a domain is being changed in rows.
func unchanging(ctx context.Context, tx sqldb.Session, id catalog.DomainID) error {
	n, err := sqldb.One(ctx, tx, sqldb.Value[int64], "SELECT COUNT(*) FROM value_changes WHERE domain_id = ?", id)
	if err == nil && n > 0 {
		err = catalog.ErrValueChange
	}
	return err
}
