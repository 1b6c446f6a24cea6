package harness

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/deltasql"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
)

// ColumnsIn are the columns in the answer to a change.
func ColumnsIn(altered map[string]any) (out []string) {
	for _, c := range altered["columns"].([]any) {
		out = append(out, c.(map[string]any)["name"].(string))
	}
	return out
}

// NewTable is the body of a request that makes a table.
func (s *Server) NewTable(schema, name string, more map[string]any, columns ...map[string]any) map[string]any {
	body := map[string]any{"catalog": "lake", "schema": schema, "name": name, "columns": columns}
	for key, value := range more {
		body[key] = value
	}
	return body
}

// Col is a column in the body of a request, with more members in pairs.
func Col(name, typ string, more ...any) map[string]any {
	c := map[string]any{"name": name, "type": typ}
	for i := 0; i+1 < len(more); i += 2 {
		c[more[i].(string)] = more[i+1]
	}
	return c
}

// Create makes a table through the API.
func (s *Server) Create(name string, more map[string]any, columns ...map[string]any) string {
	s.T.Helper()
	r := s.Admin.Call("POST", "/v1/tables", s.NewTable(s.Schema, name, more, columns...))
	require.Equal(s.T, 201, r.Status, "%s", r.Body)
	return s.TablePath(name)
}

// Write sends rows that must be taken and returns the counts.
func (c *Client) Write(path string, body any) (inserted, updated, deleted float64) {
	c.T.Helper()
	got := c.OK("POST", path, body)
	return got["inserted"].(float64), got["updated"].(float64), got["deleted"].(float64)
}

type object = map[string]any

// RowsOf is the body of a request that writes rows.
func RowsOf(rows ...any) object { return object{"rows": rows} }

// Flags are the settings of a column as GET shows them.
func (c *Client) Flags(path, name string) (primary, unique, nullable bool) {
	c.T.Helper()
	for _, column := range c.OK("GET", path+"/columns", nil)["columns"].([]any) {
		if m := column.(map[string]any); m["name"] == name {
			return m["isPrimaryKey"].(bool), m["isUnique"].(bool), m["nullable"].(bool)
		}
	}
	require.Fail(c.T, "no column "+name)
	return false, false, false
}

// Version returns the version of the table at path.
func (c *Client) Version(path string) float64 {
	c.T.Helper()
	return c.OK("GET", path, nil)["version"].(float64)
}

// PeopleRows are the rows of a table with [PeopleColumns].
const PeopleRows = `SELECT i AS id, i // 2 AS a, i % 2 AS b, CASE WHEN i < 8 THEN 'n' || i END AS name, 'same' AS kind,
	CASE WHEN i <> 3 THEN i END AS gap, [i] AS list FROM range(10) t(i)`

// PeopleColumns are columns of several types, one of them with NULLs.
var PeopleColumns = []Column{
	{"id", "long"}, {"a", "long"}, {"b", "long"}, {"name", "string"}, {"kind", "string"}, {"gap", "long"}, {"list", "array<long>"},
}

// TablePath returns the path of a table of the shared configuration.
func (s *Server) TablePath(name string) string { return "/v1/tables/lake/" + s.Schema + "/" + name }

// Column is a column of a test table: its name, and its type as Delta names it.
type Column [2]string

// Table writes a Delta table with our own log code, filled by a SELECT that the
// engine runs, and discovers it. It returns the table's folder.
func (s *Server) Table(name, sql string, partitionBy []string, columns ...Column) string {
	s.T.Helper()
	dir := WriteTable(s.T, filepath.Join(s.Root, name), sql, partitionBy, columns...)
	s.Discover()
	return dir
}

// Discover looks for tables below the shared configuration and returns the reply.
func (s *Server) Discover() map[string]any {
	s.T.Helper()
	for _, c := range s.Admin.OK("GET", ConfigsPath, nil)["configs"].([]any) {
		if c := c.(map[string]any); c["schema"] == s.Schema {
			return s.Admin.OK("POST", ConfigsPath+"/"+c["configId"].(string)+"/discover", nil)
		}
	}
	require.Fail(s.T, "no configuration with the schema "+s.Schema)
	return nil
}

// Vanish discovers twice and checks that n tables have vanished.
func (s *Server) Vanish(n int) {
	s.T.Helper()
	require.EqualValues(s.T, n, s.Discover()["tablesMissing"])
	require.EqualValues(s.T, n, s.Discover()["tablesVanished"])
}

// WriteTable writes a Delta table with our own log code into the folder dir, which it
// returns.
func WriteTable(t testing.TB, dir, sql string, partitionBy []string, columns ...Column) string {
	t.Helper()
	ctx := context.Background()
	bucket, err := file.Create(dir)
	require.NoError(t, err)
	var schema delta.Struct
	for _, c := range columns {
		typ, err := deltasql.ParseType(c[1])
		require.NoError(t, err)
		schema.Fields = append(schema.Fields, delta.Field{Name: c[0], Type: typ, Nullable: true})
	}
	_, err = write.Import(ctx, FileEngine(t), nil, write.Imported{
		Schema: schema, PartitionBy: partitionBy, Rows: engine.Statement{SQL: sql}, Bucket: bucket, Scratch: t.TempDir(),
	}, delta.Options{})
	require.NoError(t, err)
	return dir
}
