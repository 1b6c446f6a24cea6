package tables

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/table"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

type newColumn struct {
	Name         string `json:"name" minLength:"1" maxLength:"255"`
	Type         string `json:"type" minLength:"1" maxLength:"65536" doc:"Delta's name of the type: long, string, decimal(12,2), timestamp, array<string> …; DuckDB's names in upper case are taken too"`
	Nullable     *bool  `json:"nullable,omitempty" doc:"Default true"`
	IsPrimaryKey bool   `json:"isPrimaryKey,omitempty" doc:"Part of the primary key; NULL compares equal"`
	IsUnique     *bool  `json:"isUnique,omitempty" doc:"No value twice; NULL does not count. Of a primary key column it follows from the key: true where the key has one column, false where it has several"`
	Comment      string `json:"comment,omitempty" maxLength:"4096"`
	Default      string `json:"default,omitempty" minLength:"1" maxLength:"4096" doc:"A constant in SQL, such as 'open', 0 or DATE '2024-01-31', for new rows that do not name the column"`
}

type createTableInput struct {
	Body struct {
		Catalog     string            `json:"catalog" minLength:"1" maxLength:"255"`
		Schema      string            `json:"schema" minLength:"1" maxLength:"255" doc:"Schema of a storage configuration"`
		Name        string            `json:"name" minLength:"1" maxLength:"200"`
		Columns     []newColumn       `json:"columns" minItems:"1" maxItems:"10000" nullable:"false"`
		PartitionBy []string          `json:"partition_by,omitempty" maxItems:"100"`
		Path        string            `json:"path,omitempty" maxLength:"1024" doc:"Folder below the root of the configuration; default: the name"`
		Properties  map[string]string `json:"properties,omitempty" doc:"Delta's table properties, or names of your own"`
	}
}

type createdTable struct {
	Catalog string `json:"catalog"`
	Schema  string `json:"schema"`
	Table   string `json:"table"`
	TableID string `json:"tableId" doc:"Delta's id of the table; survives rename and move"`
	Version int64  `json:"version"`
}

type dropTableInput struct {
	v1.TablePath
	Purge bool `query:"purge" doc:"Delete the files too, for good"`
}

// FileRoutes registers the routes that create and remove tables.
func FileRoutes(api huma.API, tables table.Files) {
	// Tables of a sandbox are created by everybody who may insert rows.
	create := v1.Route{Tag: "Tables", Scope: auth.ScopeTablesCreate, OrScope: auth.ScopeRowsInsert, Camel: true, Local: true}
	modify := v1.Route{Tag: "Tables", Scope: auth.ScopeTablesModify, Camel: true, Local: true}

	v1.Add(api, create.With("POST", "/v1/tables", "createTable", "Create a table").As201().
		Describe("An empty Delta table below the root of a storage configuration."),
		func(ctx context.Context, in *createTableInput) (createdTable, error) {
			t, err := tables.Create(ctx, in.table())
			return createdTable{
				Catalog: catalog.CatalogName, Schema: t.StorageConfig.Schema(), Table: t.Name, TableID: string(t.DeltaID), Version: t.TableVersion,
			}, err
		})
	v1.Add(api, modify.With("DELETE", v1.TableBase, "dropTable", "Drop a table").
		Describe("Takes it out of the catalog; its files stay, unless they are purged."),
		func(ctx context.Context, in *dropTableInput) (v1.Empty, error) {
			return v1.Empty{}, tables.Drop(ctx, in.Path(), in.Purge)
		})
}

func (in *createTableInput) table() table.Definition {
	b := in.Body
	return table.Definition{
		Catalog: b.Catalog, Schema: b.Schema, Name: b.Name, PartitionBy: b.PartitionBy, Path: b.Path, Properties: b.Properties,
		Columns: v1.Map(b.Columns, func(c newColumn) table.ColumnDefinition {
			return table.ColumnDefinition{
				Name: c.Name, Type: c.Type, Nullable: c.Nullable == nil || *c.Nullable,
				PrimaryKey: c.IsPrimaryKey, Unique: c.IsUnique, Comment: c.Comment, Default: c.Default,
			}
		}),
	}
}
