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
	"github.com/lakewarden/lakewarden/engine/enginetest"
)

// TestWatchOutlivesItsConnection repeatedly ends the listening connection and makes a
// change in the meantime. The watch must report it within the promised second and never
// go back.
func TestWatchOutlivesItsConnection(t *testing.T) {
	database := pgtest.URL(t)
	ctx := t.Context()
	watched, other := open(t, named(t, database, "watched"), sqlstore.Options{}), open(t, named(t, database, "other"), sqlstore.Options{})
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
		promised, deadline := withinASecond(t), time.After(5*time.Second)
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
		promised()
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

// withinASecond returns a function that checks that the second which is promised has not
// passed, not counting the time for which the machine delays everything.
func withinASecond(t *testing.T) (check func()) {
	t.Helper()
	start, stalls := time.Now(), enginetest.WatchStalls(0)
	return func() {
		t.Helper()
		require.Less(t, time.Since(start)-stalls(), time.Second)
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
	}, 10*time.Second, 5*time.Millisecond)
}

// TestCommitsAreAnnounced checks that announcements reach other stores only, and that a
// lost connection is compensated.
func TestCommitsAreAnnounced(t *testing.T) {
	ctx, text := t.Context(), pgtest.URL(t)
	writer, watched := open(t, named(t, text, "writer"), sqlstore.Options{}), open(t, named(t, text, "watched"), sqlstore.Options{})
	admin, err := sql.Open("pgx", text)
	require.NoError(t, err)
	defer func() { require.NoError(t, admin.Close()) }()
	received, own := watched.WatchCommits(ctx), writer.WatchCommits(ctx)
	next := func(commits <-chan catalog.CommittedTable) catalog.CommittedTable {
		t.Helper()
		select {
		case c := <-commits:
			return c
		case <-time.After(10 * time.Second):
			t.Fatal("nothing was received")
			return catalog.CommittedTable{}
		}
	}
	anything := catalog.CommittedTable{}
	require.Equal(t, anything, next(received), "earlier announcements are unknown")
	require.Equal(t, anything, next(own))
	for range 3 {
		orders := catalog.CommittedTable{Config: "c", Path: "sales/'orders' \"2\""}
		require.NoError(t, writer.AnnounceCommit(ctx, orders))
		require.Equal(t, orders, next(received))
		require.NoError(t, writer.AnnounceCommit(ctx, catalog.CommittedTable{Config: "c", Path: strings.Repeat("x", 10_000)}))
		require.Equal(t, anything, next(received), "the path is too long for an announcement")
		kill(ctx, t, admin, "watched")
		require.Equal(t, anything, next(received), "announcements in the meantime are unknown")
	}
	require.NoError(t, watched.AnnounceCommit(ctx, catalog.CommittedTable{Path: "last"}))
	require.Equal(t, catalog.CommittedTable{Path: "last"}, next(own), "it does not receive its own announcements")
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
			promised, deadline := withinASecond(t), time.After(5*time.Second)
			for now := uint64(0); now <= lost; {
				select {
				case now = <-epochs:
				case <-deadline:
					t.Fatalf("epoch %d follows %d", now, lost)
				}
			}
			promised()
			now, err := store.Epoch(ctx)
			require.NoError(t, err)
			require.Greater(t, now, lost)
		})
	}
}
