package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/catalogtest/pgtest"
	"github.com/lakewarden/lakewarden/catalog/sqlstore"
	"github.com/lakewarden/lakewarden/migrations"
)

// raw opens the database directly.
func raw(t *testing.T, target string) *sql.DB {
	driver := "sqlite"
	if filepath.Ext(target) == "" {
		driver = "pgx"
	}
	db, err := sql.Open(driver, target)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func each(t *testing.T, test func(t *testing.T, target string)) {
	t.Run("sqlite", func(t *testing.T) { test(t, filepath.Join(t.TempDir(), "catalog.db")) })
	t.Run("postgres", func(t *testing.T) { test(t, pgtest.URL(t)) })
}

func TestUnknownSchemaIsRefused(t *testing.T) {
	each(t, func(t *testing.T, target string) {
		open(t, target, sqlstore.Options{})
		_, err := raw(t, target).Exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, TRUE)")
		require.NoError(t, err)
		for _, keep := range []bool{true, false} {
			_, err = sqlstore.Open(t.Context(), target, sqlstore.Options{KeepSchema: keep})
			require.ErrorIs(t, err, migrations.ErrUnknownSchema)
		}
	})
}

func TestKeepSchema(t *testing.T) {
	each(t, func(t *testing.T, target string) {
		_, err := sqlstore.Open(t.Context(), target, sqlstore.Options{KeepSchema: true})
		require.ErrorIs(t, err, migrations.ErrPending)
		open(t, target, sqlstore.Options{})
		open(t, target, sqlstore.Options{KeepSchema: true})
	})
}

func TestCloseTwice(t *testing.T) {
	store := open(t, filepath.Join(t.TempDir(), "catalog.db"), sqlstore.Options{})
	require.NoError(t, store.Close())
	require.NoError(t, store.Close())
}

func TestSQLiteTargets(t *testing.T) {
	dir := t.TempDir()
	for _, bad := range []string{"", "sqlite:", ":memory:", "sqlite::memory:"} {
		_, err := sqlstore.Open(t.Context(), bad, sqlstore.Options{})
		require.Error(t, err, bad)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	_, err := sqlstore.Open(t.Context(), filepath.Join(dir, "file", "catalog.db"), sqlstore.Options{})
	require.ErrorIs(t, err, catalog.ErrUnavailable)
	open(t, filepath.Join(dir, "missing", "catalog.db"), sqlstore.Options{})
	made, err := os.Stat(filepath.Join(dir, "missing"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), made.Mode().Perm())
	open(t, "sqlite:"+filepath.Join(dir, "a?mode=memory&b#c%41.db"), sqlstore.Options{})
	_, err = os.Stat(filepath.Join(dir, "a?mode=memory&b#c%41.db"))
	require.NoError(t, err, "a path may contain any characters")
}

// TestPostgresURLsKeepTheirPassword checks that the errors for a broken URL and a
// refused connection do not contain the password.
func TestPostgresURLsKeepTheirPassword(t *testing.T) {
	for _, target := range []string{
		"postgres://user:hunter2-secret@127.0.0.1:notaport/db",
		"postgres://user:hunter2-secret@127.0.0.1:1/db?connect_timeout=2",
		"postgres://user:hunter2-secret@%zz/db",
	} {
		_, err := sqlstore.Open(t.Context(), target, sqlstore.Options{})
		require.Error(t, err)
		require.NotContains(t, fmt.Sprintf("%+v", err), "hunter2")
	}
}

// TestLostServer checks that calls return errors and a watch sends nothing while
// Postgres is unreachable, and that both recover.
func TestLostServer(t *testing.T) {
	target, err := url.Parse(pgtest.URL(t))
	require.NoError(t, err)
	wire := newWire(t, target.Host)
	target.Host = wire.address()
	store := open(t, target.String(), sqlstore.Options{WatchInterval: 20 * time.Millisecond})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	epochs := store.Watch(ctx)
	require.Positive(t, <-epochs)

	wire.cut()
	_, err = store.Epoch(ctx)
	require.ErrorIs(t, err, catalog.ErrUnavailable)
	_, err = store.CreateUser(ctx, catalog.NewUser{Email: "a@example.com"})
	require.ErrorIs(t, err, catalog.ErrUnavailable)
	for silent := false; !silent; { // an epoch confirmed before the cut may still be buffered
		select {
		case <-epochs:
		case <-time.After(300 * time.Millisecond):
			silent = true
		}
	}

	wire.mend()
	require.Positive(t, <-epochs)
	_, err = store.Epoch(ctx)
	require.NoError(t, err)
}

// wire forwards connections to a server until it is cut.
type wire struct {
	t        *testing.T
	server   string
	listener net.Listener
	state    chan bool // holds whether the wire is cut
	open     chan map[net.Conn]bool
	done     chan struct{}
}

func newWire(t *testing.T, server string) *wire {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &wire{t: t, server: server, listener: listener, state: make(chan bool, 1), open: make(chan map[net.Conn]bool, 1),
		done: make(chan struct{})}
	w.state <- false
	w.open <- map[net.Conn]bool{}
	go w.serve()
	t.Cleanup(func() {
		_ = listener.Close()
		w.hangUp()
		<-w.done
	})
	return w
}

func (w *wire) address() string { return w.listener.Addr().String() }

func (w *wire) cut()  { <-w.state; w.state <- true; w.hangUp() }
func (w *wire) mend() { <-w.state; w.state <- false }

func (w *wire) hangUp() {
	conns := <-w.open
	for c := range conns {
		_ = c.Close()
	}
	w.open <- map[net.Conn]bool{}
}

func (w *wire) serve() {
	defer close(w.done)
	for {
		client, err := w.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		require.NoError(w.t, err)
		isCut := <-w.state
		w.state <- isCut
		server, err := net.Dial("tcp", w.server)
		if isCut || err != nil {
			_ = client.Close()
			if err == nil {
				_ = server.Close()
			}
			continue
		}
		conns := <-w.open
		conns[client], conns[server] = true, true
		w.open <- conns
		go pass(client, server)
		go pass(server, client)
	}
}

// pass copies until either side ends, and then ends the other.
func pass(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
	_ = from.Close()
}

// TestCredentialsOfEarlierReleases checks that credentials of a database without bindings stay
// as they are, and are counted once.
func TestCredentialsOfEarlierReleases(t *testing.T) {
	each(t, func(t *testing.T, target string) {
		ctx := t.Context()
		store := open(t, target, sqlstore.Options{})
		user, err := store.CreateUser(ctx, catalog.NewUser{Email: "ada@example.com"})
		require.NoError(t, err)
		org, err := store.CreateOrganisation(ctx, catalog.NewOrganisation{Name: "ours", Owner: user.ID})
		require.NoError(t, err)
		hash := make([]byte, 32)
		hash[0] = 1
		key := func(prefix string, life time.Duration) catalog.APIKey {
			k, err := store.CreateAPIKey(ctx, catalog.NewAPIKey{Org: org.ID, User: user.ID, Name: "key", Prefix: prefix, Hash: [32]byte(hash),
				Scopes: []string{"org:read"}, ExpiresAt: time.Now().Add(life)})
			require.NoError(t, err)
			return k
		}
		printed, made := key("lw_printed", catalog.MaxKeyLife), key("lw_made_one", 366*24*time.Hour)
		ended := key("lw_revoked", time.Hour)
		_, err = store.RevokeAPIKey(ctx, org.ID, ended.ID)
		require.NoError(t, err)
		_, err = store.CreateServiceAccount(ctx, catalog.NewServiceAccount{Org: org.ID, Name: "Robot", Role: catalog.RoleViewer, SecretHash: hash,
			Scopes: []string{"org:read"}, By: user.ID})
		require.NoError(t, err)
		client, err := store.CreateClient(ctx, catalog.NewClient{Org: org.ID, Name: "App", RedirectURIs: []string{"https://app.example/"},
			Scopes: []string{"org:read"}, By: user.ID})
		require.NoError(t, err)
		require.NoError(t, store.Close())
		dialect := migrations.SQLite
		if filepath.Ext(target) == "" {
			dialect = migrations.Postgres
		}
		require.NoError(t, migrations.Rollback(ctx, dialect, raw(t, target), 15))

		store = open(t, target, sqlstore.Options{})
		found, err := store.TakeUnboundCredentials(ctx)
		require.NoError(t, err)
		require.Equal(t, []catalog.UnboundCredentials{{Org: org.ID, Keys: 1, ServiceAccounts: 1, Clients: 1}}, found)
		found, err = store.TakeUnboundCredentials(ctx)
		require.NoError(t, err)
		require.Empty(t, found)
		printed, err = store.APIKey(ctx, org.ID, printed.ID)
		require.NoError(t, err)
		require.True(t, printed.CommandLine)
		made, err = store.APIKey(ctx, org.ID, made.ID)
		require.NoError(t, err)
		require.False(t, made.CommandLine)
		_, err = store.RevokeAPIKey(ctx, org.ID, made.ID)
		require.NoError(t, err)
		client, err = store.ClientByID(ctx, client.ID)
		require.NoError(t, err)
		require.True(t, client.Ends().IsZero())
	})
}
