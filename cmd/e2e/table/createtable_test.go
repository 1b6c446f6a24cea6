package table_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

func TestTablesAreCreatedAndOthersReadThem(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	python := harness.DeltaPython(t)
	made := s.Admin.Call("POST", "/v1/tables", s.NewTable(s.Schema, "orders", map[string]any{
		"partition_by": []string{"region"}, "path": "sales/orders", "properties": map[string]any{"delta.appendOnly": "true", "team": "a"},
	}, harness.Col("id", "long", "isPrimaryKey", true, "nullable", false, "comment", "it's one"), harness.Col("region", "string"),
		harness.Col("amount", "decimal(12,2)"), harness.Col("at", "timestamp")))
	require.Equal(t, 201, made.Status, "%s", made.Body)
	got := made.JSON(t)
	require.Equal(t, "lake", got["catalog"])
	require.Equal(t, s.Schema, got["schema"])
	require.Equal(t, "orders", got["table"])
	require.Equal(t, 0.0, got["version"])

	details := s.Admin.OK("GET", s.TablePath("orders"), nil)
	require.Equal(t, got["tableId"], details["tableId"])
	require.Equal(t, []any{"region"}, details["partitionColumns"])
	require.Equal(t, "interval 7 days", details["properties"].(map[string]any)["delta.setTransactionRetentionDuration"])
	first := details["columns"].([]any)[0].(map[string]any)
	require.Equal(t, "it's one", first["comment"])
	require.Equal(t, false, first["nullable"])
	require.Equal(t, 0.0, s.Admin.Count(s.Schema+".orders"))

	python(`
import sys, deltalake, pyarrow as pa, datetime, decimal
path, name = sys.argv[1:]
t = deltalake.DeltaTable(path)
assert t.metadata().id == name and t.metadata().partition_columns == ["region"], t.metadata()
assert [f.name for f in t.schema().fields] == ["id", "region", "amount", "at"]
rows = pa.table({"id": pa.array([1], pa.int64()), "region": ["eu"], "amount": pa.array([decimal.Decimal("1.50")], pa.decimal128(12, 2)),
                 "at": pa.array([datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)], pa.timestamp("us", "UTC"))},
                schema=pa.schema([pa.field("id", pa.int64(), False), ("region", pa.string()), ("amount", pa.decimal128(12, 2)), ("at", pa.timestamp("us", "UTC"))]))
deltalake.write_deltalake(path, rows, mode="append")
`, filepath.Join(s.Root, "sales/orders"), got["tableId"].(string))
	require.Equal(t, []any{[]any{1.0, "eu"}}, s.Admin.Rows("SELECT id, region FROM "+s.Schema+".orders"))
	require.Equal(t, 0.0, s.Discover()["tablesAdded"], "it is registered already")

	s.Admin.OK("DELETE", s.TablePath("orders"), nil)
	require.FileExists(t, filepath.Join(s.Root, "sales/orders/_delta_log/00000000000000000000.json"))
	code, _ := s.Admin.Call("POST", "/v1/tables", s.NewTable(s.Schema, "orders", map[string]any{"path": "sales/orders"},
		harness.Col("id", "long"))).Problem(t, 409)
	require.Equal(t, "table_exists", code)
}

func TestPurgeDeletesTheTableAndNothingElse(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	for _, name := range []string{"gone", "gone2"} {
		require.Equal(t, 201, s.Admin.Call("POST", "/v1/tables", s.NewTable(s.Schema, name, nil, harness.Col("id", "long"))).Status)
	}
	// Another engine put a table below the folder of the first one.
	harness.WriteTable(t, filepath.Join(s.Root, "gone", "inner"), "SELECT 1 AS id", nil, column{"id", "long"})
	s.Member("editor@acme.example", "editor", nil).Call("DELETE", s.TablePath("gone")+"?purge=true", nil).Problem(t, 403)
	s.Admin.OK("DELETE", s.TablePath("gone")+"?purge=true", nil)
	require.NoDirExists(t, filepath.Join(s.Root, "gone", "_delta_log"))
	require.DirExists(t, filepath.Join(s.Root, "gone", "inner", "_delta_log"))
	require.DirExists(t, filepath.Join(s.Root, "gone2", "_delta_log"))
	s.Admin.Call("GET", s.TablePath("gone"), nil).Problem(t, 404)
	s.Admin.Call("DELETE", s.TablePath("gone")+"?purge=true", nil).Problem(t, 404)

	// A table that another writer has created in the folder meanwhile is not deleted.
	require.NoError(t, os.RemoveAll(filepath.Join(s.Root, "gone2")))
	harness.WriteTable(t, filepath.Join(s.Root, "gone2"), "SELECT 1 AS id", nil, column{"id", "long"})
	code, _ := s.Admin.Call("DELETE", s.TablePath("gone2")+"?purge=true", nil).Problem(t, 409)
	require.Equal(t, "table_identity_changed", code)
	require.DirExists(t, filepath.Join(s.Root, "gone2", "_delta_log"))
}

func TestTablesThatCannotBeCreatedLeaveNothing(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	require.Equal(t, 201, s.Admin.Call("POST", "/v1/tables", s.NewTable(s.Schema, "taken", map[string]any{"path": "a/taken"},
		harness.Col("id", "long"))).Status)
	id := harness.Col("id", "long")
	cases := []struct {
		name   string
		more   map[string]any
		cols   []map[string]any
		status int
		code   string
		fields []string
	}{
		{"TAKEN", nil, []map[string]any{id}, 409, "already_exists", []string{"name"}},
		{"other", map[string]any{"path": "a/taken"}, []map[string]any{id}, 409, "already_exists", []string{"path"}},
		{"other", map[string]any{"path": "a/taken/x"}, []map[string]any{id}, 422, "invalid_field", []string{"path"}},
		{"other", map[string]any{"path": "a"}, []map[string]any{id}, 422, "invalid_field", []string{"path"}},
		{"other", map[string]any{"path": "../x"}, []map[string]any{id}, 422, "invalid_field", []string{"path"}},
		{"other", map[string]any{"path": "/x"}, []map[string]any{id}, 422, "invalid_field", []string{"path"}},
		{"other", map[string]any{"path": "_delta_log"}, []map[string]any{id}, 422, "invalid_field", []string{"path"}},
		{"a b", nil, []map[string]any{id}, 422, "invalid_field", []string{"name"}},
		{"other", nil, []map[string]any{harness.Col("id", "blob(3"), harness.Col("x", "nonsense")}, 422, "invalid_field",
			[]string{"columns[0].type", "columns[1].type"}},
		{"other", nil, []map[string]any{id, harness.Col("ID", "long")}, 422, "invalid_schema", []string{"columns[1].name"}},
		{"other", nil, []map[string]any{harness.Col("a b", "long")}, 422, "invalid_schema", []string{"columns[0].name"}},
		{"other", nil, []map[string]any{id, harness.Col("v", "variant")}, 422, "invalid_schema", []string{"columns[1].type"}},
		{"other", map[string]any{"partition_by": []string{"nowhere"}}, []map[string]any{id}, 422, "invalid_schema", []string{"partition_by[0]"}},
		{"other", map[string]any{"partition_by": []string{"id", "d"}}, []map[string]any{id, harness.Col("d", "double"), id}, 422,
			"invalid_schema", []string{"columns[2].name"}},
		{"other", map[string]any{"partition_by": []string{"id", "d"}}, []map[string]any{id, harness.Col("d", "double")}, 422, "invalid_schema",
			[]string{"partition_by[1]"}},
		{"other", map[string]any{"partition_by": []string{"id"}}, []map[string]any{id}, 422, "invalid_schema", []string{"partition_by"}},
		{"other", map[string]any{"properties": map[string]any{"delta.nonsense_x": "1", "delta.appendOnly": "maybe", "my_own": "1"}},
			[]map[string]any{id}, 422, "invalid_property", []string{"properties.delta.appendOnly", "properties.delta.nonsense_x"}},
		{"other", map[string]any{"properties": map[string]any{"delta.universalFormat.enabledFormats": "iceberg"}}, []map[string]any{id}, 422,
			"invalid_property", []string{"properties.delta.universalFormat.enabledFormats"}},
		{"other", map[string]any{"properties": map[string]any{"delta.inCommitTimestampEnablementVersion": "0"}}, []map[string]any{id}, 422,
			"invalid_property", []string{"properties.delta.inCommitTimestampEnablementVersion"}},
		{"other", nil, []map[string]any{harness.Col("id", "long", "isPrimaryKey", true, "isUnique", false)}, 422, "invalid_field",
			[]string{"columns[0].isUnique"}},
		{"other", nil, []map[string]any{id, harness.Col("a", "long", "isPrimaryKey", true),
			harness.Col("b", "long", "isPrimaryKey", true, "isUnique", true)}, 422, "invalid_field", []string{"columns[2].isUnique"}},
		{"other", nil, []map[string]any{id, harness.Col("a", "array<long>", "isUnique", true)}, 422, "invalid_field",
			[]string{"columns[1].isUnique"}},
		{"other", nil, []map[string]any{id, harness.Col("a", "array<long>", "isPrimaryKey", true)}, 422, "invalid_field",
			[]string{"columns[1].isPrimaryKey"}},
		{"other", map[string]any{"properties": map[string]any{"delta.constraints.x": "id > 0"}}, []map[string]any{id}, 422, "invalid_field",
			[]string{"properties.delta.constraints.x"}},
		{"other", nil, []map[string]any{}, 422, "invalid_field", []string{"columns"}},
	}
	for _, c := range cases {
		r := s.Admin.Call("POST", "/v1/tables", s.NewTable(s.Schema, c.name, c.more, c.cols...))
		code, fields := r.Problem(t, c.status)
		require.Equal(t, c.code, code, "%s %v: %s", c.name, c.more, r.Body)
		if c.fields != nil {
			require.Equal(t, c.fields, fields, "%s", r.Body)
		}
	}
	s.Admin.Call("POST", "/v1/tables", s.NewTable("cfg_nowhere", "other", nil, id)).Problem(t, 404)
	s.Member("editor@acme.example", "editor", nil).Call("POST", "/v1/tables", s.NewTable(s.Schema, "other", nil, id)).Problem(t, 403)
	require.Len(t, s.Admin.OK("GET", "/v1/tables", nil)["tables"], 1)
	entries, err := os.ReadDir(s.Root)
	require.NoError(t, err)
	require.Len(t, entries, 1, "no folder of a table that was refused")

	s.Admin.OK("PATCH", "/v1/organisations/"+s.Boot.OrganisationID+"/config", map[string]any{
		"table_constraints": map[string]any{"require_primary_key": true, "name_pattern": "[a-z]+", "max_columns": 2},
	})
	_, fields := s.Admin.Call("POST", "/v1/tables", s.NewTable(s.Schema, "other", nil, id)).Problem(t, 422)
	require.Equal(t, []string{"columns"}, fields)
	_, fields = s.Admin.Call("POST", "/v1/tables", s.NewTable(s.Schema, "other1", nil,
		harness.Col("id", "long", "isPrimaryKey", true))).Problem(t, 422)
	require.Equal(t, []string{"name"}, fields)
	_, fields = s.Admin.Call("POST", "/v1/tables", s.NewTable(s.Schema, "other", nil, harness.Col("id", "long", "isPrimaryKey", true),
		harness.Col("a", "long"), harness.Col("b", "long"))).Problem(t, 422)
	require.Equal(t, []string{"columns"}, fields)
	require.Equal(t, 201, s.Admin.Call("POST", "/v1/tables", s.NewTable(s.Schema, "other", nil,
		harness.Col("id", "long", "isPrimaryKey", true))).Status)
}

// TestImpliedPropertiesOfKeyColumnsAreAccepted checks that a request may repeat
// properties of key columns that follow from the key.
func TestImpliedPropertiesOfKeyColumnsAreAccepted(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	one := s.Create("one", nil, harness.Col("id", "long", "isPrimaryKey", true, "isUnique", true), harness.Col("u", "long", "isUnique", true),
		harness.Col("v", "long", "isUnique", false))
	for column, unique := range map[string]bool{"id": true, "u": true, "v": false} {
		_, got, _ := s.Admin.Flags(one, column)
		require.Equal(t, unique, got, column)
	}
	two := s.Create("two", nil, harness.Col("a", "long", "isPrimaryKey", true, "isUnique", false),
		harness.Col("b", "long", "isPrimaryKey", true))
	for _, column := range []string{"a", "b"} {
		primary, unique, _ := s.Admin.Flags(two, column)
		require.True(t, primary)
		require.False(t, unique)
	}
}

// TestMappedTablesHaveAnyNames checks that columns of tables with column mapping may have
// any name, partition columns included.
func TestMappedTablesHaveAnyNames(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("odd", object{"properties": object{"delta.columnMapping.mode": "name"}, "partition_by": list{"a b"}},
		harness.Col("id, really", "long"), harness.Col("a b", "string"))
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id, really": 1, "a b": "x=y"}, object{"id, really": 2}))
	require.Equal(t, list{list{1.0, "x=y"}, list{2.0, nil}}, s.Admin.Rows(`SELECT "id, really", "a b" FROM `+s.Schema+".odd ORDER BY 1"))
	harness.DeltaPython(t)(`
import sys, deltalake
dt = deltalake.DeltaTable(sys.argv[1])
assert [f.name for f in dt.schema().fields] == ["id, really", "a b"] and dt.metadata().partition_columns == ["a b"]
`, filepath.Join(s.Root, "odd"))
}

func TestTablesAreCreatedInS3(t *testing.T) {
	t.Parallel()
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	s := harness.StartS3Server(t)
	made := s.Admin.OK("POST", harness.ConfigsPath, harness.S3Body(store, bucket, map[string]any{"workspaceId": s.Boot.WorkspaceID}))
	schema := made["schema"].(string)
	require.Equal(t, 201, s.Admin.Call("POST", "/v1/tables", s.NewTable(schema, "orders", nil, harness.Col("id", "long"))).Status)
	require.Equal(t, 0.0, s.Admin.Count(schema+".orders"))
	s.Admin.OK("DELETE", "/v1/tables/lake/"+schema+"/orders?purge=true", nil)
	require.Equal(t, 201, s.Admin.Call("POST", "/v1/tables", s.NewTable(schema, "orders", nil, harness.Col("id", "long"),
		harness.Col("more", "string"))).Status)
	require.Equal(t, 0.0, s.Admin.Count(schema+".orders"))
}

// TestDroppedTablesKeepTheirFolders checks that no table comes into the folder of a dropped one, or
// around it, and that the name is free.
func TestDroppedTablesKeepTheirFolders(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	create := func(name, path string) harness.Reply {
		return s.Admin.Call("POST", "/v1/tables", s.NewTable(s.Schema, name, map[string]any{"path": path}, harness.Col("id", "long")))
	}
	require.Equal(t, 201, create("gone", "a/gone").Status)
	s.Admin.OK("DELETE", s.TablePath("gone"), nil)
	for _, path := range []string{"a", "a/gone/inner"} {
		_, fields := create("other", path).Problem(t, 422)
		require.Equal(t, []string{"path"}, fields, path)
	}
	require.Equal(t, 201, create("gone", "a/new").Status)
	s.Admin.OK("POST", s.TablePath("gone")+"/rows", map[string]any{"rows": []any{map[string]any{"id": 1}}})
}
