package opstest

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/api/ops/table"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/catalog/sqlstore"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
	"github.com/lakewarden/lakewarden/sessions"
)

// Lake is an organisation with one storage configuration, and the use cases over it.
type Lake struct {
	tb     testing.TB
	system context.Context
	// Dir is the root of the configuration.
	Dir    string
	Store  *authz.Store
	Org    catalog.Organisation
	Config catalog.StorageConfig

	Data    *lake.Lake
	Tables  access.Tables
	Queries *query.Service
	Writes  write.Service
	Files   table.Files
	Rules   table.Rules
}

// New returns a lake without tables, which ends with the test.
func New(tb testing.TB) *Lake {
	tb.Helper()
	catalogStore, err := sqlstore.Open(tb.Context(), filepath.Join(tb.TempDir(), "catalog.db"), sqlstore.Options{})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, catalogStore.Close()) })
	dir, err := filepath.EvalSymlinks(tb.TempDir())
	require.NoError(tb, err)
	l := &Lake{tb: tb, system: authz.System(context.Background(), "test"), Dir: dir, Store: authz.New(catalogStore)}
	owner, err := l.Store.CreateUser(l.system, catalog.NewUser{Email: "owner@example.com"})
	require.NoError(tb, err)
	l.Org, err = l.Store.CreateOrganisation(l.system, catalog.NewOrganisation{Name: "Acme", Owner: owner.ID})
	require.NoError(tb, err)
	workspace, err := l.Store.DefaultWorkspace(l.system, l.Org.ID)
	require.NoError(tb, err)
	l.Config, err = l.Store.CreateStorageConfig(l.system, catalog.NewStorageConfig{
		Org: l.Org.ID, Owner: owner.ID, Workspace: workspace.ID, Name: "lake", Kind: catalog.KindLocal, Location: catalog.NewLocation("file",
			dir),
	})
	require.NoError(tb, err)
	l.wire()
	return l
}

func (l *Lake) wire() {
	engine, err := duckdb.New(l.tb.Context(), duckdb.Options{Extensions: []string{}, TempDir: l.tb.TempDir()})
	require.NoError(l.tb, err)
	l.tb.Cleanup(func() { require.NoError(l.tb, engine.Close()) })
	parser := duckdb.NewParser()
	l.tb.Cleanup(func() { require.NoError(l.tb, parser.Close()) })
	pool := sessions.New(engine, sessions.Options{Budget: 2 << 30, Lease: 256 << 20, MaxRunning: 4, MaxQueued: 4, Threads: 2,
		TempBytes: 1 << 30, Registerer: prometheus.NewRegistry()})
	l.tb.Cleanup(func() { require.NoError(l.tb, pool.Close(context.Background())) })

	log := slog.New(slog.DiscardHandler)
	auditor := caller.NewAuditor(l.system, l.Store, log)
	l.tb.Cleanup(auditor.Close)
	confirmed := func() error { return nil }
	leases := write.Leases{Store: l.Store, Logger: log}
	l.Data = lake.New(directories{}, delta.Options{})
	l.Tables = access.New(l.Store, l.Data, access.Options{Keys: constantKeys{}, Permissions: l.Store})
	l.Queries = &query.Service{
		Store: l.Store, Tables: l.Tables, Plans: query.NewPlans(parser), Pool: pool, Audit: auditor,
		Metrics: query.NewMetrics(prometheus.NewRegistry()),
		Limits: query.Limits{DefaultTimeout: time.Minute, MaxTimeout: time.Minute,
			CopyBytes: 32 << 20}, EngineVersion: duckdb.Version(), Confirmed: confirmed,
	}
	l.Writes = write.Service{
		Store: l.Store, Tables: l.Tables, Domains: write.NewDomains(l.Store, l.Tables), Queries: l.Queries, Parser: parser, Pool: pool,
		Confirmed: confirmed, Audit: auditor, Leases: leases,
		Metrics: write.NewMetrics(prometheus.NewRegistry()), Logger: log, Scratch: l.tb.TempDir(), StagedBytes: 1 << 20, Timeout: time.Minute,
	}
	l.Files = table.Files{Store: l.Store, Tables: l.Tables, Parser: parser, Leases: leases}
	l.Rules = table.Rules{Store: l.Store, Tables: l.Tables, Domains: l.Writes.Domains, Parser: parser, Pool: pool, Confirmed: confirmed,
		Leases: leases}
}

// directories opens local configurations.
type directories struct{}

// Bucket implements lake.Opener.
func (directories) Bucket(_ context.Context, config catalog.StorageConfig) (objstore.Bucket, error) {
	return file.New(strings.TrimPrefix(string(config.Location), "file://"))
}

// constantKeys has one secret for all tables.
type constantKeys struct{}

// MaskKey implements access.MaskKeys.
func (constantKeys) MaskKey(catalog.OrgID, catalog.TableID) ([]byte, error) {
	return make([]byte, 32), nil
}

// Member returns the context of a new member of the organisation.
func (l *Lake) Member(role catalog.Role) context.Context {
	l.tb.Helper()
	user, err := l.Store.CreateUser(l.system, catalog.NewUser{Email: uuid.NewString() + "@example.com"})
	require.NoError(l.tb, err)
	_, err = l.Store.AddMember(l.system, l.Org.ID, user.ID, role)
	require.NoError(l.tb, err)
	scopes := auth.Role(role).Scopes()
	return auth.WithPrincipal(l.tb.Context(), auth.Principal{
		OrgID: uuid.MustParse(string(l.Org.ID)), UserID: uuid.MustParse(string(user.ID)), Role: auth.Role(role), Granted: scopes, Scopes: scopes,
	})
}

// Caller returns the caller of a context of [Lake.Member].
func (l *Lake) Caller(ctx context.Context) caller.Identity {
	l.tb.Helper()
	who, err := caller.From(ctx)
	require.NoError(l.tb, err)
	return who
}

// Path returns the path of a table.
func (l *Lake) Path(name string) access.Path {
	return access.Path{Catalog: catalog.CatalogName, Schema: l.Config.Schema(), Table: name}
}

// Create makes a table as an administrator.
func (l *Lake) Create(name string, columns ...table.ColumnDefinition) table.Created {
	l.tb.Helper()
	made, err := l.Files.Create(l.Member(catalog.RoleAdmin),
		table.Definition{Catalog: catalog.CatalogName, Schema: l.Config.Schema(), Name: name, Columns: columns})
	require.NoError(l.tb, err)
	return made
}

// Insert adds rows in JSON as an administrator.
func (l *Lake) Insert(name, rows string) {
	l.tb.Helper()
	_, err := l.Writes.Insert(l.Member(catalog.RoleAdmin), l.Path(name), JSON(rows), write.Options{})
	require.NoError(l.tb, err)
}

// JSON returns rows as the body of a request.
func JSON(rows string) write.Body {
	return write.Body{Format: write.JSON, Reader: strings.NewReader(`{"rows":` + rows + `}`)}
}

// Policy makes an enabled policy of a table.
func (l *Lake) Policy(made table.Created, kind catalog.PolicyKind, column, text string) {
	l.tb.Helper()
	_, err := l.Store.CreatePolicy(l.system, catalog.NewPolicy{Org: l.Org.ID, By: l.Org.Owner, PolicySpec: catalog.PolicySpec{
		Table: made.DeltaID, Column: column, Kind: kind, Text: text, Enabled: true,
	}})
	require.NoError(l.tb, err)
}
