package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/app"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/command"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
	"github.com/lakewarden/lakewarden/engine/oracletest"
)

// settings are those of a test server.
type settings struct {
	config.Settings
	Variant
	// ReadLog selects the tables that the engine reads through their logs.
	ReadLog func(catalog.LocatedTable) bool
}

// testServer is the whole server on a free loopback port, with one organisation.
type testServer struct {
	t      testing.TB
	config settings
	url    string
	log    *bytes.Buffer
	// logged counts the bytes of log.
	logged *atomic.Int64
	stop   func()
	boot   command.Bootstrapped
	admin  *client
	// schema is the shared configuration's; tables are made below its root.
	schema string
	root   string
}

// client is one caller.
type client struct {
	t    testing.TB
	url  string
	key  string
	user string
}

// reply is what a caller got.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// startServer builds an organisation with an administrator and one empty shared
// storage configuration, and serves it. change may alter the configuration.
func startServer(t testing.TB, change func(*settings)) *testServer {
	t.Helper()
	s := &testServer{t: t, config: settings{Settings: testConfig(t), Variant: variantOfEnvironment(t)}, log: &bytes.Buffer{}, logged: new(atomic.Int64)}
	if change != nil {
		change(&s.config)
	}
	s.config.vary(t)
	store, err := s.openCatalog(context.Background())
	require.NoError(t, err)
	s.boot, err = command.Bootstrap(context.Background(), store, "Acme", "admin@acme.example")
	require.NoError(t, err)
	require.NoError(t, store.Close())
	s.start()
	s.admin = s.client(s.boot.APIKey, s.boot.UserID)
	s.shareStorage()
	return s
}

// openCatalog opens the server's catalog next to it. The caller closes it.
func (s *testServer) openCatalog(ctx context.Context) (*sqlstore.Store, error) {
	return openCatalogOf(ctx, s.config.Settings)
}

func openCatalogOf(ctx context.Context, config config.Settings) (*sqlstore.Store, error) {
	return sqlstore.Open(ctx, config.CatalogURL(), sqlstore.Options{Logger: slog.New(slog.DiscardHandler)})
}

func testConfig(t testing.TB) config.Settings {
	t.Helper()
	config, err := config.Load(flag.NewFlagSet("test", flag.ContinueOnError), []string{"--data-dir", t.TempDir(), "--listen", "127.0.0.1:0"})
	require.NoError(t, err)
	config.ExtensionDir = oracletest.Extensions(t)
	config.LogLevel = "info"
	config.RatePerMinute, config.RateBurst = 1_000_000, 100_000
	config.Memory = 2048
	return config
}

// start serves; the server ends with the test or with stop, whatever is first.
func (s *testServer) start() {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	level, err := s.config.Level()
	require.NoError(s.t, err)
	log := slog.New(slog.NewJSONHandler(&lockedWriter{w: s.log, n: s.logged}, &slog.HandlerOptions{Level: level}))
	svc, err := app.New(ctx, s.config.Settings, log, app.Options{Version: "test", ReadLog: s.config.ReadLog})
	require.NoError(s.t, err)
	l, err := net.Listen("tcp", s.config.Listen)
	require.NoError(s.t, err)
	s.url = "http://" + l.Addr().String()
	done := make(chan error, 1)
	go func() { done <- svc.Server.Serve(ctx, l) }()
	stopped := false
	s.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		require.NoError(s.t, <-done)
		require.NoError(s.t, svc.Close(10*time.Second))
	}
	s.t.Cleanup(s.stop)
}

func (s *testServer) client(key, user string) *client {
	return &client{t: s.t, url: s.url, key: key, user: user}
}

// member adds a user to the organisation.
func (s *testServer) member(email, role string, attributes map[string]string) *client {
	s.t.Helper()
	store, err := s.openCatalog(context.Background())
	require.NoError(s.t, err)
	defer func() { require.NoError(s.t, store.Close()) }()
	made, err := command.AddUser(context.Background(), store, s.boot.OrganisationID, email, role)
	require.NoError(s.t, err)
	if attributes != nil {
		_, err = store.ReplaceAttributes(context.Background(), catalog.OrgID(s.boot.OrganisationID), catalog.UserID(made.UserID), attributes)
		require.NoError(s.t, err)
	}
	return s.client(made.APIKey, made.UserID)
}

// column is a column of a test table, with Delta's name of its type.
type column struct{ name, typ string }

// table writes a Delta table with our own log code, filled by a SELECT that the
// engine runs, and discovers it. It returns the table's folder.
func (s *testServer) table(name, sql string, partitionBy []string, columns ...column) string {
	s.t.Helper()
	dir := writeTable(s.t, filepath.Join(s.root, name), sql, partitionBy, columns...)
	s.discover()
	return dir
}

func (s *testServer) discover() map[string]any {
	s.t.Helper()
	configs := s.admin.ok("GET", "/v1/storages/configs", nil)["configs"].([]any)
	id := configs[0].(map[string]any)["configId"].(string)
	return s.admin.ok("POST", "/v1/storages/configs/"+id+"/discover", nil)
}

func writeTable(t testing.TB, dir, sql string, partitionBy []string, columns ...column) string {
	t.Helper()
	ctx := context.Background()
	bucket, err := file.Create(dir)
	require.NoError(t, err)
	var schema delta.Struct
	for _, c := range columns {
		typ, err := delta.ParseType(c.typ)
		require.NoError(t, err)
		schema.Fields = append(schema.Fields, delta.Field{Name: c.name, Type: typ, Nullable: true})
	}
	_, err = write.Import(ctx, fileEngine(t), nil, write.Imported{
		Schema: schema, PartitionBy: partitionBy, Rows: engine.Statement{SQL: sql}, Bucket: bucket, Scratch: t.TempDir(),
	}, delta.Options{})
	require.NoError(t, err)
	return dir
}

// policy creates a row policy from a definition and returns it.
func (s *testServer) policy(table, column, definition string) map[string]any {
	s.t.Helper()
	body := map[string]any{"kind": "rls", "definition": json.RawMessage(definition)}
	if table != "" {
		body["tableFqn"] = "lake." + s.schema + "." + table
	}
	if column != "" {
		body["columnName"] = column
	}
	return s.admin.ok("POST", "/v1/organisations/"+s.boot.OrganisationID+"/policies", body)
}

// call makes a request; a nil body sends none, a string is sent as it is.
func (c *client) call(method, path string, body any, header ...string) reply {
	c.t.Helper()
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		reader = bytes.NewReader([]byte(b))
	default:
		raw, err := json.Marshal(b)
		require.NoError(c.t, err)
		reader = bytes.NewReader(raw)
	}
	req, err := http.NewRequest(method, c.url+path, reader)
	require.NoError(c.t, err)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(c.t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(c.t, err)
	return reply{status: resp.StatusCode, header: resp.Header, body: text}
}

// ok makes a request that must succeed and returns its JSON object.
func (c *client) ok(method, path string, body any) map[string]any {
	c.t.Helper()
	r := c.call(method, path, body)
	require.Less(c.t, r.status, 300, "%s %s: %s", method, path, r.body)
	return r.json(c.t)
}

// query runs a statement and returns the JSON reply, whatever the status.
func (c *client) query(sql string, parameters ...any) reply {
	c.t.Helper()
	body := map[string]any{"sql": sql}
	if len(parameters) > 0 {
		body["parameters"] = parameters
	}
	return c.call("POST", "/v1/query", body)
}

// rows runs a statement that must succeed.
func (c *client) rows(sql string, parameters ...any) []any {
	c.t.Helper()
	r := c.query(sql, parameters...)
	require.Equal(c.t, http.StatusOK, r.status, "%s: %s", sql, r.body)
	return r.json(c.t)["rows"].([]any)
}

func (r reply) json(t testing.TB) map[string]any {
	t.Helper()
	var out map[string]any
	require.NoError(t, json.Unmarshal(r.body, &out), "%s", r.body)
	return out
}

// problem checks the shape of an error and returns code and fields.
func (r reply) problem(t testing.TB, status int) (code string, fields []string) {
	t.Helper()
	require.Equal(t, status, r.status, "%s", r.body)
	body := r.json(t)
	require.Len(t, body, 4, "%s", r.body)
	require.NotEmpty(t, body["message"])
	require.Equal(t, r.header.Get("X-Request-Id"), body["request_id"])
	for _, d := range body["details"].([]any) {
		fields = append(fields, d.(map[string]any)["field"].(string))
	}
	return body["code"].(string), fields
}

// restart stops the server and serves the same data again. Clients of the
// server's own keep working.
func (s *testServer) restart() {
	s.t.Helper()
	s.stop()
	s.start()
	s.admin = s.client(s.admin.key, s.admin.user)
}
