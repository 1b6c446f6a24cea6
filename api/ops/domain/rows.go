package domain

import (
	"context"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// proposal is a domain that a column has or is to get, with its values if the catalog lists
// them.
type proposal struct {
	catalog.ColumnDomain
	values []catalog.DomainValue
}

// Outside describes the rows outside a domain, as far as the caller sees them.
type Outside struct {
	write.Outside
	// Data reports that the caller sees rows with a value in the column.
	Data bool
}

// outside finds the visible rows of the newest version that are outside a domain.
func (o Service) outside(ctx context.Context, c column, d proposal) (Outside, error) {
	located := c.located()
	t, err := o.Tables.Open(ctx, c.actor, access.Ref{Table: &located, Newest: true, Rows: true})
	if err != nil {
		return Outside{}, err
	}
	out := Outside{}
	if out.Outside, err = o.Writes.Outside(ctx, t, d.ColumnDomain, d.values); err != nil || out.Rows > 0 {
		out.Data = true
		return out, err
	}
	n, err := o.Writes.CountValue(ctx, t, write.ColumnValue{Filled: d.Column})
	out.Data = n > 0
	return out, err
}

// rowsOf selects the rows that have a value of a domain. For a parent, these are the rows
// with the parent and any child.
func rowsOf(d catalog.ColumnDomain, values []catalog.DomainValue, v catalog.DomainValue) write.ColumnValue {
	if d.Domain.Kind != catalog.DomainHierarchical {
		return write.ColumnValue{Column: d.Column, Value: v.Value}
	}
	if v.Parent == "" {
		return write.ColumnValue{Column: d.Parent, Value: v.Value, Filled: d.Column}
	}
	out := write.ColumnValue{Column: d.Column, Value: v.Value, ParentColumn: d.Parent}
	for _, p := range values {
		if p.ID == v.Parent {
			out.Parent = p.Value
		}
	}
	return out
}

// countAll counts rows of the newest version, including rows that the caller does not see.
func (o Service) countAll(ctx context.Context, located catalog.LocatedTable, rows write.ColumnValue) (int64, error) {
	t, err := o.Tables.OpenUnfiltered(authz.System(ctx, "value in use"), located)
	if err != nil {
		return 0, err
	}
	return o.Writes.CountValue(ctx, t.AsSeen(), rows)
}

// settle waits until every write that was checked before the last change of the table's
// domains has committed or will be checked again. Error: write.ErrWritesInProgress.
func (o Service) settle(ctx context.Context, org catalog.OrgID, table catalog.DeltaID) error {
	domains, err := o.Store.TableDomains(authz.System(ctx, "domains of a table"), org, table)
	if err != nil {
		return err
	}
	return o.Writes.Leases.AwaitWrites(ctx, org, table, domains.Version)
}

// settleUses is settle for the table of each column that uses a domain.
func (o Service) settleUses(ctx context.Context, org catalog.OrgID, uses []use) error {
	for _, u := range uses {
		if err := o.settle(ctx, org, u.located.DeltaID); err != nil {
			return err
		}
	}
	return nil
}
