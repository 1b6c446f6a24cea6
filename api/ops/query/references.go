package query

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/memo"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
)

// tables opens the tables of a statement, each at the version that its reference asks for.
func (o *Service) tables(
	ctx context.Context, a caller.Identity, v *memo.EpochView, refs []sqlguard.TableRef, schema string, age *time.Duration,
) ([]access.Table, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	names := make([]catalog.TableName, len(refs))
	for i, ref := range refs {
		name, err := o.name(ctx, a, ref, schema)
		if err != nil {
			return nil, err
		}
		names[i] = name
	}
	resolved, err := o.Tables.ResolveNames(ctx, a, v, names)
	if err != nil {
		return nil, err
	}
	asked := make([]access.Ref, len(refs))
	for i, r := range resolved {
		if r.Err != nil {
			return nil, o.unknownTable(ctx, a, refs[i], r.Err)
		}
		asked[i] = access.Ref{Table: &r.Table, At: versionAsked(refs[i]), MaxAge: age, Rows: true}
	}
	if err := tooManyVersions(resolved, refs); err != nil {
		return nil, err
	}
	return o.Tables.OpenAll(ctx, a, v, asked)
}

// versionAsked returns the version that a reference asks for, or nil for the newest one.
func versionAsked(ref sqlguard.TableRef) *delta.At {
	var at delta.At
	switch {
	case ref.AtVersion != nil:
		at = delta.AtVersion(*ref.AtVersion)
	case ref.AtTimestamp != nil:
		at = delta.AtTimestamp(*ref.AtTimestamp)
	default:
		return nil
	}
	return &at
}

// name completes a reference; schema is that of an unqualified name. Other catalogs
// are empty.
func (o *Service) name(ctx context.Context, a caller.Identity, ref sqlguard.TableRef, schema string) (catalog.TableName, error) {
	if ref.Catalog != "" && catalog.FoldName(ref.Catalog) != catalog.CatalogName {
		return catalog.TableName{}, o.unknownTable(ctx, a, ref, catalog.ErrNotFound)
	}
	if ref.Schema != "" {
		schema = ref.Schema
	}
	if schema != "" {
		return catalog.TableName{Schema: schema, Table: ref.Name}, nil
	}
	return catalog.TableName{}, &fault.StatementError{
		Code: "table_not_found", Line: ref.Position.Line, Column: ref.Position.Column,
		Message: "table " + quoted(ref.Name) + " needs a schema: write schema.table, or send schema with the request",
	}
}

// unknownTable returns the error for a name that does not resolve. A hidden table and one
// that does not exist have the same error; near names are visible ones only.
func (o *Service) unknownTable(ctx context.Context, a caller.Identity, ref sqlguard.TableRef, cause error) error {
	e := &fault.StatementError{Line: ref.Position.Line, Column: ref.Position.Column}
	switch {
	case errors.Is(cause, catalog.ErrAmbiguous):
		e.Code, e.Message = "ambiguous_name", "schema "+quoted(ref.Schema)+" is ambiguous: use its cfg_<id> form"
		return e
	case !errors.Is(cause, catalog.ErrNotFound):
		return cause
	}
	e.Code, e.Message = "table_not_found", "there is no table "+quoted(ref.Name)
	list, err := o.Store.ListTables(ctx, a.Viewer, catalog.TableFilter{}, catalog.Page{Size: catalog.MaxPageSize})
	if err != nil {
		return err
	}
	e.Near = nearTables(ref.Name, list.Items)
	return e
}

// nearTables names tables with this name with their schemas, since the schema was wrong;
// otherwise it returns similar names, each once.
func nearTables(name string, tables []catalog.LocatedTable) []string {
	var elsewhere, names []string
	for _, t := range tables {
		if catalog.FoldName(t.Name) == catalog.FoldName(name) {
			elsewhere = append(elsewhere, t.StorageConfig.Slug+"."+t.Name)
		}
		if !slices.Contains(names, t.Name) {
			names = append(names, t.Name)
		}
	}
	if len(elsewhere) > 0 {
		return elsewhere[:min(3, len(elsewhere))]
	}
	return refusal.Near(name, names)
}

// maxStatementTables bounds the table versions of one statement: each is a log
// to read and, in the engine, some threads.
const maxStatementTables = 32

func tooManyVersions(resolved []catalog.Resolved, refs []sqlguard.TableRef) error {
	type version struct {
		table catalog.TableID
		at    string
	}
	seen := map[version]bool{}
	for i, r := range resolved {
		seen[version{r.Table.ID, atText(refs[i])}] = true
	}
	if len(seen) > maxStatementTables {
		return &fault.StatementError{Code: "too_complex", Message: "the statement reads more than 32 tables or versions"}
	}
	return nil
}

func atText(ref sqlguard.TableRef) string {
	switch {
	case ref.AtVersion != nil:
		return strconv.FormatInt(*ref.AtVersion, 10)
	case ref.AtTimestamp != nil:
		return ref.AtTimestamp.String()
	}
	return ""
}
