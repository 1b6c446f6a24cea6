package domain

import (
	"context"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/catalog"
)

// Use is the number of rows with a value, as far as the caller sees them.
type Use struct {
	Column, Value string
	Rows          int64
	// Complete is false for a caller who does not see all rows.
	Complete bool
}

// InUse counts the rows that the caller sees and that have a value of the column's domain,
// which is named by its text or by its id. Errors: catalog.ErrNotFound for a column
// without a domain and an unknown id, access.ErrRowsFiltered for a masked column.
func (o Service) InUse(ctx context.Context, path access.Path, name, text string, id catalog.ValueID) (Use, error) {
	if (text == "") == (id == "") {
		return Use{}, fault.Invalid("value", "exactly one of value and value_id is required")
	}
	c, err := o.open(ctx, path, name)
	if err != nil {
		return Use{}, err
	}
	d, err := o.domain(ctx, c)
	if err != nil {
		return Use{}, err
	}
	if c.masked() {
		return Use{}, access.ErrRowsFiltered
	}
	rows := write.ColumnValue{Column: d.Column}
	out := Use{Column: c.field.Name, Complete: c.table.Whole()}
	if id != "" {
		if rows, out.Value, err = o.rowsByID(ctx, c, d, id); err != nil {
			return Use{}, err
		}
	} else if out.Value, err = oneValue(c.field.Type, "value", text); err != nil {
		return Use{}, err
	} else {
		rows.Value = out.Value
	}
	if err := c.table.CheckRows(ctx); err != nil {
		return Use{}, err
	}
	out.Rows, err = o.Writes.CountValue(ctx, c.table, rows)
	return out, err
}

// rowsByID selects the rows of a value that the catalog lists.
func (o Service) rowsByID(
	ctx context.Context, c column, d catalog.ColumnDomain, id catalog.ValueID,
) (none write.ColumnValue, text string, err error) {
	if !d.Domain.Listed() {
		return none, "", ErrKind
	}
	if d.Parent != "" {
		if parent, ok := fieldByPhysical(c.table, d.Parent); !ok || c.table.Masks(parent.Name) {
			return none, "", access.ErrRowsFiltered
		}
	}
	values, err := o.Store.DomainValues(ctx, c.actor.Org, d.Domain.ID)
	if err != nil {
		return none, "", err
	}
	for _, v := range values.Values {
		if v.ID == id {
			return rowsOf(d, values.Values, v), v.Value, nil
		}
	}
	return none, "", catalog.ErrNotFound
}
