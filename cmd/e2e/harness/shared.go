package harness

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/lakewarden/app"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb"
)

// parallel is how many tests of a package run at once unless a flag says otherwise.
// Most of them wait for the server rather than compute.
const parallel = "4"

// Main runs the tests of a package, or the program itself where a test has started
// it. A server starts this very program as its workers, without an environment. Before
// the tests it calls each setUp, and after them what that returned.
func Main(m *testing.M, setUp ...func() (tearDown func(), err error)) {
	if os.Getenv(asProgram) == "1" || len(os.Args) == 2 && os.Args[1] == "worker" {
		os.Exit(app.Main("test"))
	}
	if err := flag.Set("test.parallel", parallel); err != nil {
		panic(err)
	}
	var after []func()
	for _, f := range setUp {
		tearDown, err := f()
		if err != nil {
			panic(err)
		}
		after = append(after, tearDown)
	}
	code := m.Run()
	process.end()
	for _, tearDown := range after {
		tearDown()
	}
	os.Exit(code)
}

// Shared returns a new organisation on the server that the tests of a package share.
// It has an administrator and one empty storage configuration, and nothing of other
// organisations. The server has default settings. A test that changes settings, reads
// the log or the metrics, or restarts the server uses [Start].
func Shared(t testing.TB) *Server {
	t.Helper()
	host := process.server(t)
	s := &Server{T: t, Config: host.Config, URL: host.URL}
	s.Stop = func() { t.Fatal("the server is shared") }
	s.bootstrap()
	s.Config.LocalRoots = []string{strings.ReplaceAll(host.Config.LocalRoots[0], "{org}", s.Boot.OrganisationID)}
	require.NoError(t, os.MkdirAll(s.Config.LocalRoots[0], 0o750))
	s.join()
	return s
}

// process owns what the tests of a package share.
var process background

// background stands for all tests of a process where one of them is expected.
type background struct {
	testing.TB // nil: a method that background does not have panics, because no single test may call it

	once   sync.Once
	shared *Server
	failed any

	files struct {
		once   sync.Once
		engine engine.Engine
		err    error
	}

	mu       sync.Mutex
	cleanups []func()
}

// server starts the shared server at the first call. Every test that needs it fails
// if that fails.
func (b *background) server(t testing.TB) *Server {
	t.Helper()
	settings := Settings{Settings: DefaultSettings(t), Variant: EnvironmentVariant(t)}
	b.once.Do(func() {
		defer func() { b.failed = recover() }()
		settings.DataDir = b.TempDir()
		settings.LocalRoots = []string{filepath.Join(settings.DataDir, "storage", "{org}")}
		settings.MailDir = filepath.Join(settings.DataDir, "mail")
		settings.SandboxRoot = filepath.Join(settings.DataDir, "sandbox")
		settings.DiscoveryEvery = 24 * time.Hour // tests count what their own discovery finds
		settings.KeyFile = filepath.Join(settings.DataDir, "keys.json")
		settings.ResultsURL = "file://" + filepath.Join(settings.DataDir, "results")
		settings.vary(b)
		s := newServer(b, settings)
		s.Start()
		b.shared = s
	})
	if b.failed != nil || b.shared == nil {
		t.Fatalf("the shared server did not start: %v", b.failed)
	}
	return b.shared
}

// fileEngine starts the engine of [FileEngine] at the first call.
func (b *background) fileEngine(t testing.TB) engine.Engine {
	t.Helper()
	b.files.once.Do(func() {
		b.files.engine, b.files.err = duckdb.New(context.Background(), duckdb.Options{Extensions: []string{}, TempDir: b.TempDir()})
		b.Cleanup(func() { _ = b.files.engine.Close() })
	})
	require.NoError(t, b.files.err)
	return b.files.engine
}

// end runs the clean-up functions, the last one first.
func (b *background) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := len(b.cleanups) - 1; i >= 0; i-- {
		b.cleanups[i]()
	}
}

// Helper implements testing.TB.
func (b *background) Helper() {}

// Context implements testing.TB.
func (b *background) Context() context.Context { return context.Background() }

// Errorf implements testing.TB.
func (b *background) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// FailNow implements testing.TB.
func (b *background) FailNow() { panic("failed") }

// Fatalf implements testing.TB.
func (b *background) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// Skipf implements testing.TB. No test can be skipped for all others, so it fails.
func (b *background) Skipf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// Cleanup implements testing.TB.
func (b *background) Cleanup(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cleanups = append(b.cleanups, f)
}

// TempDir implements testing.TB.
func (b *background) TempDir() string {
	dir, err := os.MkdirTemp("", "lakewarden-e2e-")
	require.NoError(b, err)
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
