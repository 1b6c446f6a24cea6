package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/enginetest"
	"github.com/lakewarden/lakewarden/engine/oracletest"
	"github.com/lakewarden/lakewarden/engine/worker"
)

// childArg makes the test program serve as a child instead of running tests.
const childArg = "serve-worker"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == childArg {
		if err := worker.Serve(context.Background(), os.NewFile(worker.ControlFD, "control"), build); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) == 2 && os.Args[1] == parentArg {
		actAsParent()
	}
	goleak.VerifyTestMain(m)
}

// build is what a child serves. It checks what a child must not have.
func build(ctx context.Context, setup []byte, temp string) (engine.Engine, error) {
	if env := os.Environ(); len(env) > 0 {
		return nil, fmt.Errorf("environment of a child: %v", env)
	}
	if err := reachesNothing(); err != nil {
		return nil, err
	}
	switch string(setup) {
	case "exit":
		os.Exit(3)
	case "refuse":
		return nil, errors.New("no engine today")
	}
	opts := duckdb.Options{TempDir: temp}
	if err := json.Unmarshal(setup, &opts.Verified); err != nil {
		return nil, err
	}
	return duckdb.New(ctx, opts)
}

// reachesNothing checks that this process can read neither its parent nor the parent's secrets, and
// that others cannot read this process.
func reachesNothing() error {
	for _, name := range []string{"environ", "mem", "maps", "fd/0", "root"} {
		f, err := os.Open(fmt.Sprintf("/proc/%d/%s", os.Getppid(), name))
		if err == nil {
			return errors.Join(fmt.Errorf("%s of the parent can be read", name), f.Close())
		}
		if !errors.Is(err, os.ErrPermission) {
			return err
		}
	}
	if dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || dumpable != 0 {
		return fmt.Errorf("others can read a child: %w", err)
	}
	return nil
}

// testOptions returns the options of children that load all extensions. As in the server, this
// process verifies the files and its children trust it.
func testOptions(tb testing.TB) worker.Options {
	tb.Helper()
	eng, err := duckdb.New(tb.Context(), duckdb.Options{ExtensionDirs: []string{oracletest.Extensions(tb)}})
	require.NoError(tb, err)
	setup, err := json.Marshal(eng.Verified())
	require.NoError(tb, errors.Join(err, eng.Close()))
	return worker.Options{Command: []string{os.Args[0], childArg}, Setup: setup}
}

// bareOptions returns the options of children without extensions, which start at once.
func bareOptions() worker.Options {
	return worker.Options{Command: []string{os.Args[0], childArg}, Setup: []byte("[]")}
}

func newEngine(tb testing.TB, opts worker.Options) *worker.Engine {
	tb.Helper()
	e, err := worker.New(opts)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, e.Close()) })
	return e
}

func open(tb testing.TB, e engine.Engine, owner string) engine.Session {
	tb.Helper()
	s, err := e.Open(context.Background(), engine.SessionOptions{Owner: owner})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, s.Close()) })
	return s
}

// alive checks that the session answers.
func alive(tb testing.TB, s engine.Session) {
	tb.Helper()
	require.Equal(tb, []string{"42"}, enginetest.Rows(tb, s, engine.Statement{SQL: "SELECT 42"}))
}

// pids returns the processes of e once there are n: the engine forgets a process shortly after the
// kernel does.
func pids(tb testing.TB, e *worker.Engine, n int) (out []int) {
	tb.Helper()
	require.Eventually(tb, func() bool { out = worker.Pids(e); return len(out) == n }, time.Minute, time.Millisecond)
	return out
}

func gone(tb testing.TB, pid int) {
	tb.Helper()
	require.Eventually(tb, func() bool {
		_, err := os.Stat("/proc/" + strconv.Itoa(pid))
		return errors.Is(err, os.ErrNotExist)
	}, time.Minute, 2*time.Millisecond, "process %d is still there, a zombie perhaps", pid)
}

func TestConformance(t *testing.T) {
	enginetest.Run(t, func(tb testing.TB) engine.Engine { return newEngine(tb, testOptions(tb)) })
}

// pidsOf is pids without a test.
func pidsOf(e *worker.Engine) []int { return worker.Pids(e) }

func optionsFor(program string) worker.Options { return worker.Options{Command: []string{program}} }
