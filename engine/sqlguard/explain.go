package sqlguard

import (
	"context"
	"fmt"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard/explain"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// Explain returns the plan text of an EXPLAIN statement.
//
// The text is made from the statement as the user wrote it and from the columns that the
// user sees, in the order of Tables. It reveals nothing of the tables' data, files,
// versions and policies, and not which table is filtered. Errors are those of the parser,
// or CodePrinter.
func (q *Query) Explain(ctx context.Context, parser engine.Parser, relations []Relation) ([]string, error) {
	if q.kind != KindExplain {
		return nil, fmt.Errorf("the plan of a statement that is no EXPLAIN")
	}
	if len(relations) != len(q.tables) {
		return nil, fmt.Errorf("explaining %d relations for %d tables", len(relations), len(q.tables))
	}
	tables := map[*sqltree.Node]explain.Table{}
	for i, t := range q.tables {
		named := explain.Table{Name: q.fullName(t.TableRef), AtVersion: t.AtVersion, AtTimestamp: t.AtTimestamp}
		if columns := relations[i].Columns; len(columns) > 0 {
			for _, c := range q.neededColumns(t, columns) {
				named.Columns = append(named.Columns, c.Name)
			}
		}
		tables[t.node] = named
	}
	return q.written.Plan(ctx, parser, q.text, tables)
}

func (q *Query) fullName(t TableRef) string {
	catalog, schema := t.Catalog, t.Schema
	if schema == "" && q.opts.Schema != defaultSchema {
		schema = q.opts.Schema
	}
	if schema == "" {
		return t.Name
	}
	setDefault(&catalog, q.opts.Catalog)
	return catalog + "." + schema + "." + t.Name
}
