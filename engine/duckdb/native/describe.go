package native

import (
	"slices"
	"strings"

	duck "github.com/duckdb/duckdb-go-bindings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// Description holds the columns of a query that did not run.
type Description struct {
	Names []string
	Types []sqltype.Type
}

// Describe binds a query without running it.
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
	d := &Description{Names: make([]string, n), Types: make([]sqltype.Type, n)}
	for i := range n {
		d.Names[i] = duck.PreparedStatementColumnName(c.prepared, i)
		d.Types[i] = takeType(duck.PreparedStatementColumnLogicalType(c.prepared, i))
	}
	return d, nil
}

// Has reports whether a column has the name, in any case.
func (d *Description) Has(name string) bool {
	for _, n := range d.Names {
		if strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}

// Holds reports whether the query has every column with exactly its name and type.
func (d *Description) Holds(columns []engine.Column) bool {
	types := make(map[string]sqltype.Type, len(d.Names))
	for i, name := range d.Names {
		types[name] = d.Types[i]
	}
	return !slices.ContainsFunc(columns, func(c engine.Column) bool { return !sqltype.Equal(types[c.Name], c.Type) })
}
