package ops

import (
	"context"
	"strings"

	"github.com/lakewarden/lakewarden/catalog"
)

// parseFQN reads lake.schema.table or schema.table.
func parseFQN(text string) (catalog.TableName, bool) {
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

// resolveOne finds one table by name.
func resolveOne(ctx context.Context, store catalog.Tables, viewer catalog.Viewer, name catalog.TableName) (catalog.LocatedTable, error) {
	found, err := store.ResolveTables(ctx, viewer, []catalog.TableName{name})
	if err != nil {
		return catalog.LocatedTable{}, err
	}
	return found[0].Table, found[0].Err
}

// TablePath addresses a table in a route: catalog, schema and table name.
type TablePath struct{ Catalog, Schema, Table string }

func (p TablePath) resolve(ctx context.Context, store catalog.Tables, viewer catalog.Viewer) (catalog.LocatedTable, error) {
	if catalog.FoldName(p.Catalog) != catalog.CatalogName {
		return catalog.LocatedTable{}, catalog.ErrNotFound
	}
	return resolveOne(ctx, store, viewer, catalog.TableName{Schema: p.Schema, Table: p.Table})
}
