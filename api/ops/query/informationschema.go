package query

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/memo"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// informationSchema is the schema of the standard's views of the catalog. They are answered
// without the engine, and list only what the caller sees.
const informationSchema = "information_schema"

func varchars(names ...string) []engine.Column {
	columns := make([]engine.Column, len(names))
	for i, name := range names {
		columns[i] = engine.Column{Name: name, Type: sqltype.Varchar}
	}
	return columns
}

// The columns of the views, as the SQL standard names them.
var (
	schemataColumns = varchars("catalog_name", "schema_name", "schema_owner")
	tablesColumns   = varchars("table_catalog", "table_schema", "table_name", "table_type", "is_insertable_into")
	columnsColumns  = append(append(varchars("table_catalog", "table_schema", "table_name", "column_name"),
		engine.Column{Name: "ordinal_position", Type: sqltype.Integer}),
		varchars("column_default", "is_nullable", "data_type")...)
)

// inInformationSchema reports whether a reference means one of these views.
func inInformationSchema(ref sqlguard.TableRef) bool {
	return strings.EqualFold(ref.Schema, informationSchema) &&
		(ref.Catalog == "" || catalog.FoldName(ref.Catalog) == catalog.CatalogName)
}

// information answers a reference to one of the views.
func (o *Service) information(ctx context.Context, a caller.Identity, m *memo.EpochView, ref sqlguard.TableRef) (sqlguard.Relation, error) {
	if ref.AtVersion != nil || ref.AtTimestamp != nil {
		return sqlguard.Relation{}, &fault.StatementError{
			Code: "version_not_found", Line: ref.Position.Line, Column: ref.Position.Column, Message: informationSchema + " has no versions",
		}
	}
	views := map[string]struct {
		columns []engine.Column
		rows    func(context.Context, caller.Identity, *memo.EpochView) ([][]any, error)
	}{
		"schemata": {schemataColumns, o.schemataRows},
		"tables":   {tablesColumns, o.tablesRows},
		"columns":  {columnsColumns, o.columnsRows},
	}
	view, ok := views[strings.ToLower(ref.Name)]
	if !ok {
		return sqlguard.Relation{}, &fault.StatementError{
			Code: "table_not_found", Line: ref.Position.Line, Column: ref.Position.Column,
			Message: "there is no table " + quoted(informationSchema+"."+ref.Name), Near: []string{"columns", "schemata", "tables"},
		}
	}
	rows, err := view.rows(ctx, a, m)
	if err != nil {
		return sqlguard.Relation{}, err
	}
	return sqlguard.Relation{Columns: view.columns, Inline: sqlguard.NewInlineRows(view.columns, rows)}, nil
}

func (o *Service) schemataRows(ctx context.Context, a caller.Identity, _ *memo.EpochView) ([][]any, error) {
	rows := [][]any{{catalog.CatalogName, informationSchema, nil}}
	err := catalog.Each(func(page catalog.Page) (catalog.List[catalog.StorageConfig], error) {
		return o.Store.ListStorageConfigs(ctx, a.Viewer, page)
	}, func(config catalog.StorageConfig) error {
		rows = append(rows, []any{catalog.CatalogName, config.Schema(), nil})
		return nil
	})
	return rows, err
}

func (o *Service) tablesRows(ctx context.Context, a caller.Identity, _ *memo.EpochView) ([][]any, error) {
	var rows [][]any
	err := o.Tables.EachVisible(ctx, a, func(t catalog.LocatedTable) {
		rows = append(rows, []any{catalog.CatalogName, t.StorageConfig.Schema(), t.Name, "BASE TABLE", "NO"})
	})
	return rows, err
}

// columnsRows lists the columns of every table that can be read. Other tables have no columns
// here: a statement that names one gets the reason.
func (o *Service) columnsRows(ctx context.Context, a caller.Identity, m *memo.EpochView) ([][]any, error) {
	var located []catalog.LocatedTable
	if err := o.Tables.EachVisible(ctx, a, func(t catalog.LocatedTable) { located = append(located, t) }); err != nil {
		return nil, err
	}
	tables, err := o.Tables.OpenReadable(ctx, a, m, located)
	if err != nil {
		return nil, err
	}
	var rows [][]any
	for _, t := range tables {
		for i, c := range t.VisibleColumns() {
			rows = append(rows, []any{
				catalog.CatalogName, t.Located().StorageConfig.Schema(), t.Located().Name, c.Name, int64(i + 1),
				orNil(t.DefaultText(c.Name)), yesNo(c.Nullable), c.Type.String(),
			})
		}
	}
	slices.SortStableFunc(rows, func(x, y []any) int {
		return cmp.Or(cmp.Compare(x[1].(string), y[1].(string)), cmp.Compare(x[2].(string), y[2].(string)))
	})
	return rows, nil
}

// orNil returns text, or NULL if text is empty.
func orNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func yesNo(yes bool) string {
	if yes {
		return "YES"
	}
	return "NO"
}
