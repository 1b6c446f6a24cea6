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
	"github.com/lakewarden/lakewarden/api/oauth2"
	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/admin"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/api/ops/identity/throttle"
	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/api/ops/maintain"
	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/api/ops/revocation"
	storageops "github.com/lakewarden/lakewarden/api/ops/storage"
	"github.com/lakewarden/lakewarden/api/ops/table"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/apikey"
	"github.com/lakewarden/lakewarden/auth/jwt"
	signin "github.com/lakewarden/lakewarden/auth/sqlstore"
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
	epochs := &revocation.Epochs{}
	raw, err := sqlstore.Open(ctx, settings.CatalogURL(), sqlstore.Options{Logger: log, Registerer: registry, Raised: epochs.Raised})
	if err != nil {
		return nil, err
	}
	s.onClose(func(context.Context) error { return raw.Close() })
	store := authz.New(raw)

	background, stop := context.WithCancel(authz.System(context.WithoutCancel(ctx), "server"))
	signIns := signin.New(raw.DB())
	revocations := revocation.New(store, revocation.Options{Sessions: signIns, Logger: log})
	s.onClose(func(context.Context) error {
		stop()
		epochs.Wait()
		return nil
	})
	if err := epochs.Follow(background, raw, revocations); err != nil {
		return nil, err
	}

	auditor := caller.NewAuditor(background, store, log)
	s.onClose(func(context.Context) error { auditor.Close(); return nil })
	keyring, err := newKeyring(ctx, background, settings, store, opts.KeyClock, log, registry, s)
	if err != nil {
		return nil, err
	}
	signing, err := newSigningKeys(ctx, background, raw, signIns, keyring, log, s)
	if err != nil {
		return nil, err
	}
	authenticator, tokens, err := newAuthenticator(settings, log, principal.New(store), ownIssuer(settings, signing, signIns), epochs, s)
	if err != nil {
		return nil, err
	}
	mails, err := newMails(background, settings, log, s)
	if err != nil {
		return nil, err
	}
	invitations := identity.Invitations{
		Store: store, Mail: mails, Audit: auditor, Refusals: throttle.NewRefusals(nil), Sent: throttle.NewMailings(nil),
		PublicURL: settings.PublicURL,
	}
	people := newPeople(settings, store, signIns, mails, auditor, invitations)
	flows := newAuthorizationServer(settings, store, signIns, signing, tokens, people.pages, auditor, log)
	queries, data, opener, err := newQueries(ctx, settings, opts, store, keyring, epochs, revocations, auditor, registry, s)
	if err != nil {
		return nil, err
	}
	signOn := newSingleSignOn(background, settings, store, signIns, opener.remote, flows, auditor, registry, log, s)
	people.pages.SSO = signOn.signIn

	// Commits of other writers are checked against the rules of their tables.
	foreign := &maintain.ForeignCommits{
		Store: store, Lake: data, Tables: queries.Tables, Domains: write.NewDomains(store, queries.Tables),
		Parser: queries.Plans.Parser(), Pool: queries.Pool, Metrics: maintain.NewForeignMetrics(registry), Logger: log,
	}
	foreign.Watch()
	s.background(background, foreign.Run)
	tables, discovery := queries.Tables, storageops.Discovery{Store: store, Lake: data, Logs: storageops.NewKnownLogs()}
	// Replicas announce their commits to remote tables, so that others need not refresh
	// once a second.
	data.Announce = store.AnnounceCommit
	s.background(background, func(ctx context.Context) { data.Follow(store.WatchCommits(ctx)) })

	s.every(background, settings.DiscoveryEvery, func(ctx context.Context) {
		if err := discovery.All(ctx); err != nil && ctx.Err() == nil {
			log.Warn("periodic discovery", "error", err)
		}
	})

	s.background(background, access.NewSessionGuard(store, queries.Pool, epochs.Current, log).Run)
	countCredentials(background, store, registry, s)

	sandboxes := maintain.Sandboxes{Store: store, Lake: data, Now: time.Now, Logger: log}
	purged := admin.PurgedSandboxes{Store: store, Root: settings.SandboxRoot}
	s.every(background, sweepSandboxesEvery, func(ctx context.Context) {
		if err := errors.Join(sandboxes.Sweep(ctx), purged.Sweep(ctx)); err != nil && ctx.Err() == nil {
			log.Warn("sandboxes not swept", "error", err)
		}
	})

	operations, stored, err := newOperations(background, settings, store, signIns, queries, opener.metrics, log, s)
	if err != nil {
		return nil, err
	}

	leases, err := newWriteLeases(background, settings, opts.Holder, store, log, s)
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
	rules := table.Rules{
		Store: store, Tables: tables, Domains: writes.Domains, Parser: queries.Plans.Parser(), Pool: queries.Pool, Confirmed: epochs.Check,
		Revocations: revocations, Leases: leases, Operations: operations,
	}
	analyses := newAnalyses(background, settings, store, opener.remote, rules, queries, stored, operations, registry, log, s)
	s.purgeOrganisations(background, store, auditor, log)
	apiKeys, clients := admin.APIKeys{Store: store, Now: time.Now}, identity.Clients{Store: store}
	sharing := newSharing(background, settings, store, discovery, auditor, log, s)
	router, _ := api.NewRouter(api.Deps{
		Lifecycles: identity.Organisations{Store: store, Audit: auditor}, Self: identity.Self{Store: store},
		Users: identity.Users{Store: store, Invitations: invitations}, Invitations: invitations,
		ProviderLinks: newProviderLinks(settings, signIns, opener.remote, auditor), PublicURL: settings.PublicURL,
		Analyses:    analyses,
		SSOSettings: signOn.settings, SSO: signOn.signIn, SSOLogout: signOn.logout,
		Clients: clients, ServiceAccounts: identity.ServiceAccounts{Store: store, Keys: apiKeys},
		OAuth: oauth2.Server{
			Issuer: settings.PublicURL, Flows: flows, Keys: signing, Registration: oauth2.Registration{Clients: clients, Audit: auditor},
		},
		Keys: apiKeys, Organisations: admin.Organisations{Store: store, SandboxRoot: settings.SandboxRoot},
		Members: admin.Members{Store: store}, Workspaces: admin.Workspaces{Store: store}, Audit: admin.AuditLog{Store: store},
		Storage: newStorageConfigs(store, opener, discovery, auditor),
		Sharing: sharing, Moves: newMoves(background, settings, opts.Holder, store, queries, data, operations, leases, sharing, registry, log, s),
		TableRules: rules,
		Domains:    domains,
		Tables:     tables, TableFiles: table.Files{Store: store, Tables: tables, Parser: queries.Plans.Parser()}, Writes: writes,
		Inference:   newInference(settings, store, queries, writes),
		Maintenance: maintenance, Policies: admin.Policies{Store: store, Lake: data},
		Simulation: admin.Simulation{Store: store, Tables: tables, Queries: queries},
		Passwords:  people.passwords, Recovery: people.recovery, Pages: people.pages,
		Queries: queries, Operations: operations, Stored: stored, Spill: room, Limits: limitsOf(settings),
		Auditor: auditor, Authenticator: authenticator, Health: health, Logger: log,
		Metrics: registry, MetricsElsewhere: settings.MetricsAddr != "",
		Rate:             middleware.Rate{PerMinute: settings.RatePerMinute, Burst: settings.RateBurst},
		OrganisationRate: middleware.Rate{PerMinute: settings.RateOrgPerMinute, Burst: settings.RateOrgBurst},
		TrustedProxies:   proxies, Version: opts.Version,
	})
	if err := serveMetrics(ctx, settings.MetricsAddr, registry, s); err != nil {
		return nil, err
	}
	s.Server = api.Server{
		Handler: router, Health: health, Logger: log, Notice: settings.DrainNotice, Drain: settings.DrainTimeout, Shutdown: s.endWork,
	}
	return s, nil
}

func newAuthenticator(
	settings config.Settings, log *slog.Logger, members principal.Source, own jwt.Issuer, epochs *revocation.Epochs, s *Service,
) (auth.Authenticator, *jwt.Authenticator, error) {
	keys := apikey.New(members, apikey.Options{Epoch: epochs.Current, Logger: log})
	s.onClose(func(context.Context) error { keys.Close(); return nil })
	issuers, err := issuersOf(settings)
	if err != nil {
		return nil, nil, err
	}
	tokens, err := jwt.New(members, append(issuers, own), jwt.Options{Epoch: epochs.Current})
	if err != nil {
		return nil, nil, err
	}
	return auth.Split{KeyPrefix: apikey.Prefix, Keys: keys, Tokens: tokens}, tokens, nil
}

func newQueries(
	ctx context.Context, settings config.Settings, opts Options, store *authz.Store, keyring *secret.Keyring,
	epochs *revocation.Epochs, revocations *revocation.Watcher, auditor *caller.Auditor, registry *prometheus.Registry, s *Service,
) (*query.Service, *lake.Lake, buckets, error) {
	remote := newRemoteStores(settings, store, keyring)
	s.onClose(func(context.Context) error { remote.clients.Close(); return nil })
	opener := buckets{metrics: objstore.NewMetrics(registry), roots: newLocalRoots(settings, store), remote: remote}
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
	data := lake.New(opener, delta.Options{EngineInfo: "Lakewarden/" + opts.Version})
	data.Measure(registry)
	tables := access.New(store, data, access.Options{Keys: keyring, Permissions: store, ReadLog: opts.ReadLog})
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
