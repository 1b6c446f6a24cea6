package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// newTable is the body of a request that makes a table.
func (s *testServer) newTable(schema, name string, more map[string]any, columns ...map[string]any) map[string]any {
	body := map[string]any{"catalog": "lake", "schema": schema, "name": name, "columns": columns}
	for key, value := range more {
		body[key] = value
	}
	return body
}

func col(name, typ string, more ...any) map[string]any {
	c := map[string]any{"name": name, "type": typ}
	for i := 0; i+1 < len(more); i += 2 {
		c[more[i].(string)] = more[i+1]
	}
	return c
}

func TestTablesAreCreatedAndOthersReadThem(t *testing.T) {
	s := startServer(t, nil)
	python := deltaPython(t)
	made := s.admin.call("POST", "/v1/tables", s.newTable(s.schema, "orders", map[string]any{
		"partition_by": []string{"region"}, "path": "sales/orders", "properties": map[string]any{"delta.appendOnly": "true", "team": "a"},
	}, col("id", "long", "isPrimaryKey", true, "nullable", false, "comment", "it's one"), col("region", "string"), col("amount", "decimal(12,2)"), col("at", "timestamp")))
	require.Equal(t, 201, made.status, "%s", made.body)
	got := made.json(t)
	require.Equal(t, "lake", got["catalog"])
	require.Equal(t, s.schema, got["schema"])
	require.Equal(t, "orders", got["table"])
	require.Equal(t, 0.0, got["version"])

	details := s.admin.ok("GET", s.tablePath("orders"), nil)
	require.Equal(t, got["tableId"], details["tableId"])
	require.Equal(t, []any{"region"}, details["partitionColumns"])
	require.Equal(t, "interval 7 days", details["properties"].(map[string]any)["delta.setTransactionRetentionDuration"])
	first := details["columns"].([]any)[0].(map[string]any)
	require.Equal(t, "it's one", first["comment"])
	require.Equal(t, false, first["nullable"])
	require.Equal(t, 0.0, s.admin.count(s.schema+".orders"))

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
`, filepath.Join(s.root, "sales/orders"), got["tableId"].(string))
	require.Equal(t, []any{[]any{1.0, "eu"}}, s.admin.rows("SELECT id, region FROM "+s.schema+".orders"))
	require.Equal(t, 0.0, s.discover()["tablesAdded"], "it is registered already")

	s.admin.ok("DELETE", s.tablePath("orders"), nil)
	require.FileExists(t, filepath.Join(s.root, "sales/orders/_delta_log/00000000000000000000.json"))
	code, _ := s.admin.call("POST", "/v1/tables", s.newTable(s.schema, "orders", map[string]any{"path": "sales/orders"}, col("id", "long"))).problem(t, 409)
	require.Equal(t, "table_exists", code)
}

func TestPurgeDeletesTheTableAndNothingElse(t *testing.T) {
	s := startServer(t, nil)
	for _, name := range []string{"gone", "gone2"} {
		require.Equal(t, 201, s.admin.call("POST", "/v1/tables", s.newTable(s.schema, name, nil, col("id", "long"))).status)
	}
	// Another engine put a table below the folder of the first one.
	writeTable(t, filepath.Join(s.root, "gone", "inner"), "SELECT 1 AS id", nil, column{"id", "long"})
	s.member("editor@acme.example", "editor", nil).call("DELETE", s.tablePath("gone")+"?purge=true", nil).problem(t, 403)
	s.admin.ok("DELETE", s.tablePath("gone")+"?purge=true", nil)
	require.NoDirExists(t, filepath.Join(s.root, "gone", "_delta_log"))
	require.DirExists(t, filepath.Join(s.root, "gone", "inner", "_delta_log"))
	require.DirExists(t, filepath.Join(s.root, "gone2", "_delta_log"))
	s.admin.call("GET", s.tablePath("gone"), nil).problem(t, 404)
	s.admin.call("DELETE", s.tablePath("gone")+"?purge=true", nil).problem(t, 404)

	// Somebody else's table at the place of ours is not deleted with it.
	require.NoError(t, os.RemoveAll(filepath.Join(s.root, "gone2")))
	writeTable(t, filepath.Join(s.root, "gone2"), "SELECT 1 AS id", nil, column{"id", "long"})
	code, _ := s.admin.call("DELETE", s.tablePath("gone2")+"?purge=true", nil).problem(t, 409)
	require.Equal(t, "table_identity_changed", code)
	require.DirExists(t, filepath.Join(s.root, "gone2", "_delta_log"))
}

func TestTablesThatCannotBeCreatedLeaveNothing(t *testing.T) {
	s := startServer(t, nil)
	require.Equal(t, 201, s.admin.call("POST", "/v1/tables", s.newTable(s.schema, "taken", map[string]any{"path": "a/taken"}, col("id", "long"))).status)
	id := col("id", "long")
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
		{"other", nil, []map[string]any{col("id", "blob(3"), col("x", "nonsense")}, 422, "invalid_field", []string{"columns[0].type", "columns[1].type"}},
		{"other", nil, []map[string]any{id, col("ID", "long")}, 422, "invalid_schema", []string{"columns[1].name"}},
		{"other", nil, []map[string]any{col("a b", "long")}, 422, "invalid_schema", []string{"columns[0].name"}},
		{"other", nil, []map[string]any{id, col("v", "variant")}, 422, "invalid_schema", []string{"columns[1].type"}},
		{"other", map[string]any{"partition_by": []string{"nowhere"}}, []map[string]any{id}, 422, "invalid_schema", []string{"partition_by[0]"}},
		{"other", map[string]any{"partition_by": []string{"id", "d"}}, []map[string]any{id, col("d", "double"), id}, 422, "invalid_schema", []string{"columns[2].name"}},
		{"other", map[string]any{"partition_by": []string{"id", "d"}}, []map[string]any{id, col("d", "double")}, 422, "invalid_schema", []string{"partition_by[1]"}},
		{"other", map[string]any{"partition_by": []string{"id"}}, []map[string]any{id}, 422, "invalid_schema", []string{"partition_by"}},
		{"other", map[string]any{"properties": map[string]any{"delta.nonsense_x": "1", "delta.appendOnly": "maybe", "my_own": "1"}}, []map[string]any{id}, 422, "invalid_property", []string{"properties.delta.appendOnly", "properties.delta.nonsense_x"}},
		{"other", map[string]any{"properties": map[string]any{"delta.universalFormat.enabledFormats": "iceberg"}}, []map[string]any{id}, 422, "invalid_property", []string{"properties.delta.universalFormat.enabledFormats"}},
		{"other", map[string]any{"properties": map[string]any{"delta.inCommitTimestampEnablementVersion": "0"}}, []map[string]any{id}, 422, "invalid_property", []string{"properties.delta.inCommitTimestampEnablementVersion"}},
		{"other", nil, []map[string]any{col("id", "long", "isPrimaryKey", true, "isUnique", false)}, 422, "invalid_field", []string{"columns[0].isUnique"}},
		{"other", nil, []map[string]any{id, col("a", "long", "isPrimaryKey", true), col("b", "long", "isPrimaryKey", true, "isUnique", true)}, 422, "invalid_field", []string{"columns[2].isUnique"}},
		{"other", nil, []map[string]any{id, col("a", "array<long>", "isUnique", true)}, 422, "invalid_field", []string{"columns[1].isUnique"}},
		{"other", nil, []map[string]any{id, col("a", "array<long>", "isPrimaryKey", true)}, 422, "invalid_field", []string{"columns[1].isPrimaryKey"}},
		{"other", map[string]any{"properties": map[string]any{"delta.constraints.x": "id > 0"}}, []map[string]any{id}, 422, "invalid_field", []string{"properties.delta.constraints.x"}},
		{"other", nil, []map[string]any{}, 422, "invalid_field", []string{"columns"}},
	}
	for _, c := range cases {
		r := s.admin.call("POST", "/v1/tables", s.newTable(s.schema, c.name, c.more, c.cols...))
		code, fields := r.problem(t, c.status)
		require.Equal(t, c.code, code, "%s %v: %s", c.name, c.more, r.body)
		if c.fields != nil {
			require.Equal(t, c.fields, fields, "%s", r.body)
		}
	}
	s.admin.call("POST", "/v1/tables", s.newTable("cfg_nowhere", "other", nil, id)).problem(t, 404)
	s.member("editor@acme.example", "editor", nil).call("POST", "/v1/tables", s.newTable(s.schema, "other", nil, id)).problem(t, 403)
	require.Len(t, s.admin.ok("GET", "/v1/tables", nil)["tables"], 1)
	entries, err := os.ReadDir(s.root)
	require.NoError(t, err)
	require.Len(t, entries, 1, "no folder of a table that was refused")

	s.admin.ok("PATCH", "/v1/organisations/"+s.boot.OrganisationID+"/config", map[string]any{
		"table_constraints": map[string]any{"require_primary_key": true, "name_pattern": "[a-z]+", "max_columns": 2},
	})
	_, fields := s.admin.call("POST", "/v1/tables", s.newTable(s.schema, "other", nil, id)).problem(t, 422)
	require.Equal(t, []string{"columns"}, fields)
	_, fields = s.admin.call("POST", "/v1/tables", s.newTable(s.schema, "other1", nil, col("id", "long", "isPrimaryKey", true))).problem(t, 422)
	require.Equal(t, []string{"name"}, fields)
	_, fields = s.admin.call("POST", "/v1/tables", s.newTable(s.schema, "other", nil, col("id", "long", "isPrimaryKey", true), col("a", "long"), col("b", "long"))).problem(t, 422)
	require.Equal(t, []string{"columns"}, fields)
	require.Equal(t, 201, s.admin.call("POST", "/v1/tables", s.newTable(s.schema, "other", nil, col("id", "long", "isPrimaryKey", true))).status)
}

// TestWhatFollowsFromAKeyMayBeSaid: a request may say of key columns what the key
// makes of them.
func TestWhatFollowsFromAKeyMayBeSaid(t *testing.T) {
	s := startServer(t, nil)
	one := s.create("one", nil, col("id", "long", "isPrimaryKey", true, "isUnique", true), col("u", "long", "isUnique", true), col("v", "long", "isUnique", false))
	for column, unique := range map[string]bool{"id": true, "u": true, "v": false} {
		_, got, _ := s.admin.flags(one, column)
		require.Equal(t, unique, got, column)
	}
	two := s.create("two", nil, col("a", "long", "isPrimaryKey", true, "isUnique", false), col("b", "long", "isPrimaryKey", true))
	for _, column := range []string{"a", "b"} {
		primary, unique, _ := s.admin.flags(two, column)
		require.True(t, primary)
		require.False(t, unique)
	}
}

// TestMappedTablesHaveAnyNames: files have other names, so columns may have any,
// also those that tables are partitioned by.
func TestMappedTablesHaveAnyNames(t *testing.T) {
	s := startServer(t, nil)
	path := s.create("odd", object{"properties": object{"delta.columnMapping.mode": "name"}, "partition_by": list{"a b"}}, col("id, really", "long"), col("a b", "string"))
	s.admin.write(path+"/rows", rowsOf(object{"id, really": 1, "a b": "x=y"}, object{"id, really": 2}))
	require.Equal(t, list{list{1.0, "x=y"}, list{2.0, nil}}, s.admin.rows(`SELECT "id, really", "a b" FROM `+s.schema+".odd ORDER BY 1"))
	deltaPython(t)(`
import sys, deltalake
dt = deltalake.DeltaTable(sys.argv[1])
assert [f.name for f in dt.schema().fields] == ["id, really", "a b"] and dt.metadata().partition_columns == ["a b"]
`, filepath.Join(s.root, "odd"))
}

func TestTablesAreCreatedInS3(t *testing.T) {
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	s := startS3Server(t)
	made := s.admin.ok("POST", configsPath, s3Body(store, bucket, map[string]any{"workspaceId": s.boot.WorkspaceID}))
	schema := made["schema"].(string)
	require.Equal(t, 201, s.admin.call("POST", "/v1/tables", s.newTable(schema, "orders", nil, col("id", "long"))).status)
	require.Equal(t, 0.0, s.admin.count(schema+".orders"))
	s.admin.ok("DELETE", "/v1/tables/lake/"+schema+"/orders?purge=true", nil)
	require.Equal(t, 201, s.admin.call("POST", "/v1/tables", s.newTable(schema, "orders", nil, col("id", "long"), col("more", "string"))).status)
	require.Equal(t, 0.0, s.admin.count(schema+".orders"))
}
