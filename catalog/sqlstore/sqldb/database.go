package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib" // registers the driver "pgx"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/migrations"
)

// Options are the optional parts of a [DB]; the zero value works.
type Options struct {
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Registerer receives the metrics of the store; nil discards them.
	Registerer prometheus.Registerer
	// Logger receives failures that are not returned to a caller; nil discards them.
	Logger *slog.Logger
	// WatchInterval is the interval between confirmations of the epoch; 0 means 200 ms
	// for SQLite and 500 ms for Postgres, where changes are announced.
	WatchInterval time.Duration
	// Raised, if not nil, is called with the epoch of each change of this store, after the
	// commit and before the change returns to its caller. It must not block. Concurrent
	// changes call it in any order.
	Raised func(epoch uint64)
	// LockWait is how long a write to SQLite waits for those of other processes, which it
	// has no queue for; 0 means 10 s.
	LockWait time.Duration
	// MaxConnections bounds the pool; 0 means 16.
	MaxConnections int
	// KeepSchema refuses a database with missing migrations instead of applying them.
	KeepSchema bool
}

// DB is the database of a catalog. It is safe for concurrent use.
type DB struct {
	dialect dialect
	// reads and writes are the same pool, except for SQLite: its writer is one
	// connection, so that writers queue in the process instead of failing on the lock
	// of the file.
	reads, writes *sql.DB
	// outside runs statements outside any transaction, on reads.
	outside       querier
	now           func() time.Time
	logger        *slog.Logger
	watchInterval time.Duration
	raised        func(epoch uint64)
	// known is the highest epoch that was read from the database or committed to it.
	known atomic.Uint64

	// alone and inside count the statements outside and inside of transactions.
	alone, inside prometheus.Counter

	// closing ends the watches, and watches waits for them. closeMu prevents a watch
	// from starting after that wait has begun.
	closeMu sync.Mutex
	closing context.Context
	close   context.CancelFunc
	watches sync.WaitGroup
	pokes   pokes
	// name distinguishes the announcements of this store from those of others.
	name string
}

// Open opens the database of a URL: postgres://… or postgresql://…, sqlite:<file>, or a
// file name. It applies missing migrations, and returns an error that wraps
// [migrations.ErrUnknownSchema] for a newer schema.
func Open(ctx context.Context, databaseURL string, opts Options) (*DB, error) {
	if strings.HasPrefix(databaseURL, "postgres://") || strings.HasPrefix(databaseURL, "postgresql://") {
		return openPostgres(ctx, databaseURL, opts)
	}
	return openSQLite(ctx, strings.TrimPrefix(databaseURL, "sqlite:"), opts)
}

func openSQLite(ctx context.Context, path string, opts Options) (*DB, error) {
	if path == "" || strings.Contains(path, ":memory:") {
		return nil, errors.New("open catalog: SQLite needs a file")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open catalog: %w", err)
	}
	if err := createPrivate(path); err != nil {
		return nil, fmt.Errorf("open catalog: %w: %w", catalog.ErrUnavailable, err)
	}
	writes, err := sql.Open("sqlite", sqliteDSN(path, opts.LockWait, "journal_mode(WAL)"))
	if err != nil {
		return nil, fmt.Errorf("open catalog: %w", err)
	}
	writes.SetMaxOpenConns(1)
	reads, err := sql.Open("sqlite", sqliteDSN(path, opts.LockWait, "query_only(1)"))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open catalog: %w", err), writes.Close())
	}
	if opts.MaxConnections == 0 {
		opts.MaxConnections = max(4, 2*runtime.GOMAXPROCS(0))
	}
	if opts.WatchInterval == 0 {
		opts.WatchInterval = 200 * time.Millisecond
	}
	return newDB(ctx, dialect{migrations: migrations.SQLite, failure: sqliteFailure}, reads, writes, opts)
}

// createPrivate creates an empty file and its directory, accessible only to the user of
// this process, unless they exist. SQLite uses the mode of the database for the files
// that it creates next to it.
func createPrivate(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// sqliteDSN sets the options of every connection: references are checked, a transaction
// takes the write lock at its start (otherwise two of them could both read and then
// deadlock), a commit is durable, and locks of other processes are waited for.
func sqliteDSN(path string, wait time.Duration, pragma string) string {
	query := url.Values{
		"_txlock": {"immediate"},
		"_pragma": {fmt.Sprintf("busy_timeout(%d)", cmp.Or(wait, 10*time.Second).Milliseconds()), "foreign_keys(1)", "synchronous(FULL)", pragma},
	}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: query.Encode()}).String()
}

func openPostgres(ctx context.Context, databaseURL string, opts Options) (*DB, error) {
	db, err := sql.Open("pgx", databaseURL)
	if err != nil {
		// The text of the driver's error can contain the password.
		return nil, errors.New("open catalog: the Postgres URL cannot be read")
	}
	if opts.WatchInterval == 0 {
		opts.WatchInterval = 500 * time.Millisecond // bounds the delay after a lost announcement below the promised second
	}
	return newDB(ctx, dialect{
		migrations: migrations.Postgres,
		numbered:   true,
		share:      " FOR SHARE",
		unlocked:   " FOR NO KEY UPDATE SKIP LOCKED",
		notify:     "SELECT pg_notify('" + epochChannel + "', '')",
		failure:    postgresFailure,
	}, db, db, opts)
}

func newDB(ctx context.Context, d dialect, reads, writes *sql.DB, opts Options) (*DB, error) {
	s := &DB{
		dialect: d, reads: reads, writes: writes, outside: reads,
		now: opts.Now, logger: opts.Logger, watchInterval: opts.WatchInterval, raised: opts.Raised,
		name: uuid.NewString(),
	}
	if s.raised == nil {
		s.raised = func(uint64) {}
	}
	if d.migrations == migrations.SQLite {
		s.outside = &preparedPool{DB: reads, statements: map[string]*sql.Stmt{}}
	}
	statements := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "lakewarden_catalog_statements_total",
		Help: "Statements on the database of the catalog, without the confirmations of the epoch.",
	}, []string{"transaction"})
	if opts.Registerer != nil {
		opts.Registerer.MustRegister(statements)
	}
	s.alone, s.inside = statements.WithLabelValues("no"), statements.WithLabelValues("yes")
	if s.now == nil {
		s.now = time.Now
	}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	connections := opts.MaxConnections
	if connections == 0 {
		connections = 16
	}
	reads.SetMaxOpenConns(connections)
	reads.SetMaxIdleConns(connections)
	s.closing, s.close = context.WithCancel(context.Background())

	prepare := migrations.Apply
	if opts.KeepSchema {
		prepare = migrations.Check
	}
	if _, err := prepare(ctx, d.migrations, writes); err != nil {
		return nil, errors.Join(fmt.Errorf("prepare catalog: %w", d.translate(err)), s.Close())
	}
	return s, nil
}

// Close ends the watches and closes the database. Calls in progress fail with
// [catalog.ErrUnavailable]. It may be called more than once.
func (s *DB) Close() error {
	s.closeMu.Lock()
	s.close()
	s.closeMu.Unlock()
	s.watches.Wait()
	err := s.writes.Close()
	if s.reads != s.writes {
		err = errors.Join(s.reads.Close(), err)
	}
	return err
}

// Read returns a session outside any transaction.
func (s *DB) Read() Session {
	return Session{querier: s.outside, dialect: s.dialect, statements: s.alone}
}

// Clock returns the current time in the precision of the database.
func (s *DB) Clock() time.Time { return s.now().UTC().Truncate(time.Microsecond) }
