package native

import (
	"strings"

	duck "github.com/duckdb/duckdb-go-bindings"

	"github.com/lakewarden/lakewarden/engine"
)

// Description are the columns of a query that did not run.
type Description struct {
	Names []string
	Types []duck.LogicalType
}

// Describe returns the columns of a query without running it.
func (in *Instance) Describe(sql string) (*Description, error) {
	if err := CheckText(sql); err != nil {
		return nil, err
	}
	c := &Cursor{conn: in.conn}
	defer duck.DestroyPrepare(&c.prepared)
	if err := c.prepare(sql, selects); err != nil {
		return nil, err
	}
	n := duck.PreparedStatementColumnCount(c.prepared)
	d := &Description{Names: make([]string, n), Types: make([]duck.LogicalType, n)}
	for i := range n {
		d.Names[i] = duck.PreparedStatementColumnName(c.prepared, i)
		d.Types[i] = duck.PreparedStatementColumnLogicalType(c.prepared, i)
	}
	return d, nil
}

// Destroy frees the types.
func (d *Description) Destroy() {
	for i := range d.Types {
		duck.DestroyLogicalType(&d.Types[i])
	}
}

// Has reports whether there is a column with the name, regardless of case.
func (d *Description) Has(name string) bool {
	for _, n := range d.Names {
		if strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}

// Holds reports whether every column is present, with its exact name and type.
func (d *Description) Holds(columns []engine.Column) bool {
	types := make(map[string]duck.LogicalType, len(d.Names))
	for i, name := range d.Names {
		types[name] = d.Types[i]
	}
	for _, c := range columns {
		if t, ok := types[c.Name]; !ok || TypeName(t) != c.Type {
			return false
		}
	}
	return true
}
