package query

import (
	"context"
	"errors"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/memo"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
)

// showTables answers SHOW TABLES from the catalog, without the engine: it lists only what the
// caller sees.
func (o *Service) showTables(
	ctx context.Context, a caller.Identity, m *memo.EpochView, statement *sqlguard.Query, schema string, run *Rows,
) error {
	var err error
	if run.basis, err = o.Tables.ListBasis(ctx, a, m); err != nil {
		return err
	}
	run.work.SetCheck(o.Tables.CheckBasis(a, run.basis))
	inCatalog, from := statement.ShowSchema()
	if inCatalog != "" && catalog.FoldName(inCatalog) != catalog.CatalogName {
		return &fault.StatementError{Code: "table_not_found", Message: "there is no catalog " + quoted(inCatalog)}
	}
	if from != "" {
		schema = from
	}
	var filter catalog.TableFilter
	if schema != "" && statement.Kind() == sqlguard.KindShowTables {
		config, err := o.Store.StorageConfigBySchema(ctx, a.Viewer, schema)
		switch {
		case errors.Is(err, catalog.ErrNotFound):
			return &fault.StatementError{Code: "table_not_found", Message: "there is no schema " + quoted(schema)}
		case errors.Is(err, catalog.ErrAmbiguous):
			return &fault.StatementError{Code: "ambiguous_name", Message: "schema " + quoted(schema) + " is ambiguous: use its cfg_<id> form"}
		case err != nil:
			return err
		}
		filter.Config = config.ID
	}
	names := newTextTable("table_catalog", "table_schema", "name")
	err = catalog.Each(func(page catalog.Page) (catalog.List[catalog.LocatedTable], error) {
		return o.Store.ListTables(ctx, a.Viewer, filter, page)
	}, func(t catalog.LocatedTable) error {
		names.add(catalog.CatalogName, t.StorageConfig.Schema(), t.Name)
		return nil
	})
	if err != nil {
		return err
	}
	run.Result, run.ctx = names.result(), ctx
	return nil
}
