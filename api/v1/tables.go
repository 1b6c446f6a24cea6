package v1

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// Table is a registered table.
type Table struct {
	Catalog      string  `json:"catalog"`
	Schema       string  `json:"schema"`
	Table        string  `json:"table"`
	TableID      string  `json:"tableId" doc:"Delta's id of the table; survives rename and move"`
	ConfigID     string  `json:"configId" format:"uuid"`
	ConfigName   string  `json:"configName"`
	State        string  `json:"state" enum:"live,vanished,dropped,identity_changed"`
	RegisteredAt *string `json:"registeredAt"`
	UpdatedAt    *string `json:"updatedAt"`
}

func tableOf(t catalog.LocatedTable) Table {
	return Table{
		Catalog: catalog.CatalogName, Schema: t.StorageConfig.Schema(), Table: t.Name, TableID: string(t.DeltaID), ConfigID: string(t.Config),
		ConfigName: t.StorageConfig.Name, State: string(t.State), RegisteredAt: timestamp(t.RegisteredAt), UpdatedAt: timestamp(t.UpdatedAt),
	}
}

type tableList struct {
	Tables        []Table `json:"tables"`
	NextPageToken string  `json:"nextPageToken,omitempty"`
}

type column struct {
	Name         string  `json:"name"`
	Type         string  `json:"type" doc:"Delta's name of the type"`
	Nullable     bool    `json:"nullable"`
	Comment      *string `json:"comment"`
	IsPartition  bool    `json:"isPartition"`
	IsPrimaryKey bool    `json:"isPrimaryKey" doc:"Part of the primary key"`
	IsUnique     bool    `json:"isUnique" doc:"No value stands twice; NULL does not count"`
	Default      *string `json:"default" doc:"Value of new rows that do not name the column, in Spark's SQL; null if there is no default, or if the column is masked for the caller"`
}

type columnList struct {
	Columns []column `json:"columns"`
}

type tableDetails struct {
	Table
	Version          int64             `json:"version"`
	VersionAt        *string           `json:"versionAt"`
	Description      *string           `json:"description"`
	PartitionColumns []string          `json:"partitionColumns"`
	Properties       map[string]string `json:"properties"`
	Columns          []column          `json:"columns"`
	Files            *int64            `json:"files" doc:"null when the caller does not see all rows and columns as they are"`
	Bytes            *int64            `json:"bytes" doc:"null when the caller does not see all rows and columns as they are"`
	Rows             *int64            `json:"rows" doc:"null when the caller's rows are filtered or the count is not recorded"`
}

type version struct {
	Version             int64             `json:"version"`
	Timestamp           *string           `json:"timestamp"`
	Operation           string            `json:"operation"`
	OperationParameters map[string]string `json:"operationParameters,omitempty" doc:"Not for callers who do not see all rows and columns as they are"`
	OperationMetrics    map[string]string `json:"operationMetrics,omitempty" doc:"Not for callers who do not see all rows and columns as they are"`
	UserName            *string           `json:"userName"`
	ReadVersion         *int64            `json:"readVersion"`
	IsBlindAppend       *bool             `json:"isBlindAppend"`
	EngineInfo          *string           `json:"engineInfo"`
}

type history struct {
	Versions      []version `json:"versions"`
	NextPageToken string    `json:"nextPageToken,omitempty"`
}

// TablePath names a table.
type TablePath struct {
	Catalog   string `path:"catalog" maxLength:"255"`
	Schema    string `path:"schema" maxLength:"255"`
	TableName string `path:"table_name" maxLength:"255"`
}

func (p TablePath) path() access.Path {
	return access.Path{Catalog: p.Catalog, Schema: p.Schema, Table: p.TableName}
}

type listTablesInput struct {
	Page
	Schema string `query:"schema" maxLength:"255" doc:"Only tables of this schema"`
}

type historyInput struct {
	TablePath
	Page
}

type renameInput struct {
	TablePath
	Body struct {
		Name string `json:"name" minLength:"1" maxLength:"200"`
	}
}

type adoptInput struct {
	TablePath
	Body struct {
		KeepRules *bool `json:"keep_rules,omitempty" doc:"Required: whether to copy the policies of the former table"`
		Former    *bool `json:"keepRules,omitempty" deprecated:"true" doc:"The former spelling of keep_rules"`
	}
}

// keepRules is the decision that a request must have, in one of its spellings.
func (in *adoptInput) keepRules() (bool, error) {
	switch b := in.Body; {
	case b.KeepRules != nil && b.Former == nil:
		return *b.KeepRules, nil
	case b.Former != nil && b.KeepRules == nil:
		return *b.Former, nil
	}
	return false, fieldError("keep_rules", "is required, once")
}

type resolveInput struct {
	TableID string `path:"table_id" maxLength:"256"`
}

type resolved struct {
	Catalog string `json:"catalog"`
	Schema  string `json:"schema"`
	Table   string `json:"table"`
}

type effectivePolicies struct {
	Restricted bool              `json:"restricted" doc:"Whether some rows may be hidden from the caller"`
	Policies   []effectivePolicy `json:"policies" doc:"Kinds and columns, not texts"`
}

const tableBase = "/v1/tables/{catalog}/{schema}/{table_name}"

// TableRoutes registers the routes that describe and name tables.
func TableRoutes(api huma.API, tables access.Tables) {
	read := route{tag: "Tables", scope: auth.ScopeTablesRead, camel: true}
	modify := route{tag: "Tables", scope: auth.ScopeTablesModify, camel: true, local: true}

	add(api, read.with("GET", "/v1/tables", "listTables", "List tables"), func(ctx context.Context, in *listTablesInput) (tableList, error) {
		list, err := tables.List(ctx, in.Schema, in.page())
		return tableList{Tables: convert(list.Items, tableOf), NextPageToken: list.Next}, err
	})
	add(api, read.with("GET", "/v1/tables/resolve/{table_id}", "resolveTable", "Resolve a table id"), func(ctx context.Context, in *resolveInput) (resolved, error) {
		t, err := tables.Resolve(ctx, catalog.DeltaID(in.TableID))
		return resolved{Catalog: catalog.CatalogName, Schema: t.StorageConfig.Schema(), Table: t.Name}, err
	})
	details := func(ctx context.Context, in *TablePath) (tableDetails, error) {
		d, err := tables.Get(ctx, in.path())
		return tableDetailsOf(d), err
	}
	add(api, read.with("GET", tableBase, "getTable", "Get a table"), details)
	add(api, read.with("GET", tableBase+"/details", "getTableDetails", "Get the details of a table").because("What the table itself answers."), details)
	add(api, read.with("GET", tableBase+"/columns", "listColumns", "List the columns of a table"), func(ctx context.Context, in *TablePath) (columnList, error) {
		list, err := tables.Columns(ctx, in.path())
		return columnList{Columns: convert(list, columnOf)}, err
	})
	add(api, read.with("GET", tableBase+"/history", "listVersions", "List the versions of a table"), func(ctx context.Context, in *historyInput) (history, error) {
		return listVersions(ctx, tables, in)
	})
	add(api, read.with("GET", tableBase+"/effective-policies", "listEffectivePolicies", "Which policies apply to the caller"), func(ctx context.Context, in *TablePath) (effectivePolicies, error) {
		restricted, list, err := tables.EffectivePolicies(ctx, in.path())
		return effectivePolicies{Restricted: restricted, Policies: convert(list, func(p access.EffectivePolicy) effectivePolicy {
			return effectivePolicy{Kind: string(p.Kind), ColumnName: pointer(p.Column)}
		})}, err
	})
	add(api, modify.with("PATCH", tableBase, "renameTable", "Rename a table").because("In the catalog only; data and rules stay with the table."),
		func(ctx context.Context, in *renameInput) (Table, error) {
			t, err := tables.Rename(ctx, in.path(), in.Body.Name)
			return tableOf(t), err
		})
	adopt := route{tag: "Tables", scope: auth.ScopePoliciesWrite}
	add(api, adopt.with("POST", tableBase+"/adopt-identity", "adoptIdentity", "Accept another table at this place").
		because("Needed after a governed table was deleted and another one written in its place."),
		func(ctx context.Context, in *adoptInput) (Table, error) {
			keepRules, err := in.keepRules()
			if err != nil {
				return Table{}, err
			}
			t, err := tables.AdoptIdentity(ctx, in.path(), keepRules)
			return tableOf(t), err
		})
}

func columnOf(c access.Column) column {
	return column{Name: c.Name, Type: c.Type, Nullable: c.Nullable, Comment: pointer(c.Comment), IsPartition: c.IsPartition, IsPrimaryKey: c.IsPrimaryKey, IsUnique: c.IsUnique, Default: pointer(c.Default)}
}

func tableDetailsOf(d access.Details) tableDetails {
	out := tableDetails{
		Table: tableOf(d.LocatedTable), Version: d.TableVersion, VersionAt: timestamp(d.TableTimestamp), Description: d.Description,
		PartitionColumns: d.PartitionColumns, Properties: d.Properties, Columns: convert(d.Columns, columnOf),
		Files: d.Files, Bytes: d.Bytes, Rows: d.Rows,
	}
	if out.PartitionColumns == nil {
		out.PartitionColumns = []string{}
	}
	if out.Properties == nil {
		out.Properties = map[string]string{}
	}
	return out
}

// listVersions pages by version: the token is the last version of the page.
func listVersions(ctx context.Context, tables access.Tables, in *historyInput) (history, error) {
	var before int64
	if in.PageToken != "" {
		cursor, ok, err := in.page().Cursor("versions")
		if err != nil || !ok {
			return history{}, err
		}
		if before, err = parseVersion(cursor.Key); err != nil {
			return history{}, err
		}
	}
	entries, err := tables.History(ctx, in.path(), in.PageSize, before)
	if err != nil {
		return history{}, err
	}
	out := history{Versions: convert(entries, versionOf)}
	if len(entries) == in.PageSize && entries[len(entries)-1].Version > 0 {
		out.NextPageToken = catalog.Cursor{List: "versions", Key: itoa(int(entries[len(entries)-1].Version))}.Token()
	}
	return out, nil
}

func versionOf(e access.HistoryEntry) version {
	return version{
		Version: e.Version, Timestamp: timestamp(e.Timestamp), Operation: e.Operation, OperationParameters: e.OperationParameters,
		OperationMetrics: e.OperationMetrics, UserName: pointer(e.UserName), ReadVersion: e.ReadVersion, IsBlindAppend: e.IsBlindAppend,
		EngineInfo: pointer(e.EngineInfo),
	}
}
