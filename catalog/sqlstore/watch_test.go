package sqlstore_test

import (
	"context"
	"database/sql"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/catalogtest/pgtest"
	"github.com/lakewarden/lakewarden/catalog/sqlstore"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// TestWatchOutlivesItsConnection repeatedly ends the listening connection and makes a
// change in the meantime. The watch must report it long before its interval, and never go
// back.
func TestWatchOutlivesItsConnection(t *testing.T) {
	database := pgtest.URL(t)
	ctx := t.Context()
	watched := open(t, named(t, database, "watched"), sqlstore.Options{WatchInterval: time.Hour})
	other := open(t, named(t, database, "other"), sqlstore.Options{})
	user, err := other.CreateUser(ctx, catalog.NewUser{Email: "a@example.com"})
	require.NoError(t, err)
	org, err := other.CreateOrganisation(ctx, catalog.NewOrganisation{Name: "Acme", Owner: user.ID})
	require.NoError(t, err)
	admin, err := sql.Open("pgx", database)
	require.NoError(t, err)
	defer func() { require.NoError(t, admin.Close()) }()

	epochs := watched.Watch(ctx)
	last := uint64(0)
	await := func(want uint64) {
		t.Helper()
		deadline := time.After(time.Minute)
		for last < want {
			select {
			case got, open := <-epochs:
				require.True(t, open)
				require.GreaterOrEqual(t, got, last)
				last = got
			case <-deadline:
				t.Fatalf("epoch %d is not known, only %d", want, last)
			}
		}
	}
	change := func() uint64 {
		t.Helper()
		_, err := other.ReplaceAttributes(ctx, org.ID, user.ID, map[string]string{"at": time.Now().String()})
		require.NoError(t, err)
		now, err := other.Epoch(ctx)
		require.NoError(t, err)
		return now
	}
	await(change())
	for range 5 {
		kill(ctx, t, admin, "watched")
		await(change())
		await(change())
	}
}

// named sets the application name in a connection URL.
func named(t *testing.T, text, application string) string {
	t.Helper()
	u, err := url.Parse(text)
	require.NoError(t, err)
	query := u.Query()
	query.Set("application_name", application)
	u.RawQuery = query.Encode()
	return u.String()
}

// kill ends every connection of the application after waiting for at least one.
func kill(ctx context.Context, t *testing.T, admin *sql.DB, application string) {
	t.Helper()
	require.Eventually(t, func() bool {
		var killed int
		err := admin.QueryRowContext(ctx, `SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = $1`, application).Scan(&killed)
		require.NoError(t, err)
		return killed > 0
	}, time.Minute, 5*time.Millisecond)
}

// TestCommitsAreAnnounced checks that announcements reach other stores only, and that a
// lost connection is compensated. A watch may say at any time that it may have missed
// announcements, and an announcement may come twice.
func TestCommitsAreAnnounced(t *testing.T) {
	ctx, text := t.Context(), pgtest.URL(t)
	writer, watched := open(t, named(t, text, "writer"), sqlstore.Options{}), open(t, named(t, text, "watched"), sqlstore.Options{})
	admin, err := sql.Open("pgx", text)
	require.NoError(t, err)
	defer func() { require.NoError(t, admin.Close()) }()
	received, own := watched.WatchCommits(ctx), writer.WatchCommits(ctx)
	anything := catalog.CommittedTable{}
	require.Equal(t, anything, <-received, "earlier announcements are unknown")
	require.Equal(t, anything, <-own)
	orders := catalog.CommittedTable{Config: "c", Path: "sales/'orders' \"2\""}
	// announce announces a commit again while the watch says that it may have missed it.
	announce := func(by *sqlstore.Store, table catalog.CommittedTable, received <-chan catalog.CommittedTable) {
		t.Helper()
		for range 100 {
			require.NoError(t, by.AnnounceCommit(ctx, table))
			if got := <-received; got != anything {
				require.Equal(t, table, got)
				return
			}
		}
		t.Fatalf("the watch never names %v", table)
	}
	missed := func(why string) {
		t.Helper()
		for got := <-received; got != anything; got = <-received {
			require.Equal(t, orders, got, why)
		}
	}
	for range 3 {
		announce(writer, orders, received)
		require.NoError(t, writer.AnnounceCommit(ctx, catalog.CommittedTable{Config: "c", Path: strings.Repeat("x", 10_000)}))
		missed("the path is too long for an announcement")
		kill(ctx, t, admin, "watched")
		missed("announcements in the meantime are unknown")
	}
	announce(watched, catalog.CommittedTable{Path: "last"}, own) // and writer does not receive its own announcements
}

// TestEpochOfARestoredDatabase takes the database back to an earlier state, as a restored
// backup or a standby that lagged behind does, under a running server. The epochs that
// follow must not be those of the lost state, whose answers are in caches.
func TestEpochOfARestoredDatabase(t *testing.T) {
	for name, url := range map[string]func() string{
		"SQLite":   func() string { return filepath.Join(t.TempDir(), "catalog.db") },
		"Postgres": func() string { return pgtest.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			store := open(t, url(), sqlstore.Options{})
			epochs := store.Watch(ctx)
			owner, err := store.CreateUser(ctx, catalog.NewUser{Email: "a@example.com"})
			require.NoError(t, err)
			for range 3 {
				_, err := store.CreateOrganisation(ctx, catalog.NewOrganisation{Name: "Acme", Owner: owner.ID})
				require.NoError(t, err)
			}
			lost, err := store.Epoch(ctx)
			require.NoError(t, err)
			require.NoError(t, store.DB().Transact(ctx, func(tx sqldb.Session) error {
				_, err := tx.Exec(ctx, "UPDATE catalog_epoch SET value = 1 WHERE id = 1")
				return err
			}))
			deadline := time.After(time.Minute)
			for now := uint64(0); now <= lost; {
				select {
				case now = <-epochs:
				case <-deadline:
					t.Fatalf("epoch %d follows %d", now, lost)
				}
			}
			now, err := store.Epoch(ctx)
			require.NoError(t, err)
			require.Greater(t, now, lost)
		})
	}
}
