package access

import (
	"context"
	"strings"

	"github.com/lakewarden/lakewarden/catalog"
)

// ParseFQN parses lake.schema.table or schema.table.
func ParseFQN(text string) (catalog.TableName, bool) {
	parts := strings.Split(text, ".")
	if len(parts) == 3 {
		if catalog.FoldName(parts[0]) != catalog.CatalogName {
			return catalog.TableName{}, false
		}
		parts = parts[1:]
	}
	if len(parts) != 2 || parts[0] == "" || parts[1] == "" {
		return catalog.TableName{}, false
	}
	return catalog.TableName{Schema: parts[0], Table: parts[1]}, true
}

// ResolveName returns the table that the viewer sees under a name.
func ResolveName(ctx context.Context, store catalog.Tables, viewer catalog.Viewer, name catalog.TableName) (catalog.LocatedTable, error) {
	found, err := store.ResolveTables(ctx, viewer, []catalog.TableName{name})
	if err != nil {
		return catalog.LocatedTable{}, err
	}
	return found[0].Table, found[0].Err
}

// Path addresses a table in a route: catalog, schema and table name.
type Path struct{ Catalog, Schema, Table string }

// Resolve returns the table that the viewer sees at the path.
func (p Path) Resolve(ctx context.Context, store catalog.Tables, viewer catalog.Viewer) (catalog.LocatedTable, error) {
	if catalog.FoldName(p.Catalog) != catalog.CatalogName {
		return catalog.LocatedTable{}, catalog.ErrNotFound
	}
	return ResolveName(ctx, store, viewer, catalog.TableName{Schema: p.Schema, Table: p.Table})
}
