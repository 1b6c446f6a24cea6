package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/lakewarden/lakewarden/api"
	"github.com/lakewarden/lakewarden/api/middleware"
	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/admin"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/api/ops/maintain"
	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/api/ops/revocation"
	"github.com/lakewarden/lakewarden/api/ops/table"
	"github.com/lakewarden/lakewarden/api/ops/write"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/apikey"
	"github.com/lakewarden/lakewarden/auth/jwt"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/catalog/principal"
	"github.com/lakewarden/lakewarden/catalog/secret"
	"github.com/lakewarden/lakewarden/catalog/sqlstore"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/workdir"
	"github.com/lakewarden/lakewarden/engine/worker"
	"github.com/lakewarden/lakewarden/sessions"
)

const mib = int64(1) << 20

// Options holds parameters that are not settings.
type Options struct {
	// Version is the version of the program, which commits name as their writer.
	Version string
	// Holder is the name of the data directory, returned by [workdir.Hold], or empty.
	Holder string
	// ReadLog selects the tables that the engine reads through their logs, for tests.
	ReadLog func(catalog.LocatedTable) bool
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

// Service is the server with the parts to close after it, in order of construction.
type Service struct {
	Server  api.Server
	log     *slog.Logger
	closers []func(context.Context) error
	// endWork ends the operations. It is called at the beginning of the drain, and the
	// parts that operations need are closed after it. Only the first call has an
	// effect.
	endWork func(context.Context) error
}

func (s *Service) onClose(f func(context.Context) error) { s.closers = append(s.closers, f) }

// background runs f until its context ends, at the latest when the service is closed.
func (s *Service) background(ctx context.Context, f func(context.Context)) {
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(ctx)
	}()
	s.onClose(func(context.Context) error {
		stop()
		<-done
		return nil
	})
}

// every runs f in intervals until ctx ends or the service closes.
func (s *Service) every(ctx context.Context, interval time.Duration, f func(context.Context)) {
	s.background(ctx, func(ctx context.Context) {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				f(ctx)
			}
		}
	})
}

// Close closes the parts of the service within limit, in reverse order.
func (s *Service) Close(limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i](ctx))
	}
	return errors.Join(errs...)
}

// New builds the server and starts its background work. The caller serves
// Server and then calls Close.
func New(ctx context.Context, settings config.Settings, log *slog.Logger, opts Options) (_ *Service, err error) {
	s := &Service{log: log}
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
	raw, err := sqlstore.Open(ctx, settings.CatalogURL(), sqlstore.Options{Logger: log})
	if err != nil {
		return nil, err
	}
	s.onClose(func(context.Context) error { return raw.Close() })
	store := authz.New(raw)

	background, stop := context.WithCancel(authz.System(context.WithoutCancel(ctx), "server"))
	revocations := revocation.New(store, revocation.Options{Logger: log})
	epochs, err := revocation.Follow(background, raw, revocations)
	s.onClose(func(context.Context) error {
		stop()
		if epochs != nil {
			epochs.Wait()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}

	auditor := caller.NewAuditor(background, store, log)
	s.onClose(func(context.Context) error { auditor.Close(); return nil })
	authenticator, err := newAuthenticator(settings, log, principal.New(store), s)
	if err != nil {
		return nil, err
	}
	queries, data, opener, err := newQueries(ctx, settings, opts, store, epochs, revocations, auditor, registry, s)
	if err != nil {
		return nil, err
	}

	// Commits of other writers are checked against the rules of their tables.
	foreign := &maintain.ForeignCommits{
		Store: store, Lake: data, Tables: queries.Tables, Domains: write.NewDomains(store, queries.Tables),
		Parser: queries.Plans.Parser(), Pool: queries.Pool, Metrics: maintain.NewForeignMetrics(registry), Logger: log,
	}
	foreign.Watch()
	s.background(background, foreign.Run)
	tables, discovery := queries.Tables, admin.Discovery{Store: store, Lake: data}
	// Replicas announce their commits to remote tables, so that others need not refresh
	// once a second.
	data.Announce = store.AnnounceCommit
	s.background(background, func(ctx context.Context) { data.Follow(store.WatchCommits(ctx)) })

	s.every(background, settings.DiscoveryEvery, func(ctx context.Context) {
		if err := discovery.All(ctx); err != nil && ctx.Err() == nil {
			log.Warn("periodic discovery", "error", err)
		}
	})

	operations, stored, err := newOperations(background, settings, store, queries, opener.metrics, log, s)
	if err != nil {
		return nil, err
	}

	leases, err := newWriteLeases(background, opts.Holder, store, log, s)
	if err != nil {
		return nil, err
	}
	maintenance, err := newMaintenance(settings, store, queries, leases, operations, registry, log)
	if err != nil {
		return nil, err
	}
	writes, err := newWrites(background, settings, store, queries, leases, registry, log, s)
	if err != nil {
		return nil, err
	}

	domains := newDomains(background, opts.Holder, store, queries, writes, operations, log, s)
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
	router, _ := api.NewRouter(api.Deps{
		Keys: admin.APIKeys{Store: store, Now: time.Now}, Organisations: admin.Organisations{Store: store}, Members: admin.Members{Store: store},
		Workspaces: admin.Workspaces{Store: store}, Audit: admin.AuditLog{Store: store},
		Storage: admin.StorageConfigs{
			Discovery: discovery, Store: store, LocalRoots: opener.roots.of, Remote: opener.s3, Seal: opener.s3.seal, Now: time.Now,
		},
		TableRules: table.Rules{
			Store: store, Tables: tables, Domains: writes.Domains, Parser: queries.Plans.Parser(), Pool: queries.Pool, Confirmed: epochs.Check,
			Revocations: revocations, Leases: leases, Operations: operations,
		},
		Domains: domains,
		Tables:  tables, TableFiles: table.Files{Store: store, Tables: tables, Parser: queries.Plans.Parser()}, Writes: writes,
		Inference:   newInference(settings, store, queries, writes),
		Maintenance: maintenance, Policies: admin.Policies{Store: store, Lake: data},
		Simulation: admin.Simulation{Store: store, Tables: tables, Queries: queries},
		Queries:    queries, Operations: operations, Stored: stored, Spill: room, Limits: limitsOf(settings),
		Auditor: auditor, Authenticator: authenticator, Health: health, Logger: log,
		Metrics: registry, MetricsElsewhere: settings.MetricsAddr != "",
		Rate: middleware.Rate{PerMinute: settings.RatePerMinute, Burst: settings.RateBurst}, TrustedProxies: proxies, Version: opts.Version,
	})
	if err := serveMetrics(ctx, settings.MetricsAddr, registry, s); err != nil {
		return nil, err
	}
	s.Server = api.Server{
		Handler: router, Health: health, Logger: log, Notice: settings.DrainNotice, Drain: settings.DrainTimeout, Shutdown: s.endWork,
	}
	return s, nil
}

func newAuthenticator(settings config.Settings, log *slog.Logger, members principal.Source, s *Service) (auth.Authenticator, error) {
	// The epoch is read for every request, so that a key revoked by any process is
	// refused by the next request.
	keys := apikey.New(members, apikey.Options{Epoch: members.Epoch, Logger: log})
	s.onClose(func(context.Context) error { keys.Close(); return nil })
	issuers, err := issuersOf(settings)
	if err != nil {
		return nil, err
	}
	tokens, err := jwt.New(members, issuers, jwt.Options{})
	if err != nil {
		return nil, err
	}
	return auth.Split{KeyPrefix: apikey.Prefix, Keys: keys, Tokens: tokens}, nil
}

func newQueries(
	ctx context.Context, settings config.Settings, opts Options, store *authz.Store,
	epochs *revocation.Epochs, revocations *revocation.Watcher, auditor *caller.Auditor, registry *prometheus.Registry, s *Service,
) (*query.Service, *lake.Lake, buckets, error) {
	remote, err := newS3Stores(ctx, settings, store)
	if err != nil {
		return nil, nil, buckets{}, err
	}
	s.onClose(func(context.Context) error { remote.clients.Close(); return nil })
	opener := buckets{metrics: objstore.NewMetrics(registry), roots: localRoots{configured: settings.LocalRoots, store: store}, s3: remote}
	parser := duckdb.NewParser()
	s.onClose(func(context.Context) error { return parser.Close() })
	eng, err := newEngine(ctx, settings, parser, registry, s)
	if err != nil {
		return nil, nil, opener, err
	}
	remotely, err := readRemotely(ctx, settings, eng, store, opener, registry, s)
	if err != nil {
		return nil, nil, opener, err
	}
	pool := newPool(settings, remotely, eng, registry)
	s.onClose(pool.Close)
	masks, err := secret.LoadMaskKeys(settings.KeyFile)
	if err != nil {
		return nil, nil, opener, fmt.Errorf("key_file: %w", err)
	}
	data := lake.New(opener, delta.Options{EngineInfo: "Lakewarden/" + opts.Version})
	data.Measure(registry)
	tables := access.New(store, data, access.Options{Keys: masks, Permissions: store, ReadLog: opts.ReadLog})
	queries := &query.Service{
		Store: store, Tables: tables, Plans: query.NewPlans(parser), Pool: pool, Audit: auditor,
		Confirmed: epochs.Check, Revocations: revocations,
		Metrics:       query.NewMetrics(registry),
		EngineVersion: duckdb.Version(),
		Limits: query.Limits{
			DefaultTimeout: settings.QueryTimeout, MaxTimeout: settings.MaxTimeout, CopyBytes: query.CopyBytes(settings.Lease * mib),
		},
	}
	return queries, data, opener, nil
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
			return workers.Overhead(orgs) + min(own.Bytes(time.Now()), settings.Memory*mib/serverShare)
		}
	}
	return sessions.New(eng, sessions.Options{
		Overhead: overhead, Reclaim: reclaim,
		Budget: settings.Memory * mib, Lease: settings.Lease * mib, MaxRunning: settings.MaxRunning, MaxQueued: settings.MaxQueued,
		Threads: settings.Threads, TempBytes: settings.TempBytes * mib, Registerer: registry,
	})
}

func limitsOf(settings config.Settings) v1.Limits {
	return v1.Limits{
		BodyBytes: middleware.DefaultMaxBody, BodyRows: settings.BodyRows, SQLBytes: duckdb.MaxSQL,
		RequestsPerMinute: settings.RatePerMinute, RequestBurst: settings.RateBurst,
		QueryTimeoutMS: settings.QueryTimeout.Milliseconds(), MaxQueryTimeoutMS: settings.MaxTimeout.Milliseconds(),
		StatementMemoryBytes: settings.Lease * mib, StatementTempBytes: settings.TempBytes * mib, StatementThreads: settings.Threads,
		StoredResultBytes: settings.ResultBytes * mib, PageSize: 1000,
	}
}
