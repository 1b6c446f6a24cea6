package domain

import (
	"context"
	"errors"
	"strings"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/delta"
	rules "github.com/lakewarden/lakewarden/engine/domain"
)

// sourceTable is a table that a domain may take its values from.
type sourceTable struct{ table access.Table }

// newSource opens the table of new values for a column. The caller must see all of it, and
// everybody who sees the column's table must see it.
func (o Service) newSource(ctx context.Context, c column, in SourceInput) (sourceTable, error) {
	s, err := o.openSource(ctx, c.actor, in, c.located().StorageConfig)
	if err != nil {
		return s, err
	}
	return s, o.checkShared(ctx, c, s.table.Located())
}

// checkShared refuses a source that is not visible to everybody who sees the column's table.
func (o Service) checkShared(ctx context.Context, c column, source catalog.LocatedTable) error {
	err := o.Tables.CheckShared(ctx, c.located().StorageConfig, source.StorageConfig)
	if errors.Is(err, access.ErrReferenceNotShared) {
		err = notShared()
	}
	return err
}

func notShared() error {
	return &fault.MemberError{Code: "reference_not_shared", Problems: catalog.FieldErrors{
		{Field: "table_path", Message: "must be a table that is visible to everybody who sees the column's table"},
	}}
}

// openSource opens a table that a request names by its path: catalog.schema.table, or a
// path below the root of config, unless that is the zero value. The caller must see all of
// the table.
func (o Service) openSource(ctx context.Context, a caller.Identity, in SourceInput, config catalog.StorageConfig) (sourceTable, error) {
	located, err := o.locate(ctx, a, in.TablePath, config)
	if errors.Is(err, catalog.ErrNotFound) {
		return sourceTable{}, fault.Invalid("table_path", "is not a table")
	}
	if err != nil {
		return sourceTable{}, err
	}
	if in.TableName != "" && !strings.EqualFold(in.TableName, located.Name) {
		return sourceTable{}, fault.Invalid("table_name", "must be the last part of table_path")
	}
	t, err := o.Tables.Open(ctx, a, access.Ref{Table: &located, Rows: true})
	if err != nil {
		return sourceTable{}, err
	}
	return sourceTable{t}, requireWhole(t)
}

func (o Service) locate(ctx context.Context, a caller.Identity, path string, config catalog.StorageConfig) (catalog.LocatedTable, error) {
	if name, ok := access.ParseFQN(path); ok {
		found, err := access.ResolveName(ctx, o.Store, a.Viewer, name)
		if !errors.Is(err, catalog.ErrNotFound) {
			return found, err
		}
	}
	if config.ID == "" {
		return catalog.LocatedTable{}, catalog.ErrNotFound
	}
	found := catalog.LocatedTable{}
	err := catalog.Each(func(page catalog.Page) (catalog.List[catalog.LocatedTable], error) {
		return o.Store.ListTables(ctx, a.Viewer, catalog.TableFilter{Config: config.ID}, page)
	}, func(t catalog.LocatedTable) error {
		if t.Path == strings.Trim(path, "/") {
			found = t
		}
		return nil
	})
	if err == nil && found.ID == "" {
		err = catalog.ErrNotFound
	}
	return found, err
}

// column returns the physical name of a column whose values a column of type t can have. A
// nil t stands for any type.
func (s sourceTable) column(field, name string, t delta.DataType) (string, error) {
	f, ok := s.table.Column(name)
	switch {
	case !ok:
		return "", fault.Invalid(field, "is not a column of the table")
	case t == nil && !rules.Listable(f.Type), t != nil && !rules.Comparable(t, f.Type):
		return "", &fault.MemberError{Code: "type_not_supported", Problems: catalog.FieldErrors{
			{Field: field, Message: "the restricted column cannot have values of type " + f.Type.String()},
		}}
	}
	return s.table.FileName(f), nil
}

// domainSource returns the source as the catalog stores it.
func (s sourceTable) domainSource(column, parentKey string) *catalog.DomainSource {
	t := s.table.Located()
	return &catalog.DomainSource{Config: t.Config, Table: t.DeltaID, Column: column, ParentKey: parentKey}
}

// parent returns the parent column of a hierarchical domain.
func (c column) parent(name string) (delta.Field, error) {
	f, ok := c.table.Column(name)
	switch {
	case !ok:
		return f, fault.Invalid("parent_column", "is not a column of the table")
	case c.table.Masks(f.Name):
		return f, fault.Invalid("parent_column", "is masked for the caller")
	case c.table.FileName(f) == c.table.FileName(c.field):
		return f, fault.Invalid("parent_column", "must be another column")
	case !rules.Listable(f.Type):
		return f, fault.Invalid("parent_column", "must be a column whose values can be listed")
	case !rules.Listable(c.field.Type):
		return f, unsupported(c, "list of values")
	}
	return f, nil
}
