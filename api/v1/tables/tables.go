package tables

import (
	"context"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/access"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/api/v1/policies"
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
		ConfigName: t.StorageConfig.Name, State: string(t.State), RegisteredAt: v1.Timestamp(t.RegisteredAt),
		UpdatedAt: v1.Timestamp(t.UpdatedAt),
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
	IsUnique     bool    `json:"isUnique" doc:"No two rows have the same value; NULL does not count"`
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

type listTablesInput struct {
	v1.Page
	Schema string `query:"schema" maxLength:"255" doc:"Only tables of this schema"`
}

type historyInput struct {
	v1.TablePath
	v1.Page
}

type renameInput struct {
	v1.TablePath
	Body struct {
		Name string `json:"name" minLength:"1" maxLength:"200"`
	}
}

type adoptInput struct {
	v1.TablePath
	Body struct {
		KeepRules *bool `json:"keep_rules,omitempty" doc:"Required: whether to copy the policies of the former table"`
		Former    *bool `json:"keepRules,omitempty" deprecated:"true" doc:"The former spelling of keep_rules"`
	}
}

// keepRules returns the required decision, which has two spellings.
func (in *adoptInput) keepRules() (bool, error) {
	switch b := in.Body; {
	case b.KeepRules != nil && b.Former == nil:
		return *b.KeepRules, nil
	case b.Former != nil && b.KeepRules == nil:
		return *b.Former, nil
	}
	return false, v1.FieldError("keep_rules", "must be given exactly once")
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
	Restricted bool                       `json:"restricted" doc:"Whether some rows may be hidden from the caller"`
	WholeTable bool                       `json:"wholeTable" doc:"Whether the caller may make changes of the whole table"`
	Policies   []policies.EffectivePolicy `json:"policies" doc:"Kinds and columns, not texts"`
}

// Routes registers the routes that list, describe and rename tables.
func Routes(api huma.API, tables access.Tables) {
	read := v1.Route{Tag: "Tables", Scope: auth.ScopeTablesRead, Camel: true}
	modify := v1.Route{Tag: "Tables", Scope: auth.ScopeTablesModify, Camel: true, Local: true}

	v1.Add(api, read.With("GET", "/v1/tables", "listTables", "List tables"),
		func(ctx context.Context, in *listTablesInput) (tableList, error) {
			list, err := tables.List(ctx, in.Schema, in.Page.Catalog())
			return tableList{Tables: v1.Map(list.Items, tableOf), NextPageToken: list.Next}, err
		})
	v1.Add(api, read.With("GET", "/v1/tables/resolve/{table_id}", "resolveTable", "Resolve a table id"),
		func(ctx context.Context, in *resolveInput) (resolved, error) {
			t, err := tables.Resolve(ctx, catalog.DeltaID(in.TableID))
			return resolved{Catalog: catalog.CatalogName, Schema: t.StorageConfig.Schema(), Table: t.Name}, err
		})
	details := func(ctx context.Context, in *v1.TablePath) (tableDetails, error) {
		d, err := tables.Get(ctx, in.Path())
		return tableDetailsOf(d), err
	}
	v1.Add(api, read.With("GET", v1.TableBase, "getTable", "Get a table"), details)
	v1.Add(api, read.With("GET", v1.TableBase+"/details", "getTableDetails",
		"Get the details of a table").Describe("What the table itself answers."), details)
	v1.Add(api, read.With("GET", v1.TableBase+"/columns", "listColumns", "List the columns of a table"),
		func(ctx context.Context, in *v1.TablePath) (columnList, error) {
			list, err := tables.Columns(ctx, in.Path())
			return columnList{Columns: v1.Map(list, columnOf)}, err
		})
	v1.Add(api, read.With("GET", v1.TableBase+"/history", "listVersions", "List the versions of a table"),
		func(ctx context.Context, in *historyInput) (history, error) {
			return listVersions(ctx, tables, in)
		})
	v1.Add(api, read.With("GET", v1.TableBase+"/effective-policies", "listEffectivePolicies", "Which policies apply to the caller"),
		func(ctx context.Context, in *v1.TablePath) (effectivePolicies, error) {
			e, err := tables.EffectivePolicies(ctx, in.Path())
			return effectivePolicies{
				Restricted: e.Restricted, WholeTable: e.WholeTable,
				Policies: v1.Map(e.Policies, func(p access.EffectivePolicy) policies.EffectivePolicy {
					return policies.EffectivePolicy{Kind: string(p.Kind), ColumnName: v1.Pointer(p.Column)}
				}),
			}, err
		})
	v1.Add(api, modify.With("PATCH", v1.TableBase, "renameTable",
		"Rename a table").Describe("In the catalog only; data and rules stay with the table."),
		func(ctx context.Context, in *renameInput) (Table, error) {
			t, err := tables.Rename(ctx, in.Path(), in.Body.Name)
			return tableOf(t), err
		})
	adopt := v1.Route{Tag: "Tables", Scope: auth.ScopePoliciesWrite}
	v1.Add(api, adopt.With("POST", v1.TableBase+"/adopt-identity", "adoptIdentity", "Accept another table at this place").
		Describe("Needed after a governed table was deleted and another one written in its place."),
		func(ctx context.Context, in *adoptInput) (Table, error) {
			keepRules, err := in.keepRules()
			if err != nil {
				return Table{}, err
			}
			t, err := tables.AdoptIdentity(ctx, in.Path(), keepRules)
			return tableOf(t), err
		})
}

func columnOf(c access.Column) column {
	return column{Name: c.Name, Type: c.Type, Nullable: c.Nullable, Comment: v1.Pointer(c.Comment), IsPartition: c.IsPartition,
		IsPrimaryKey: c.IsPrimaryKey, IsUnique: c.IsUnique, Default: v1.Pointer(c.Default)}
}

func tableDetailsOf(d access.Details) tableDetails {
	out := tableDetails{
		Table: tableOf(d.LocatedTable), Version: d.TableVersion, VersionAt: v1.Timestamp(d.TableTimestamp), Description: d.Description,
		PartitionColumns: d.PartitionColumns, Properties: d.Properties, Columns: v1.Map(d.Columns, columnOf),
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

// listVersions returns a page of versions. The token is the last version of the page.
func listVersions(ctx context.Context, tables access.Tables, in *historyInput) (history, error) {
	var before int64
	if in.PageToken != "" {
		cursor, ok, err := in.Page.Catalog().Cursor("versions")
		if err != nil || !ok {
			return history{}, err
		}
		if before, err = parseVersion(cursor.Key); err != nil {
			return history{}, err
		}
	}
	entries, err := tables.History(ctx, in.Path(), in.PageSize, before)
	if err != nil {
		return history{}, err
	}
	out := history{Versions: v1.Map(entries, versionOf)}
	if len(entries) == in.PageSize && entries[len(entries)-1].Version > 0 {
		out.NextPageToken = catalog.Cursor{List: "versions", Key: strconv.Itoa(int(entries[len(entries)-1].Version))}.Token()
	}
	return out, nil
}

func versionOf(e access.HistoryEntry) version {
	return version{
		Version: e.Version, Timestamp: v1.Timestamp(e.Timestamp), Operation: e.Operation, OperationParameters: e.OperationParameters,
		OperationMetrics: e.OperationMetrics, UserName: v1.Pointer(e.UserName), ReadVersion: e.ReadVersion, IsBlindAppend: e.IsBlindAppend,
		EngineInfo: v1.Pointer(e.EngineInfo),
	}
}

func parseVersion(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, v1.FieldError("page_token", "must be a token of an earlier reply")
	}
	return n, nil
}
