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

	const writers = 4
	enough, outcomes := make(chan struct{}), make(chan error, writers)
	told := map[string]error{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for w := range writers {
		bucket := r.at(t, proxy.Listen, steady)
		all.Go(func() {
			for i := 0; ; i++ {
				file := fmt.Sprintf("w%d-%d.parquet", w, i)
				err := appendFile(t.Context(), bucket, file)
				mu.Lock()
				told[file] = err
				mu.Unlock()
				select {
				case outcomes <- err:
				case <-enough:
					return
				}
			}
		})
	}
	disturb(proxy, outcomes)
	close(enough)
	all.Wait()

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
	for file, err := range told {
		switch {
		case err == nil:
			require.Equal(t, 1, count[file], "%s was acknowledged", file)
		case errors.Is(err, delta.ErrCommitUnknown), errors.Is(err, objstore.ErrUnknown):
			require.LessOrEqual(t, count[file], 1, file)
		default:
			require.Zero(t, count[file], "%s failed: %v", file, err)
		}
	}
	t.Log(len(told), "outcomes,", version-1, "versions")
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

// disturb heals and breaks the network in turns. A turn ends with an outcome that shows it: a commit,
// or an append that fails, while the other writers are in the middle of theirs.
func disturb(proxy *networktest.Proxy, outcomes <-chan error) {
	for range 3 {
		for _, d := range disturbances {
			if d.silent {
				continue
			}
			for <-outcomes != nil {
			}
			proxy.Disturb(d.kind, d.upstream, d.attributes)
			for <-outcomes == nil {
			}
			proxy.Heal()
		}
	}
}
