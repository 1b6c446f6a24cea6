package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/lakewarden/lakewarden/api"
	"github.com/lakewarden/lakewarden/api/middleware"
	"github.com/lakewarden/lakewarden/api/oauth2"
	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/admin"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/deletion"
	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/api/ops/identity/account"
	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/api/ops/maintain"
	"github.com/lakewarden/lakewarden/api/ops/program"
	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/api/ops/revocation"
	storageops "github.com/lakewarden/lakewarden/api/ops/storage"
	"github.com/lakewarden/lakewarden/api/ops/table"
	"github.com/lakewarden/lakewarden/api/ops/write"
	signin "github.com/lakewarden/lakewarden/auth/sqlstore"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/catalog/sqlstore"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/engines"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/lifecycle"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/login"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/stores"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/workdir"
	"github.com/lakewarden/lakewarden/engine/worker"
	"github.com/lakewarden/lakewarden/sessions"
)

// sweepSandboxesEvery is the interval in which unused tables of sandboxes are dropped.
const sweepSandboxesEvery = time.Hour

// Options holds parameters that are not settings.
type Options struct {
	// Version is the version of the program, which commits name as their writer.
	Version string
	// Holder is the name of the data directory, returned by [workdir.Hold], or empty.
	Holder string
	// ReadLog selects the tables that the engine reads through their logs, for tests.
	ReadLog func(catalog.LocatedTable) bool
	// KeyClock is the clock by which keys that a key service opened expire; nil means
	// time.Now.
	KeyClock func() time.Time
}

// Serve runs the server until ctx ends, then drains it and releases everything.
func Serve(ctx context.Context, settings config.Settings, version string) error {
	log := settings.NewLogger()
	log.Info("settings", settings.Attributes()...)
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", settings.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	defer func() { _ = l.Close() }()
	holder, err := workdir.Hold(settings.DataDir)
	if err != nil {
		return fmt.Errorf("data_dir: %w", err)
	}
	s, err := New(ctx, settings, log, Options{Version: version, Holder: holder})
	if err != nil {
		return err
	}
	log.Info("serving", "address", l.Addr().String(), "version", version, "engine", duckdb.Version())
	err = s.Server.Serve(ctx, l)
	return errors.Join(err, s.Close(settings.DrainTimeout))
}

// Service is the server with the parts to close after it.
type Service struct {
	Server api.Server
	parts  lifecycle.Group
}

// Close closes the parts of the service within limit, in reverse order.
func (s *Service) Close(limit time.Duration) error { return s.parts.Close(limit) }

// New builds the server and starts its background work. The caller serves
// Server and then calls Close.
func New(ctx context.Context, settings config.Settings, log *slog.Logger, opts Options) (_ *Service, err error) {
	s := &Service{}
	parts := &s.parts
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close(time.Second*10))
		}
	}()
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))

	if err := os.MkdirAll(settings.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("data_dir: %w", err)
	}
	epochs := &revocation.Epochs{}
	raw, err := sqlstore.Open(ctx, settings.CatalogURL(), sqlstore.Options{Logger: log, Registerer: registry, Raised: epochs.Raised})
	if err != nil {
		return nil, err
	}
	parts.OnClose(func(context.Context) error { return raw.Close() })
	store := authz.New(raw)

	background, stop := context.WithCancel(authz.System(context.WithoutCancel(ctx), "server"))
	signIns := signin.New(raw.DB())
	revocations := revocation.New(store, revocation.Options{Sessions: signIns, Logger: log})
	parts.OnClose(func(context.Context) error {
		stop()
		epochs.Wait()
		return nil
	})
	deletions, err := followDeletions(background, store, epochs, log)
	if err != nil {
		return nil, err
	}
	if err := epochs.Follow(background, raw, revocations); err != nil {
		return nil, err
	}

	auditor := caller.NewAuditor(background, store, log)
	parts.OnClose(func(context.Context) error { auditor.Close(); return nil })
	keyring, err := newKeyring(ctx, background, settings, store, opts.KeyClock, log, registry, parts)
	if err != nil {
		return nil, err
	}
	remote := stores.NewRemote(settings, store, keyring)
	parts.OnClose(func(context.Context) error { remote.Close(); return nil })
	people, err := login.New(ctx, background, login.Options{
		Settings: settings, Catalog: raw, Store: store, SignIns: signIns, Remote: remote, Epochs: epochs, Audit: auditor,
		Registerer: registry, Logger: log, Parts: parts,
	})
	if err != nil {
		return nil, err
	}
	mode, err := settings.LocalFileMode()
	if err != nil {
		return nil, err
	}
	buckets := stores.Buckets{
		Metrics: objstore.NewMetrics(registry), Roots: stores.NewLocalRoots(settings, store), Remote: remote, FileMode: mode,
		Seen: &sync.Map{},
	}
	queries, data, err := newQueries(ctx, settings, opts, store, buckets, deletions, epochs, revocations, auditor, registry, log, parts)
	if err != nil {
		return nil, err
	}

	// Commits of other writers are checked against the rules of their tables.
	foreign := &maintain.ForeignCommits{
		Store: store, Lake: data, Tables: queries.Tables, Domains: write.NewDomains(store, queries.Tables),
		Parser: queries.Plans.Parser(), Pool: queries.Pool, Metrics: maintain.NewForeignMetrics(operatorMetrics(settings.MetricsAddr, registry)),
		Logger: log,
	}
	foreign.Watch()
	tables, discovery := queries.Tables, storageops.Discovery{Store: store, Lake: data, Logs: storageops.NewKnownLogs(),
		VanishAfter: settings.VanishAfter}
	// Replicas announce their commits to remote tables, so that others need not refresh
	// once a second.
	data.Announce = store.AnnounceCommit
	parts.Background(background, func(ctx context.Context) { data.Follow(store.WatchCommits(ctx)) })

	parts.Every(background, settings.DiscoveryEvery, func(ctx context.Context) {
		if err := discovery.All(ctx); err != nil && ctx.Err() == nil {
			log.Warn("periodic discovery", "error", err)
		}
	})

	guard := access.NewSessionGuard(store, queries.Pool, epochs.Current, log)
	deletions.Add(guard.DropFiles)
	parts.Background(background, guard.Run)
	countCredentials(background, store, registry, log, parts)

	sandboxes := maintain.Sandboxes{Store: store, Lake: data, Deletions: deletions, Now: time.Now, Logger: log}
	purged := admin.PurgedSandboxes{Store: store, Root: settings.SandboxRoot}
	parts.Every(background, sweepSandboxesEvery, func(ctx context.Context) {
		if err := errors.Join(sandboxes.Sweep(ctx), purged.Sweep(ctx)); err != nil && ctx.Err() == nil {
			log.Warn("sandboxes not swept", "error", err)
		}
	})

	operations, stored, endWork, err := newOperations(background, settings, store, signIns, queries, buckets.Metrics, log, parts)
	if err != nil {
		return nil, err
	}

	leases, err := newWriteLeases(background, settings, opts.Holder, store, log, parts)
	if err != nil {
		return nil, err
	}
	foreign.Leases = leases
	parts.Background(background, foreign.Run)
	maintenance, err := newMaintenance(settings, store, queries, leases, deletions, operations, registry, log)
	if err != nil {
		return nil, err
	}
	writes, err := newWrites(background, settings, store, queries, leases, registry, log, parts)
	if err != nil {
		return nil, err
	}

	domains := newDomains(background, opts.Holder, store, queries, writes, operations, log, parts)
	room, err := newSpill(settings, registry)
	if err != nil {
		return nil, err
	}
	health := &api.Health{Checks: map[string]func(context.Context) error{
		"catalog": func(context.Context) error { return epochs.Check() },
	}}
	proxies, err := settings.Proxies()
	if err != nil {
		return nil, err
	}
	rules := table.Rules{
		Store: store, Tables: tables, Domains: writes.Domains, Parser: queries.Plans.Parser(), Pool: queries.Pool, Confirmed: epochs.Check,
		Revocations: revocations, Leases: leases, Operations: operations,
	}
	analyses := newAnalyses(background, settings, store, remote, rules, queries, stored, operations, registry, log, parts)
	dropDeleted(background, store, deletions, data, stored, analyses.Cache, log, parts)
	purgeOrganisations(background, store, auditor, log, parts)
	apiKeys, clients := admin.APIKeys{Store: store, Now: time.Now}, program.Clients{Store: store}
	sharing := newSharing(background, settings, store, tables, discovery, auditor, log, parts)
	router, _ := api.NewRouter(api.Deps{
		Lifecycles: account.Organisations{
			Store: store, Audit: auditor, OperatorOnly: settings.Organisations == config.OrganisationsByOperator,
		},
		Self:  account.Self{Store: store, Audit: auditor},
		Users: identity.Users{Store: store, Invitations: people.Invitations}, Invitations: people.Invitations,
		ProviderLinks: people.ProviderLinks, PublicURL: settings.PublicURL,
		Analyses:    analyses,
		SSOSettings: people.SSOSettings, Identities: people.Identities, SSO: people.SSO, SSOLogout: people.SSOLogout,
		Sessions: people.Sessions,
		Clients:  clients, ServiceAccounts: program.ServiceAccounts{Store: store, Keys: apiKeys},
		OAuth: oauth2.Server{
			Issuer: settings.PublicURL, Flows: people.Flows, Keys: people.Signing,
			Registration: people.Registration(clients, auditor),
		},
		Keys: apiKeys, Organisations: admin.Organisations{Store: store, SandboxRoot: settings.SandboxRoot},
		Members: admin.Members{Store: store}, Workspaces: admin.Workspaces{Store: store}, Audit: admin.AuditLog{Store: store},
		Storage: newStorageConfigs(store, tables, buckets, discovery, auditor),
		Sharing: sharing,
		Moves: newMoves(background, settings, opts.Holder, store, queries, data, operations, leases, deletions, sharing, registry, log,
			parts),
		TableRules:  rules,
		Domains:     domains,
		Tables:      tables,
		TableFiles:  table.Files{Store: store, Tables: tables, Parser: queries.Plans.Parser(), Leases: leases, Deletions: deletions},
		Writes:      writes,
		Inference:   newInference(settings, store, queries, writes),
		Maintenance: maintenance, Policies: newPolicies(background, store, data, log, parts),
		Simulation: admin.Simulation{Store: store, Lake: data, Tables: tables, Queries: queries},
		Passwords:  people.Passwords, Recovery: people.Recovery, Pages: people.Pages,
		Queries: queries, Operations: operations, Stored: stored, Spill: room, Limits: limitsOf(settings),
		Auditor: auditor, Authenticator: people.Authenticator, Health: health, Logger: log,
		Metrics: registry, MetricsElsewhere: settings.MetricsAddr != "",
		Rate:             middleware.Rate{PerMinute: settings.RatePerMinute, Burst: settings.RateBurst},
		OrganisationRate: middleware.Rate{PerMinute: settings.RateOrgPerMinute, Burst: settings.RateOrgBurst},
		TrustedProxies:   proxies, Version: opts.Version,
	})
	if err := serveMetrics(ctx, settings.MetricsAddr, registry, log, parts); err != nil {
		return nil, err
	}
	s.Server = api.Server{
		Handler: router, Health: health, Logger: log, Notice: settings.DrainNotice, Drain: settings.DrainTimeout, Shutdown: endWork,
	}
	return s, nil
}

// newQueries starts the engine and returns the service of statements, with the tables that it reads.
func newQueries(
	ctx context.Context, settings config.Settings, opts Options, store *authz.Store, buckets stores.Buckets,
	deletions *deletion.Deletions, epochs *revocation.Epochs, revocations *revocation.Watcher, auditor *caller.Auditor,
	registry *prometheus.Registry, log *slog.Logger, parts *lifecycle.Group,
) (*query.Service, *lake.Lake, error) {
	parser := duckdb.NewParser()
	parts.OnClose(func(context.Context) error { return parser.Close() })
	eng, err := engines.New(ctx, settings, parser, registry, log, parts)
	if err != nil {
		return nil, nil, err
	}
	remotely, err := stores.NewGatewayEngine(ctx, settings, eng, store, buckets, deletions, registry, log, parts)
	if err != nil {
		return nil, nil, err
	}
	pool := newPool(settings, remotely, eng, registry)
	parts.OnClose(pool.Close)
	data := lake.New(buckets, delta.Options{EngineInfo: "Lakewarden/" + opts.Version})
	data.Measure(registry)
	tables := access.New(store, data, access.Options{
		Keys: buckets.Remote.Keys, Permissions: store, Dropped: deletions.Dropped, Registerer: registry, Audit: auditor, ReadLog: opts.ReadLog,
	})
	queries := &query.Service{
		Store: store, Tables: tables, Plans: query.NewPlans(parser), Pool: pool, Audit: auditor,
		Confirmed: epochs.Check, Revocations: revocations,
		Metrics:       query.NewMetrics(registry),
		EngineVersion: duckdb.Version(),
		Limits: query.Limits{
			DefaultTimeout: settings.QueryTimeout, MaxTimeout: settings.MaxTimeout, CopyBytes: query.CopyBytes(settings.Lease * config.MiB),
		},
	}
	return queries, data, nil
}

// serverShare is the reciprocal of the largest part of the memory budget that is
// reserved for the server's own process. The operator provides the memory that it needs
// beyond that.
const serverShare = 4

func newPool(settings config.Settings, eng, inner engine.Engine, registry *prometheus.Registry) *sessions.Pool {
	// In one process the memory of the server cannot be distinguished from that of
	// statements.
	var overhead func(orgs []string) int64
	var reclaim func()
	if workers, ok := inner.(*worker.Engine); ok {
		var own sessions.ProcessMemory
		reclaim = workers.Reclaim
		overhead = func(orgs []string) int64 {
			return workers.Overhead(orgs) + min(own.Bytes(time.Now()), settings.Memory*config.MiB/serverShare)
		}
	}
	return sessions.New(eng, sessions.Options{
		Overhead: overhead, Reclaim: reclaim,
		Budget: settings.Memory * config.MiB, Lease: settings.Lease * config.MiB, Threads: settings.Threads,
		MaxRunning: settings.MaxRunning, MaxQueued: settings.MaxQueued,
		TempBytes: settings.TempBytes * config.MiB, Registerer: registry,
	})
}
