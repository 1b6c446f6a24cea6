package delta_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

func buckets(t *testing.T) map[string]objstore.Bucket {
	b, _ := fileBucket(t)
	return map[string]objstore.Bucket{"mem": mem.New(), "file": b}
}

func TestConcurrentAppenders(t *testing.T) {
	const writers, each = 6, 8
	for name, b := range buckets(t) {
		t.Run(name, func(t *testing.T) {
			opts := testOptions(t)
			opts.Attempts = 1000
			start := mustCreate(t, b, delta.CreateOptions{Options: opts})
			var mu sync.Mutex
			at := map[int64]string{} // version -> file that its writer was told
			var wg sync.WaitGroup
			for w := range writers {
				wg.Go(func() {
					s := start
					for i := range each {
						file := fmt.Sprintf("w%d-%d.parquet", w, i)
						txn := s.Begin(delta.Operation{Name: "WRITE"})
						err := txn.Add(delta.AddFile{Name: file, Size: 1, ModTime: time.Unix(1, 0), Stats: `{"numRecords":1}`})
						if err == nil {
							s, err = txn.Commit(t.Context())
						}
						if err != nil {
							t.Errorf("%s: %v", file, err)
							return
						}
						mu.Lock()
						at[s.Version()] = file
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			require.Len(t, at, writers*each, "every version has one writer")
			final, err := start.Refresh(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, writers*each, final.Version())
			loaded, err := delta.Load(t.Context(), b, testOptions(t))
			require.NoError(t, err)
			require.Equal(t, viewOf(final), viewOf(loaded))
			live := map[string]bool{}
			for f := range final.Files() {
				live[f.Name] = true
			}
			for v := int64(1); v <= final.Version(); v++ {
				require.True(t, live[at[v]], "version %d", v)
			}
		})
	}
}

func TestOneCreatorWins(t *testing.T) {
	for name, b := range buckets(t) {
		t.Run(name, func(t *testing.T) {
			var wg sync.WaitGroup
			ids := make(chan string, 8)
			for range 8 {
				wg.Go(func() {
					s, err := delta.Create(t.Context(), b, delta.CreateOptions{Schema: twoColumns})
					if err == nil {
						ids <- s.TableID()
					} else if !errors.Is(err, delta.ErrTableExists) {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			require.Len(t, ids, 1)
			s, err := delta.Load(t.Context(), b, delta.Options{})
			require.NoError(t, err)
			require.Equal(t, <-ids, s.TableID())
		})
	}
}

func TestConflicts(t *testing.T) {
	b := mem.New()
	base := mustAppend(t, mustCreate(t, b, delta.CreateOptions{}), 1)
	var first delta.File
	for f := range base.Files() {
		first = f
	}
	begin := func() *delta.Txn { return base.Begin(delta.Operation{Name: "X"}) }
	deleting := func(f delta.File) *delta.Txn {
		txn := begin()
		require.NoError(t, txn.Remove(false, f))
		return txn
	}
	loser, reader, blind := deleting(first), begin(), begin()
	reader.ReadWholeTable()
	require.NoError(t, reader.Add(mustWrite(t, b, 5)))
	require.NoError(t, blind.Add(mustWrite(t, b, 6)))
	sameApp := begin()
	sameApp.SetTransaction("app", 1)

	after, err := deleting(first).Commit(t.Context())
	require.NoError(t, err)
	require.Zero(t, after.NumFiles())
	winner := after.Begin(delta.Operation{Name: "TXN"})
	winner.SetTransaction("app", 1)
	_, err = winner.Commit(t.Context())
	require.NoError(t, err)

	_, err = loser.Commit(t.Context())
	require.ErrorIs(t, err, delta.ErrConcurrentDeleteDelete)
	_, err = reader.Commit(t.Context())
	require.ErrorIs(t, err, delta.ErrConcurrentDeleteRead)
	_, err = sameApp.Commit(t.Context())
	require.ErrorIs(t, err, delta.ErrConcurrentTransaction)
	require.NotErrorIs(t, err, delta.ErrConflict)
	_, err = sameApp.Commit(t.Context())
	require.ErrorIs(t, err, delta.ErrInvalidTxn, "a transaction is used once")
	s, err := blind.Commit(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, s.NumFiles())
	require.EqualValues(t, 4, s.Version())

	meta := begin()
	changed := base.Metadata()
	changed.Configuration = map[string]string{"a": "b"}
	meta.SetMetadata(changed)
	_, err = meta.Commit(t.Context())
	require.ErrorIs(t, err, delta.ErrConcurrentAppend)
}

// racer lets another writer win a number of races.
type racer struct {
	objstore.Bucket
	lose func(version int64)
	n    int
}

func (r *racer) Publish(ctx context.Context, version int64, body []byte) error {
	if r.n > 0 {
		r.n--
		r.lose(version)
	}
	return r.PutIfAbsent(ctx, logpath.CommitName(version), body)
}

func TestInCommitTimestampsAreNewOnRetry(t *testing.T) {
	b := mem.New()
	props := map[string]string{"delta.enableInCommitTimestamps": "true"}
	opts := testOptions(t)
	future := time.Date(2050, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	opts.Committer = &racer{Bucket: b, n: 0}
	s := mustCreate(t, b, delta.CreateOptions{Properties: props, Options: opts})
	opts.Committer.(*racer).n = 1
	opts.Committer.(*racer).lose = func(version int64) {
		mustPut(t, b, logpath.CommitName(version), fmt.Sprintf(`{"commitInfo":{"inCommitTimestamp":%d,"isBlindAppend":true}}`, future))
	}
	s = mustAppend(t, s, 1)
	require.EqualValues(t, 2, s.Version())
	require.Equal(t, future+1, s.Timestamp().UnixMilli())
}

func TestAttemptsAreBounded(t *testing.T) {
	b := mem.New()
	opts := testOptions(t)
	opts.Attempts = 3
	r := &racer{Bucket: b}
	r.lose = func(version int64) { mustPut(t, b, logpath.CommitName(version), `{"commitInfo":{}}`) }
	opts.Committer = r
	s := mustCreate(t, b, delta.CreateOptions{Options: opts})
	r.n = 100
	txn := s.Begin(delta.Operation{Name: "WRITE"})
	require.NoError(t, txn.Add(mustWrite(t, b, 1)))
	_, err := txn.Commit(t.Context())
	require.ErrorIs(t, err, delta.ErrContention)
	require.ErrorIs(t, err, delta.ErrConflict)
	require.Equal(t, 97, r.n)
}
