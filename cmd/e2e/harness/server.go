package harness

import (
	"bytes"
	"context"
	"flag"
	"log/slog"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/app"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/command"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
	"github.com/lakewarden/lakewarden/engine/oracletest"
)

// Settings are those of a test server.
type Settings struct {
	config.Settings
	Variant
	// ReadLog selects the tables that the engine reads through their logs.
	ReadLog func(catalog.LocatedTable) bool
	// KeyClock, if not nil, is the clock by which keys that a KMS opened expire.
	KeyClock func() time.Time
	// Listener, if not nil, is used by the first start, for tests that need the address
	// beforehand.
	Listener net.Listener
}

// Server is the whole server on a free loopback port, with one organisation.
type Server struct {
	T      testing.TB
	Config Settings
	URL    string
	// Log is nil if the server is shared.
	Log   *Log
	Stop  func()
	Boot  command.Bootstrapped
	Admin *Client
	// Schema is the shared configuration's; tables are made below its root.
	Schema string
	Root   string
}

// Start builds an organisation with an administrator and one empty shared
// storage configuration, and serves it. change may alter the configuration.
func Start(t testing.TB, change func(*Settings)) *Server {
	t.Helper()
	settings := Settings{Settings: DefaultSettings(t), Variant: EnvironmentVariant(t)}
	if change != nil {
		change(&settings)
	}
	settings.vary(t)
	s := newServer(t, settings)
	s.bootstrap()
	s.Start()
	s.join()
	return s
}

func newServer(t testing.TB, settings Settings) *Server {
	return &Server{T: t, Config: settings, Log: &Log{}}
}

// users is held while a user is made, who may exist in another organisation.
var users sync.Mutex

// bootstrap makes the organisation.
func (s *Server) bootstrap() {
	s.T.Helper()
	users.Lock()
	defer users.Unlock()
	store, err := s.OpenCatalog(context.Background())
	require.NoError(s.T, err)
	s.Boot, err = command.Bootstrap(context.Background(), store, "Acme", "admin@acme.example")
	require.NoError(s.T, err)
	require.NoError(s.T, store.Close())
}

// join makes the organisation's shared storage configuration on the running server.
func (s *Server) join() {
	s.T.Helper()
	s.Admin = s.Client(s.Boot.APIKey, s.Boot.UserID)
	s.shareStorage()
}

// OpenCatalog opens the server's catalog next to it. The caller closes it.
func (s *Server) OpenCatalog(ctx context.Context) (*sqlstore.Store, error) {
	return OpenCatalog(ctx, s.Config.Settings)
}

// OpenCatalog opens the catalog of a server with these settings. The caller closes it.
func OpenCatalog(ctx context.Context, settings config.Settings) (*sqlstore.Store, error) {
	return sqlstore.Open(ctx, settings.CatalogURL(), sqlstore.Options{
		Logger: slog.New(slog.DiscardHandler), LockWait: time.Minute, // the server may write without pause
	})
}

// DefaultSettings returns the settings of a server on a free port with an empty data
// directory.
func DefaultSettings(t testing.TB) config.Settings {
	t.Helper()
	settings, err := config.Load(flag.NewFlagSet("test", flag.ContinueOnError), []string{"--data-dir", t.TempDir(), "--listen", "127.0.0.1:0"})
	require.NoError(t, err)
	settings.ExtensionDir = oracletest.Extensions(t)
	settings.LogLevel = "info"
	settings.RatePerMinute, settings.RateBurst = 1_000_000, 100_000
	settings.RateOrgPerMinute, settings.RateOrgBurst = 1_000_000, 100_000
	settings.Analysis.PerMinute = 0
	settings.Memory = 2048
	settings.VanishAfter = time.Nanosecond // the second discovery confirms
	return settings
}

// Start serves. The server ends with the test or with Stop, whichever comes first.
func (s *Server) Start() {
	s.T.Helper()
	require.NotNil(s.T, s.Log, "the server is shared")
	ctx, cancel := context.WithCancel(context.Background())
	level, err := s.Config.Level()
	require.NoError(s.T, err)
	log := slog.New(slog.NewJSONHandler(s.Log, &slog.HandlerOptions{Level: level}))
	l := s.Config.Listener
	if s.Config.Listener = nil; l == nil {
		l, err = net.Listen("tcp", s.Config.Listen)
		require.NoError(s.T, err)
	}
	s.URL = "http://" + l.Addr().String()
	settings := s.Config.Settings
	if settings.PublicURL == "http://"+settings.Listen { // the default, with the port as it is
		settings.PublicURL = s.URL
	}
	svc, err := app.New(ctx, settings, log, app.Options{Version: "test", ReadLog: s.Config.ReadLog, KeyClock: s.Config.KeyClock})
	require.NoError(s.T, err)
	done := make(chan error, 1)
	go func() { done <- svc.Server.Serve(ctx, l) }()
	stopped := false
	s.Stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		require.NoError(s.T, <-done)
		require.NoError(s.T, svc.Close(time.Minute))
	}
	s.T.Cleanup(s.Stop)
}

// Refuses tries to build the server with its settings and returns the error.
func (s *Server) Refuses() error {
	s.T.Helper()
	svc, err := app.New(context.Background(), s.Config.Settings, slog.New(slog.DiscardHandler), app.Options{Version: "test"})
	if err == nil {
		require.NoError(s.T, svc.Close(time.Minute))
	}
	return err
}

// Client returns a caller with a key of the server.
func (s *Server) Client(key, user string) *Client {
	return &Client{T: s.T, URL: s.URL, Key: key, User: user}
}

// Member adds a user to the organisation.
func (s *Server) Member(email, role string, attributes map[string]string) *Client {
	s.T.Helper()
	users.Lock()
	defer users.Unlock()
	store, err := s.OpenCatalog(context.Background())
	require.NoError(s.T, err)
	defer func() { require.NoError(s.T, store.Close()) }()
	made, err := command.AddUser(context.Background(), store, s.Boot.OrganisationID, email, role)
	require.NoError(s.T, err)
	if attributes != nil {
		_, err = store.ReplaceAttributes(context.Background(), catalog.OrgID(s.Boot.OrganisationID), catalog.UserID(made.UserID), attributes)
		require.NoError(s.T, err)
	}
	return s.Client(made.APIKey, made.UserID)
}

// Restart stops the server and serves the same data again. Clients of the
// server's own keep working.
func (s *Server) Restart() {
	s.T.Helper()
	s.Stop()
	s.Start()
	s.Admin = s.Client(s.Admin.Key, s.Admin.User)
}

// Log holds what a server has logged. It is safe for concurrent use. Reading the nil
// log of a shared server panics, so that no test takes it for an empty one.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer. Errors also go to the standard error of the test program,
// which go test shows if a test fails.
func (l *Log) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(`"level":"ERROR"`)) {
		_, _ = os.Stderr.Write(p)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns the lines logged so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Len returns the number of bytes logged so far.
func (l *Log) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Len()
}
