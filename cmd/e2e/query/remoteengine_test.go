package query_test

import (
	"context"
	"errors"
	"io"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/enginetest"
	"github.com/lakewarden/lakewarden/engine/gateway"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
	"github.com/lakewarden/lakewarden/engine/oracletest"
)

// mustRemote is an engine whose sessions may name store as RemoteBucket.
func mustRemote(tb testing.TB, store objstore.Bucket, opts gateway.Options) engine.Engine {
	tb.Helper()
	dir := oracletest.Extensions(tb)
	inner, err := duckdb.New(context.Background(), duckdb.Options{ExtensionDirs: []string{dir}})
	if err != nil && os.Getenv("CI") != "true" {
		tb.Skipf("the extensions are needed; make extensions installs them: %v", err)
	}
	require.NoError(tb, err)
	g, err := gateway.New(opts)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, g.Close()) })
	return gateway.NewEngine(inner, g, func(_ context.Context, _, bucket string) (gateway.Location, error) {
		return gateway.Location{Bucket: bucket, Identity: bucket, Store: store, Prefixes: []string{""}}, nil
	})
}

func TestRemoteConformance(t *testing.T) {
	t.Parallel()
	enginetest.RunRemote(t, func(tb testing.TB, dir string) (engine.Engine, string) {
		store, err := file.New(dir)
		require.NoError(tb, err)
		return mustRemote(tb, store, gateway.Options{}), gateway.Root(harness.RemoteBucket)
	})
}

// onRemote is a session over a table of 2000 rows in two files, whose store
// fails by cuts or hangs.
func onRemote(t *testing.T, wrap func(objstore.Bucket) objstore.Bucket) (engine.Session, map[string]engine.Source) {
	t.Helper()
	return onRemoteRows(t, 1000, wrap)
}

// onRemoteRows is onRemote with the given number of rows in each file.
func onRemoteRows(
	t *testing.T, rows int64, wrap func(objstore.Bucket) objstore.Bucket,
) (engine.Session, map[string]engine.Source) {
	t.Helper()
	root := t.TempDir()
	table := enginetest.NewTable(t, root, "t")
	table.Append(t, 0, rows)
	table.Append(t, rows, 2*rows)
	store, err := file.New(root)
	require.NoError(t, err)
	e := mustRemote(t, wrap(store), gateway.Options{})
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	s, err := e.Open(t.Context(), engine.SessionOptions{Roots: []string{gateway.Root(harness.RemoteBucket)}, Scratch: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	log, list := table.Latest(), table.Listed()
	log.Location, list.Location = gateway.Root(harness.RemoteBucket)+"t", gateway.Root(harness.RemoteBucket)+"t"
	return s, map[string]engine.Source{"log": log, "list": list}
}

// hanging is a store whose operations wait for their context.
type hanging struct {
	objstore.Bucket
	off     atomic.Bool
	waiting atomic.Int32
}

func (h *hanging) wait(ctx context.Context) error {
	if h.off.Load() {
		return nil
	}
	h.waiting.Add(1)
	<-ctx.Done()
	return ctx.Err()
}

func (h *hanging) GetRange(ctx context.Context, name string, off, length int64) (io.ReadCloser, error) {
	if err := h.wait(ctx); err != nil {
		return nil, err
	}
	return h.Bucket.GetRange(ctx, name, off, length)
}

func TestRemoteStatementsEndWithTheirDeadline(t *testing.T) {
	const patience = 200 * time.Millisecond
	for _, way := range []string{"log", "list"} {
		for _, by := range []error{engine.ErrInterrupted, engine.ErrTimeout} {
			t.Run(way+" "+by.Error(), func(t *testing.T) {
				store := &hanging{}
				s, sources := onRemote(t, func(b objstore.Bucket) objstore.Bucket { store.Bucket = b; return store })
				ctx, st := t.Context(), harness.SumOf(sources[way])
				if errors.Is(by, engine.ErrTimeout) {
					st.Lease.Timeout = patience
				} else {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, patience)
					defer cancel()
				}
				start := time.Now()
				_, err := enginetest.TryRows(ctx, s, st)
				require.ErrorIs(t, err, by)
				require.Less(t, time.Since(start), time.Minute)
				require.False(t, s.Broken())
				if errors.Is(by, engine.ErrTimeout) {
					_, err = s.(engine.Writer).Write(t.Context(), engine.WriteStatement{Statement: st})
					require.ErrorIs(t, err, by, "a statement that writes files")
				}
				store.off.Store(true)
				require.Equal(t, []string{"1999000"}, enginetest.Rows(t, s, harness.SumOf(sources[way])), "the store has come back")
				files, err := s.(engine.Writer).Write(t.Context(), engine.WriteStatement{Statement: harness.SumOf(sources[way])})
				require.NoError(t, err)
				require.Len(t, files, 1)
			})
		}
	}
}

// A statement that is abandoned while a batch waits for the store does not wait
// along.
func TestRemoteResultIsClosedAtOnce(t *testing.T) {
	store := &hanging{}
	store.off.Store(true)
	// The files are larger than the part that is read together with the footer.
	s, sources := onRemoteRows(t, 1_000_000, func(b objstore.Bucket) objstore.Bucket { store.Bucket = b; return store })
	st := harness.SumOf(sources["list"])
	enginetest.Rows(t, s, engine.Statement{SQL: "SELECT 1 FROM " + sources["list"].Relation() + " LIMIT 0", Sources: st.Sources})
	store.off.Store(false)
	start := time.Now()
	done := make(chan error, 1)
	go func() {
		_, err := enginetest.TryRows(t.Context(), s, st)
		done <- err
	}()
	require.Eventually(t, func() bool { return store.waiting.Load() > 0 }, time.Minute, time.Millisecond)
	require.NoError(t, s.Close())
	require.ErrorIs(t, <-done, engine.ErrInterrupted)
	require.Less(t, time.Since(start), time.Minute)
}

func TestRemoteStoreFailsAtOnce(t *testing.T) {
	for _, way := range []string{"log", "list"} {
		for _, cause := range []error{objstore.ErrUnavailable, objstore.ErrDenied} {
			t.Run(way+" "+cause.Error(), func(t *testing.T) {
				s, sources := onRemote(t, func(b objstore.Bucket) objstore.Bucket {
					return objstore.NewFaults(b, objstore.Cut{Nth: 1, Forever: true, Err: cause})
				})
				start := time.Now()
				_, err := enginetest.TryRows(t.Context(), s, harness.SumOf(sources[way]))
				require.ErrorIs(t, err, cause)
				var failure *engine.Error
				require.ErrorAs(t, err, &failure)
				require.Equal(t, engine.KindIO, failure.Kind)
				require.Equal(t, gateway.ClassStore, failure.Class)
				require.Less(t, time.Since(start), time.Minute)
				_, err = s.(engine.Writer).Write(t.Context(), engine.WriteStatement{Statement: harness.SumOf(sources[way])})
				require.ErrorIs(t, err, cause)
				require.False(t, s.Broken())
			})
		}
	}
}
