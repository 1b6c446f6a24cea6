package pgtest

import (
	"context"
	"database/sql"
	"io"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver
)

// URLVariable names the environment variable with the URL of a server to use.
const URLVariable = "LAKEWARDEN_TEST_POSTGRES_URL"

var server struct {
	once sync.Once
	url  string
	// leash is referenced, because the garbage collector closes an unreferenced pipe
	// and the server would end.
	leash io.Closer
	err   error
}

// URL creates an empty database and returns its URL. The database is dropped at the end
// of the test. If no Postgres is available the test is skipped, or fails if the
// environment variable CI is "true".
func URL(tb testing.TB) string {
	tb.Helper()
	start(tb)
	return urlOf(tb, create(tb, ""))
}

// Template fills a database by prepare, which closes its connections, and returns a function that
// is as URL but returns copies of it. The first database is dropped at the end of tb's test.
func Template(tb testing.TB, prepare func(url string)) func(tb testing.TB) string {
	tb.Helper()
	start(tb)
	prototype := create(tb, "")
	prepare(urlOf(tb, prototype))
	return func(tb testing.TB) string {
		tb.Helper()
		return urlOf(tb, create(tb, " TEMPLATE "+prototype))
	}
}

// create creates a database with options and returns its name. It is dropped at the end of the
// test.
func create(tb testing.TB, options string) (name string) {
	tb.Helper()
	name = "lakewarden_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	admin(tb, "CREATE DATABASE "+name+options)
	tb.Cleanup(func() { admin(tb, "DROP DATABASE "+name+" WITH (FORCE)") })
	return name
}

func urlOf(tb testing.TB, name string) string {
	tb.Helper()
	u, err := url.Parse(server.url)
	if err != nil {
		tb.Fatalf("%s: not a URL", URLVariable)
	}
	u.Path = "/" + name
	return u.String()
}

// start starts the server at the first call in a test binary.
func start(tb testing.TB) {
	tb.Helper()
	server.once.Do(func() {
		if server.url = os.Getenv(URLVariable); server.url == "" {
			server.url, server.leash, server.err = launch()
		}
	})
	if server.err != nil {
		if os.Getenv("CI") == "true" {
			tb.Fatalf("no Postgres for this test: %v", server.err)
		}
		tb.Skipf("no Postgres for this test (install it, or set %s): %v", URLVariable, server.err)
	}
}

func admin(tb testing.TB, statement string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	db, err := sql.Open("pgx", server.url)
	if err == nil {
		_, err = db.ExecContext(ctx, statement)
		_ = db.Close()
	}
	if err != nil {
		tb.Fatalf("%s: %v", statement, err)
	}
}
