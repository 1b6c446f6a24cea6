package duckdb

import (
	"strings"

	duck "github.com/duckdb/duckdb-go-bindings"

	"github.com/lakewarden/lakewarden/engine"
)

// description are the columns of a query that did not run.
type description struct {
	names []string
	types []duck.LogicalType
}

// describe binds a query of ours.
func (in *instance) describe(sql string) (*description, error) {
	if err := checkText(sql); err != nil {
		return nil, err
	}
	c := &cursor{conn: in.conn}
	defer duck.DestroyPrepare(&c.prepared)
	if err := c.prepare(sql, selects); err != nil {
		return nil, err
	}
	n := duck.PreparedStatementColumnCount(c.prepared)
	d := &description{names: make([]string, n), types: make([]duck.LogicalType, n)}
	for i := range n {
		d.names[i] = duck.PreparedStatementColumnName(c.prepared, i)
		d.types[i] = duck.PreparedStatementColumnLogicalType(c.prepared, i)
	}
	return d, nil
}

func (d *description) destroy() {
	for i := range d.types {
		duck.DestroyLogicalType(&d.types[i])
	}
}

func (d *description) has(name string) bool {
	for _, n := range d.names {
		if strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}

// holds reports whether every column is there, with its very name and type.
func (d *description) holds(columns []engine.Column) bool {
	types := make(map[string]duck.LogicalType, len(d.names))
	for i, name := range d.names {
		types[name] = d.types[i]
	}
	for _, c := range columns {
		if t, ok := types[c.Name]; !ok || typeName(t) != c.Type {
			return false
		}
	}
	return true
}
