package sqlstore_test

import (
	"context"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/auth/sqlstore"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/catalogtest/pgtest"
	catalogstore "github.com/lakewarden/lakewarden/catalog/sqlstore"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a database with one user, and a clock.
type world struct {
	*sqlstore.Store
	db    *sqldb.DB
	url   string
	user  uuid.UUID
	clock *atomic.Int64
}

func (w world) now() time.Time { return time.UnixMicro(w.clock.Load()).UTC() }

func (w world) advance(d time.Duration) { w.clock.Add(d.Microseconds()) }

// another opens a second store on the same database, like another replica.
func (w world) another(t *testing.T) world {
	w.db = openDB(t, w.url, w.now)
	w.Store = sqlstore.New(w.db)
	return w
}

func openDB(t *testing.T, url string, now func() time.Time) *sqldb.DB {
	t.Helper()
	db, err := sqldb.Open(context.Background(), url, sqldb.Options{Now: now})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// onBoth runs a test on SQLite and on Postgres.
func onBoth(t *testing.T, test func(*testing.T, world)) {
	for name, url := range map[string]func(*testing.T) string{
		"SQLite":   func(t *testing.T) string { return filepath.Join(t.TempDir(), "catalog.db") },
		"Postgres": func(t *testing.T) string { return pgtest.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			w := world{url: url(t), clock: new(atomic.Int64)}
			w.clock.Store(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixMicro())
			w = w.another(t)
			w.user = w.addUser(t, "ada@example.com")
			test(t, w)
		})
	}
}

func (w world) addUser(t *testing.T, email string) uuid.UUID {
	t.Helper()
	store, err := catalogstore.Open(t.Context(), w.url, catalogstore.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	u, err := store.CreateUser(t.Context(), catalog.NewUser{Email: email})
	require.NoError(t, err)
	return uuid.MustParse(string(u.ID))
}

// session stores a session of an hour.
func (w world) session(t *testing.T, change func(*session.Session)) session.Session {
	t.Helper()
	n := session.Session{User: w.user, Method: session.MethodPassword, ExpiresAt: w.now().Add(time.Hour)}
	if change != nil {
		change(&n)
	}
	s, err := w.CreateSession(t.Context(), n)
	require.NoError(t, err)
	return s
}

func (w world) epoch(t *testing.T) uint64 {
	t.Helper()
	epoch, err := w.db.Epoch(t.Context())
	require.NoError(t, err)
	return epoch
}

// live reports whether a session is live.
func (w world) live(t *testing.T, id uuid.UUID) bool {
	t.Helper()
	s, err := w.Session(t.Context(), id)
	require.NoError(t, err)
	return s.Live(w.now())
}

// together calls f n times at once and returns the errors.
func together(n int, f func(i int) error) []error {
	errs := make([]error, n)
	var start, done sync.WaitGroup
	start.Add(1)
	for i := range n {
		done.Go(func() {
			start.Wait()
			errs[i] = f(i)
		})
	}
	start.Done()
	done.Wait()
	return errs
}
