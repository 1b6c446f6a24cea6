package domain

import (
	"context"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// proposal is a domain that a column has or may get, with the values of a listed one.
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

// outside finds the rows of the column that the caller sees and that lie outside a domain.
// It reads the newest version.
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

// rowsOf returns what selects the rows of a value of a domain. Of a parent, these are the
// rows with any child of it.
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

// countAll counts all rows of the newest version, which the caller may not see.
func (o Service) countAll(ctx context.Context, located catalog.LocatedTable, rows write.ColumnValue) (int64, error) {
	t, err := o.Tables.OpenUnfiltered(authz.System(ctx, "value in use"), located)
	if err != nil {
		return 0, err
	}
	return o.Writes.CountValue(ctx, t, rows)
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
