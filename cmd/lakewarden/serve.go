package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/lakewarden/lakewarden/api"
	"github.com/lakewarden/lakewarden/api/middleware"
	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/admin"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/api/ops/revocation"
	"github.com/lakewarden/lakewarden/api/ops/table"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/apikey"
	"github.com/lakewarden/lakewarden/auth/jwt"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/catalog/secret"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/sessions"
)

const mib = int64(1) << 20

// serveCommand is the command that runs the server.
const serveCommand = "serve"

func runServe(ctx context.Context, _ io.Writer, args []string) error {
	fs := flag.NewFlagSet(serveCommand, flag.ContinueOnError)
	config, err := loadConfig(fs, args)
	if err != nil {
		return err
	}
	log := newLogger(config)
	log.Info("settings", config.attributes()...)
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", config.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	defer func() { _ = l.Close() }()
	holder, err := holdDataDir(config.DataDir)
	if err != nil {
		return fmt.Errorf("data_dir: %w", err)
	}
	s, err := newService(ctx, config, holder, log)
	if err != nil {
		return err
	}
	log.Info("serving", "address", l.Addr().String(), "version", version, "engine", duckdb.Version())
	err = s.server.Serve(ctx, l)
	return errors.Join(err, s.close(config.DrainTimeout))
}

// service is the running server with what must be closed after it, in order.
type service struct {
	server  api.Server
	log     *slog.Logger
	closers []func(context.Context) error
	// endWork ends the operations. It begins with the drain of requests, and what
	// they need is closed after it.
	endWork func(context.Context) error
	ended   sync.Once
}

func (s *service) endWorkOnce(ctx context.Context) (err error) {
	s.ended.Do(func() { err = s.endWork(ctx) })
	return err
}

func (s *service) onClose(f func(context.Context) error) { s.closers = append(s.closers, f) }

// every runs f in intervals until ctx ends. close waits for it.
func (s *service) every(ctx context.Context, interval time.Duration, f func(context.Context)) {
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
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
	}()
	s.onClose(func(context.Context) error {
		stop()
		<-done
		return nil
	})
}

// close ends what was started, the last first.
func (s *service) close(limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i](ctx))
	}
	return errors.Join(errs...)
}

// newService builds everything. This is the only place where parts meet. holder is
// the name by [holdDataDir], or empty.
func newService(ctx context.Context, config Config, holder string, log *slog.Logger) (_ *service, err error) {
	s := &service{log: log}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close(time.Second*10))
		}
	}()
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))

	if err := os.MkdirAll(config.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("data_dir: %w", err)
	}
	raw, err := openCatalog(ctx, config, log)
	if err != nil {
		return nil, err
	}
	s.onClose(func(context.Context) error { return raw.Close() })
	store := authz.New(raw)

	background, stop := context.WithCancel(authz.System(context.WithoutCancel(ctx), "server"))
	watch, err := watchEpoch(background, raw, revocation.New(store, revocation.Options{Logger: log}))
	s.onClose(func(context.Context) error {
		stop()
		if watch != nil {
			watch.done.Wait()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}

	auditor := caller.NewAuditor(background, store, log)
	s.onClose(func(context.Context) error { auditor.Close(); return nil })
	authenticator, err := newAuthenticator(config, log, principals{store}, s)
	if err != nil {
		return nil, err
	}
	queries, data, opener, err := newQueries(ctx, config, store, watch, auditor, registry, s)
	if err != nil {
		return nil, err
	}

	checkForeignCommits(background, store, data, queries, registry, log, s)
	tables, discovery := queries.Tables, admin.Discovery{Store: store, Lake: data}
	followCommits(background, store, data, s)

	s.every(background, config.DiscoveryEvery, func(ctx context.Context) {
		if err := discovery.All(ctx); err != nil && ctx.Err() == nil {
			log.Warn("periodic discovery", "error", err)
		}
	})

	operations, stored, err := newOperations(background, config, store, queries, opener.metrics, log, s)
	if err != nil {
		return nil, err
	}

	leases, err := newWriteLeases(background, holder, store, log, s)
	if err != nil {
		return nil, err
	}
	maintenance, err := newMaintenance(config, store, queries, leases, operations, registry, log)
	if err != nil {
		return nil, err
	}
	writes, err := newWrites(background, config, store, queries, leases, registry, log, s)
	if err != nil {
		return nil, err
	}

	room, err := newSpill(config, registry)
	if err != nil {
		return nil, err
	}
	health := &api.Health{Checks: map[string]func(context.Context) error{
		"catalog": func(context.Context) error { return watch.check() },
	}}
	proxies, err := config.proxies()
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
			Store: store, Tables: tables, Parser: queries.Plans.Parser(), Pool: queries.Pool, Confirmed: watch.check, Revocations: watch.revocations,
			Leases: leases, Operations: operations,
		},
		Tables: tables, TableFiles: table.Files{Store: store, Tables: tables, Parser: queries.Plans.Parser()}, Writes: writes,
		Maintenance: maintenance, Policies: admin.Policies{Store: store, Lake: data}, Simulation: admin.Simulation{Store: store, Tables: tables, Queries: queries},
		Queries: queries, Operations: operations, Stored: stored, Spill: room, Limits: limitsOf(config), Auditor: auditor, Authenticator: authenticator, Health: health, Logger: log,
		Metrics: registry, MetricsElsewhere: config.MetricsAddr != "",
		Rate: middleware.Rate{PerMinute: config.RatePerMinute, Burst: config.RateBurst}, TrustedProxies: proxies, Version: version,
	})
	if err := serveMetrics(ctx, config.MetricsAddr, registry, s); err != nil {
		return nil, err
	}
	s.server = api.Server{Handler: router, Health: health, Logger: log, Notice: config.DrainNotice, Drain: config.DrainTimeout, Beside: s.endWorkOnce}
	return s, nil
}

func newAuthenticator(config Config, log *slog.Logger, members principals, s *service) (auth.Authenticator, error) {
	// The epoch is read anew for every request: a key that was revoked a moment
	// ago, here or beside the server, is refused by the very next one.
	keys := apikey.New(members, apikey.Options{Epoch: members.epoch, Logger: log})
	s.onClose(func(context.Context) error { keys.Close(); return nil })
	issuers, err := issuersOf(config)
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
	ctx context.Context, config Config, store *authz.Store, watch *epochWatch, auditor *caller.Auditor,
	registry *prometheus.Registry, s *service,
) (*query.Service, *lake.Lake, buckets, error) {
	remote, err := newS3Stores(ctx, config, store)
	if err != nil {
		return nil, nil, buckets{}, err
	}
	s.onClose(func(context.Context) error { remote.close(); return nil })
	opener := buckets{metrics: objstore.NewMetrics(registry), roots: localRoots{configured: config.LocalRoots, store: store}, s3: remote}
	parser := duckdb.NewParser()
	s.onClose(func(context.Context) error { return parser.Close() })
	eng, err := newEngine(ctx, config, parser, registry, s)
	if err != nil {
		return nil, nil, opener, err
	}
	remotely, err := readRemotely(ctx, config, eng, store, opener, registry, s)
	if err != nil {
		return nil, nil, opener, err
	}
	pool := newPool(config, remotely, eng, registry)
	s.onClose(pool.Close)
	masks, err := secret.LoadMaskKeys(config.KeyFile)
	if err != nil {
		return nil, nil, opener, fmt.Errorf("key_file: %w", err)
	}
	data := lake.New(opener, delta.Options{EngineInfo: "Lakewarden/" + version})
	data.Measure(registry)
	tables := access.New(store, data, access.Options{Keys: masks, Permissions: store, ReadLog: config.readLog})
	queries := &query.Service{
		Store: store, Tables: tables, Plans: query.NewPlans(parser), Pool: pool, Audit: auditor, Confirmed: watch.check, Revocations: watch.revocations,
		Metrics:       query.NewMetrics(registry),
		EngineVersion: duckdb.Version(),
		Limits:        query.Limits{DefaultTimeout: config.QueryTimeout, MaxTimeout: config.MaxTimeout, CopyBytes: query.CopyBytes(config.Lease * mib)},
	}
	return queries, data, opener, nil
}

func newPool(config Config, eng, inner engine.Engine, registry *prometheus.Registry) *sessions.Pool {
	beside, reclaim := besideLeases(inner, config.Memory*mib)
	return sessions.New(eng, sessions.Options{
		Beside: beside, Reclaim: reclaim,
		Budget: config.Memory * mib, Lease: config.Lease * mib, MaxRunning: config.MaxRunning, MaxQueued: config.MaxQueued,
		Threads: config.Threads, TempBytes: config.TempBytes * mib, Registerer: registry,
	})
}

func limitsOf(config Config) v1.Limits {
	return v1.Limits{
		BodyBytes: middleware.DefaultMaxBody, BodyRows: config.BodyRows, SQLBytes: duckdb.MaxSQL, RequestsPerMinute: config.RatePerMinute, RequestBurst: config.RateBurst,
		QueryTimeoutMS: config.QueryTimeout.Milliseconds(), MaxQueryTimeoutMS: config.MaxTimeout.Milliseconds(),
		StatementMemoryBytes: config.Lease * mib, StatementTempBytes: config.TempBytes * mib, StatementThreads: config.Threads, StoredResultBytes: config.ResultBytes * mib, PageSize: 1000,
	}
}
