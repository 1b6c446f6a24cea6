package table

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/deletion"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/deltasql"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// Files creates tables and drops them, files included.
type Files struct {
	Store  catalog.Store
	Tables access.Tables
	Parser engine.Parser
	Leases write.Leases
	// Deletions records the files of purged tables.
	Deletions *deletion.Deletions
}

// ColumnDefinition is a column of a new table.
type ColumnDefinition struct {
	Name string
	// Type is a name of Delta or of DuckDB.
	Type       string
	Nullable   bool
	PrimaryKey bool
	// Unique is nil if the request does not set it.
	Unique  *bool
	Comment string
	// Default is a constant in SQL for rows that do not name the column; empty means
	// none.
	Default string
}

// Definition describes a new table.
type Definition struct {
	Catalog, Schema, Name string
	Columns               []ColumnDefinition
	PartitionBy           []string
	// Path is the folder below the configuration's root; empty means Name.
	Path       string
	Properties map[string]string
}

// Created is a new table with its first version.
type Created struct {
	catalog.LocatedTable
	TableVersion int64
}

// txnRetention is how long tables of this server hold the keys of requests.
const (
	propTxnRetention = "delta.setTransactionRetentionDuration"
	txnRetention     = "interval 7 days"
)

// Create makes a table: its log first, then its registration. A failure removes the log. Errors: catalog.FieldErrors, [fault.MemberError],
// delta.ErrTableExists, catalog.ErrExists, and those of the store.
func (o Files) Create(ctx context.Context, n Definition) (Created, error) {
	a, err := caller.From(ctx)
	if err != nil {
		return Created{}, err
	}
	if catalog.FoldName(n.Catalog) != catalog.CatalogName {
		return Created{}, noSuchPlace("catalog", "must be "+catalog.CatalogName)
	}
	config, err := o.Store.StorageConfigBySchema(ctx, a.Viewer, n.Schema)
	if errors.Is(err, catalog.ErrNotFound) {
		return Created{}, noSuchPlace("schema", "must be the schema of a storage configuration")
	}
	if err != nil {
		return Created{}, err
	}
	creators := []auth.Scope{auth.ScopeTablesCreate}
	if config.Sandbox {
		creators = append(creators, auth.ScopeRowsInsert)
	}
	if err := o.Tables.Permit(ctx, a, config.ID, creators...); err != nil {
		return Created{}, err
	}
	options, err := o.layout(ctx, a, n)
	if err != nil {
		return Created{}, err
	}
	path := n.Path
	if path == "" {
		path = n.Name
	}
	if err := o.free(ctx, config, n.Name, path); err != nil {
		return Created{}, err
	}
	return o.create(ctx, a, config, n.Name, path, options)
}

// noSuchPlace is the error for a catalog or schema that the caller does not see.
func noSuchPlace(field, message string) error {
	return &fault.MemberError{Code: "not_found", Problems: catalog.FieldErrors{{Field: field, Message: message}}}
}

func (o Files) create(
	ctx context.Context, a caller.Identity, config catalog.StorageConfig, name, path string, options delta.CreateOptions,
) (Created, error) {
	place, err := o.Tables.Place(ctx, config, path)
	if err != nil {
		return Created{}, err
	}
	if err := o.Store.CheckPlace(authz.System(ctx, "table creation"),
		catalog.Table{Org: config.Org, Config: config.ID, Path: path}); err != nil {
		return Created{}, err
	}
	snap, err := place.Create(ctx, options)
	if err != nil {
		return Created{}, err
	}
	t, err := o.register(ctx, a, config, name, path, catalog.DeltaID(snap.TableID()))
	if err != nil {
		ctx, cancel := caller.CleanupContext(ctx)
		defer cancel()
		return Created{}, errors.Join(err, place.RemoveLog(ctx))
	}
	created := catalog.LocatedTable{Table: t, StorageConfig: config}
	// If this fails, the first write of rows remembers the rules.
	_ = write.Memory{Store: o.Store}.Altered(ctx, created, snap)
	return Created{LocatedTable: created, TableVersion: snap.Version()}, nil
}

// register registers a table whose log exists. A discovery can have registered it meanwhile,
// under the name of its folder.
func (o Files) register(
	ctx context.Context, a caller.Identity, config catalog.StorageConfig, name, path string, id catalog.DeltaID,
) (catalog.Table, error) {
	t, err := o.Store.RegisterTable(ctx, a.Viewer, catalog.NewTable{Config: config.ID, DeltaID: id, Path: path, Name: name})
	var taken *catalog.ExistsError
	if err == nil || !errors.As(err, &taken) || taken.Field != "path" {
		return t, err
	}
	found, listErr := o.Store.ListTables(authz.System(ctx, "table creation"), catalog.SystemViewer(config.Org),
		catalog.TableFilter{Config: config.ID, DeltaID: id}, catalog.Page{})
	if listErr != nil || len(found.Items) != 1 || found.Items[0].Path != path {
		return t, err
	}
	if t = found.Items[0].Table; catalog.FoldName(t.Name) == catalog.FoldName(name) {
		return t, nil
	}
	renamed, err := o.Store.RenameTable(authz.System(ctx, "table creation"), catalog.SystemViewer(config.Org), t.ID, catalog.AnyVersion, name)
	return renamed.Table, err
}

// free refuses a name or folder that is taken, and a folder inside another table's folder or
// around one, because discovery and vacuum assume that all of a table's folder is its own. A dropped
// table keeps its folder, but not its name.
func (o Files) free(ctx context.Context, config catalog.StorageConfig, name, path string) error {
	if err := (catalog.NewTable{Config: config.ID, DeltaID: "new", Path: path, Name: name}).Validate(); err != nil {
		return err
	}
	for segment := range strings.SplitSeq(path, "/") {
		if strings.HasPrefix(segment, "_") || strings.HasPrefix(segment, ".") || objstore.ValidName(segment) != nil ||
			strings.Contains(segment, "=") {
			return fault.Invalid("path", "must not have parts that begin with '_' or '.', or hold '='")
		}
	}
	return catalog.Each(func(page catalog.Page) (catalog.List[catalog.LocatedTable], error) {
		return o.Store.ListTables(authz.System(ctx, "table creation"), catalog.SystemViewer(config.Org),
			catalog.TableFilter{Config: config.ID, States: catalog.TableStates()}, page)
	}, func(t catalog.LocatedTable) error {
		switch {
		case t.State != catalog.TableDropped && catalog.FoldName(t.Name) == catalog.FoldName(name):
			return &catalog.ExistsError{Field: "name"}
		case t.Path == path && t.State != catalog.TableDropped:
			return &catalog.ExistsError{Field: "path"}
		case t.Path == path: // what the folder holds decides
			return nil
		case t.Path == "" || strings.HasPrefix(path, t.Path+"/") || strings.HasPrefix(t.Path, path+"/"):
			return fault.Invalid("path", "must neither be inside the folder of another table nor contain one")
		}
		return nil
	})
}

// layout returns the metadata of the new table, and applies the organisation's rules for new
// tables.
func (o Files) layout(ctx context.Context, a caller.Identity, n Definition) (delta.CreateOptions, error) {
	out := delta.CreateOptions{
		PartitionColumns: n.PartitionBy, Properties: map[string]string{propTxnRetention: txnRetention},
		UserID: string(a.User), UserName: a.Email,
	}
	if err := ownProperties(n.Properties); err != nil {
		return out, err
	}
	maps.Copy(out.Properties, n.Properties)
	var broken catalog.FieldErrors
	for i, c := range n.Columns {
		f, err := c.field()
		if err != nil {
			broken = append(broken, catalog.FieldError{Field: fmt.Sprintf("columns[%d].type", i), Message: "must be a type that tables can hold"})
		}
		out.Schema.Fields = append(out.Schema.Fields, f)
	}
	if len(broken) > 0 {
		return out, broken
	}
	if err := out.Validate(); err != nil {
		return out, newTableError(err)
	}
	if err := o.markDefaults(ctx, n.Columns, &out); err != nil {
		return out, err
	}
	if err := markKeys(n.Columns, &out); err != nil {
		return out, err
	}
	org, err := o.Store.Organisation(authz.System(ctx, "rules for new tables"), a.Org)
	if err != nil {
		return out, err
	}
	return out, obeys(n, org.Config.TableConstraints)
}

func (c ColumnDefinition) field() (delta.Field, error) {
	t, err := deltasql.ParseType(c.Type)
	if err != nil {
		return delta.Field{}, err
	}
	f := delta.Field{Name: c.Name, Type: t, Nullable: c.Nullable, Metadata: map[string]json.RawMessage{}}
	if c.Comment != "" {
		text, err := json.Marshal(c.Comment)
		if err != nil {
			return f, err
		}
		f.Metadata["comment"] = text
	}
	return f, nil
}

// obeys applies an organisation's rules for new tables.
func obeys(n Definition, rules *catalog.TableConstraints) error {
	if rules == nil {
		return nil
	}
	hasKey := slices.ContainsFunc(n.Columns, func(c ColumnDefinition) bool { return c.PrimaryKey })
	switch {
	case rules.RequirePrimaryKey && !hasKey:
		return fault.Invalid("columns", "must have a primary key: the organisation requires one")
	case rules.MaxColumns > 0 && len(n.Columns) > rules.MaxColumns:
		return fault.Invalid("columns", "must be at most %d: the organisation sets this", rules.MaxColumns)
	}
	if rules.NamePattern != "" {
		pattern, err := regexp.Compile(`\A(?:` + rules.NamePattern + `)\z`)
		if err != nil {
			return fmt.Errorf("name pattern of the organisation: %w", err)
		}
		if !pattern.MatchString(n.Name) {
			return fault.Invalid("name", "must match the pattern that the organisation sets")
		}
	}
	return nil
}
