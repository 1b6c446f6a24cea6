package networktest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/networktest"
)

// TestCommitsThroughABrokenNetwork: several writers commit to one Delta table while the network
// loses requests and replies. The reported outcomes are true: a successful commit is in the log
// once, a failed one is not, and only after an unknown outcome are both possible.
func TestCommitsThroughABrokenNetwork(t *testing.T) {
	each(t, func(t *testing.T, start func(*testing.T) root) { commits(t, start(t)) })
}

func commits(t *testing.T, r root) {
	proxy, direct := networktest.Start(t, r.address), r.direct(t)
	schema := delta.Struct{Fields: []delta.Field{{Name: "id", Type: delta.Long, Nullable: true}}}
	_, err := delta.Create(t.Context(), direct, delta.CreateOptions{Schema: schema})
	require.NoError(t, err)

	stop := disturb(t, proxy)
	const writers, each = 4, 12
	var mu sync.Mutex
	told := map[string]error{}
	var all sync.WaitGroup
	for w := range writers {
		bucket := r.at(t, proxy.Listen, quick)
		all.Go(func() {
			for i := range each {
				file := fmt.Sprintf("w%d-%d.parquet", w, i)
				err := appendFile(t.Context(), bucket, file)
				mu.Lock()
				told[file] = err
				mu.Unlock()
			}
		})
	}
	all.Wait()
	stop()

	count := map[string]int{}
	version := int64(1)
	for ; ; version++ {
		body, err := direct.Get(t.Context(), logpath.CommitName(version))
		if errors.Is(err, objstore.ErrNotFound) {
			break
		}
		require.NoError(t, err)
		content, err := io.ReadAll(body)
		require.NoError(t, err)
		require.NoError(t, body.Close())
		for file := range told {
			count[file] += strings.Count(string(content), `"`+file+`"`)
		}
	}
	outcomes := map[string]int{}
	for file, err := range told {
		switch {
		case err == nil:
			outcomes["committed"]++
			require.Equal(t, 1, count[file], "%s was acknowledged", file)
		case errors.Is(err, delta.ErrCommitUnknown), errors.Is(err, objstore.ErrUnknown):
			outcomes["unknown"]++
			require.LessOrEqual(t, count[file], 1, file)
		default:
			outcomes["failed"]++
			require.Zero(t, count[file], "%s failed: %v", file, err)
		}
	}
	t.Log(outcomes, "versions", version-1)
	require.NotZero(t, outcomes["committed"], "the network was broken some of the time only")
	require.NotZero(t, outcomes["failed"]+outcomes["unknown"], "the network was broken at all")
	_, err = delta.Load(t.Context(), direct, delta.Options{})
	require.NoError(t, err)
}

func appendFile(ctx context.Context, bucket objstore.Bucket, file string) error {
	opts := delta.Options{Attempts: 100}
	snap, err := delta.Load(ctx, bucket, opts)
	if err != nil {
		return err
	}
	txn := snap.Begin(delta.Operation{Name: "WRITE"})
	if err := txn.Add(delta.AddFile{Name: file, Size: 1, ModTime: time.Unix(1, 0)}); err != nil {
		return err
	}
	_, err = txn.Commit(ctx)
	return err
}

// disturb breaks the network in turns until stop is called.
func disturb(t *testing.T, proxy *networktest.Proxy) (stop func()) {
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(30 * time.Millisecond)
		defer tick.Stop()
		for turn := 0; ; turn++ {
			select {
			case <-ended:
				return
			case <-tick.C:
			}
			proxy.Heal()
			switch turn % 8 {
			case 1:
				proxy.Disturb("reset_peer", false, map[string]any{"timeout": 0})
			case 3:
				proxy.Disturb("limit_data", false, map[string]any{"bytes": 0})
			case 5:
				proxy.Disturb("limit_data", true, map[string]any{"bytes": 700})
			}
		}
	}()
	return func() {
		close(ended)
		<-done
		proxy.Heal()
	}
}
