package move_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
	"github.com/lakewarden/lakewarden/engine/objstore/objstoretest"
	"github.com/lakewarden/lakewarden/engine/storage/move"
)

var errKilled = errors.New("killed")

// finish runs a move to its end after an earlier run, as its owner does.
func finish(ctx context.Context, job move.Job, copied bool) error {
	if !copied {
		if _, err := job.Copy(ctx, true); err != nil {
			return err
		}
	}
	_, err := job.Delete(ctx)
	return err
}

// requireNothingLost checks that each object is in one of two buckets at least.
func requireNothingLost(tb testing.TB, want map[string]string, source, target objstore.Bucket) {
	tb.Helper()
	have := contentOf(tb, source)
	for name, content := range contentOf(tb, target) {
		if other, both := have[name]; both {
			require.Equal(tb, other, content, name)
		}
		have[name] = content
	}
	require.Equal(tb, want, have)
}

// TestAKillAtAnyRequestLosesNothing ends a move at each request to the source and to the target, before and after
// the request takes effect. Nothing is lost, and another run ends the move.
func TestAKillAtAnyRequestLosesNothing(t *testing.T) {
	ctx := context.Background()
	for _, side := range []string{"source", "target"} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, after=%v", side, after), func(t *testing.T) {
				for nth := 1; ; nth++ {
					source, target := fill(t, mem.New(), lake()), mem.New()
					faults := objstore.NewFaults(map[string]objstore.Bucket{"source": source, "target": target}[side],
						objstore.Cut{Nth: nth, After: after, Forever: true, Err: errKilled})
					job := move.Job{Source: source, Target: target, Parallel: 1 + nth%4}
					if side == "source" {
						job.Source = faults
					} else {
						job.Target = faults
					}
					_, err := job.Copy(ctx, false)
					copied := err == nil
					if copied {
						_, err = job.Delete(ctx)
					}
					if err == nil {
						require.Greater(t, nth, 50)
						return
					}
					require.ErrorIs(t, err, errKilled)
					requireNothingLost(t, lake(), source, target)
					if !copied {
						require.Equal(t, lake(), contentOf(t, source))
					}
					require.NoError(t, finish(ctx, move.Job{Source: source, Target: target}, copied), "request %d", nth)
					require.Empty(t, contentOf(t, source))
					require.Equal(t, lake(), contentOf(t, target))
				}
			})
		}
	}
}

// TestDiscardAfterKill ends a copy at each request to the target and a discard at each of its own:
// the source is untouched and the target empty in the end.
func TestDiscardAfterKill(t *testing.T) {
	ctx := context.Background()
	for nth := 1; ; nth += 3 {
		source, target := fill(t, mem.New(), lake()), mem.New()
		_, err := move.Job{Source: source, Target: objstore.NewFaults(target,
			objstore.Cut{Nth: nth, After: true, Forever: true, Err: errKilled})}.Copy(ctx, false)
		if err == nil {
			require.Greater(t, nth, 20)
			return
		}
		for kill := 1; ; kill += 2 {
			err := move.Job{Source: source, Target: objstore.NewFaults(target,
				objstore.Cut{Nth: kill, After: kill%4 == 1, Forever: true, Err: errKilled})}.Discard(ctx)
			if err == nil {
				break
			}
			require.ErrorIs(t, err, errKilled)
		}
		require.Empty(t, contentOf(t, target))
		require.Equal(t, lake(), contentOf(t, source))
	}
}

// TestFaultsThatPass lets single requests fail, as stores do: the reply to a write is lost, or the
// store is unavailable for a while.
func TestFaultsThatPass(t *testing.T) {
	for _, after := range []bool{false, true} {
		for nth := 1; nth < 120; nth++ {
			synctest.Test(t, func(t *testing.T) {
				ctx := context.Background()
				source, target := fill(t, mem.New(), lake()), mem.New()
				single := []objstore.Op{objstore.OpGet, objstore.OpStat, objstore.OpPut, objstore.OpPutIfAbsent, objstore.OpDelete}
				cut := objstore.Cut{Ops: single, Nth: nth, After: after}
				job := move.Job{Source: objstore.NewFaults(source, cut), Target: objstore.NewFaults(target, cut)}
				copied, err := job.Copy(ctx, false)
				require.NoError(t, err)
				require.Equal(t, sizeOf(lake()), copied)
				_, err = job.Delete(ctx)
				require.NoError(t, err)
				require.Empty(t, contentOf(t, source))
				require.Equal(t, lake(), contentOf(t, target))
			})
		}
	}
}

// intruder calls do before the nth request to a bucket.
type intruder struct {
	objstore.Bucket
	left int
	do   func()
}

func (i *intruder) match(string) bool {
	if i.left--; i.left == 0 {
		i.do()
	}
	return false
}

// TestForeignCommitsAreMovedOrKept lets another engine commit to the source at each point of a move: the
// move includes the commit, or ends and keeps it.
func TestForeignCommitsAreMovedOrKept(t *testing.T) {
	ctx := context.Background()
	foreign := map[string]string{"part-9": "foreign rows", log("", 5, ".json"): "foreign", log("", 5, ".checkpoint.parquet"): "foreign",
		"_delta_log/_last_checkpoint": `{"version":5}`}
	all := lake()
	maps.Copy(all, foreign)
	outcomes := map[string]int{}
	for _, side := range []string{"source", "target"} {
		for nth := 1; ; nth++ {
			source, target := mem.New(), mem.New()
			fill(t, source, lake())
			spy := &intruder{left: nth, do: func() {
				for _, name := range []string{"part-9", log("", 5, ".json"), log("", 5, ".checkpoint.parquet"), "_delta_log/_last_checkpoint"} {
					objstoretest.MustPut(t, source, name, foreign[name])
				}
			}}
			job := move.Job{Source: source, Target: target, Parallel: 1 + nth%4}
			if side == "source" {
				job.Source = objstore.NewFaults(source, objstore.Cut{Match: spy.match})
			} else {
				job.Target = objstore.NewFaults(target, objstore.Cut{Match: spy.match})
			}
			_, err := job.Copy(ctx, false)
			require.NoError(t, err)
			switch err := job.Changed(ctx); {
			case err != nil:
				require.ErrorIs(t, err, move.ErrSourceChanged)
				outcomes["changed"]++
				require.NoError(t, job.Discard(ctx))
				require.Empty(t, contentOf(t, target))
				require.Equal(t, all, contentOf(t, source))
				continue
			}
			switch _, err := job.Delete(ctx); {
			case err != nil:
				require.ErrorIs(t, err, move.ErrSourceChanged)
				outcomes["late"]++
				require.NotContains(t, contentOf(t, target), "part-9")
				left := contentOf(t, source)
				for name, content := range foreign {
					// The hint may be gone: it refers to files that are here.
					require.True(t, left[name] == content || strings.HasSuffix(name, "_last_checkpoint"), name)
				}
				moved := contentOf(t, target)
				for name, content := range lake() {
					if left[name] != content {
						require.Equal(t, content, moved[name])
					}
				}
				continue
			}
			if spy.left > 0 {
				require.Greater(t, nth, 50)
				break
			}
			if left := contentOf(t, source); len(left) > 0 {
				outcomes["after"]++ // the move had read the last listing
				require.Equal(t, foreign, left)
				require.Equal(t, lake(), contentOf(t, target))
				continue
			}
			outcomes["moved"]++
			require.Equal(t, all, contentOf(t, target))
		}
	}
	for _, outcome := range []string{"moved", "changed", "late"} {
		require.NotZero(t, outcomes[outcome], "%v", outcomes)
	}
}

// TestForeignObjectsAtTheTargetAreKept lets another engine create objects at the target at each point of
// a move that then fails, with names of the source: a move replaces and removes none of them.
func TestForeignObjectsAtTheTargetAreKept(t *testing.T) {
	ctx := context.Background()
	var outcomes [2]int
	for nth := 1; ; nth++ {
		source, target := fill(t, mem.New(), lake()), mem.New()
		foreign := map[string]string{}
		var failed error
		spy := &intruder{left: nth, do: func() {
			// Other requests of the move go on meanwhile, so the store decides who is first.
			for _, name := range []string{"part-0", log("", 2, ".checkpoint.parquet"), log("", 3, ".json"), log("", 4, ".crc")} {
				content := strings.ToUpper(lake()[name]) // as long as the source's
				err := target.PutIfAbsent(ctx, name, []byte(content))
				if err == nil {
					foreign[name] = content
				} else if !errors.Is(err, objstore.ErrExists) {
					failed = err
				}
			}
		}}
		job := move.Job{Source: source, Target: objstore.NewFaults(target, objstore.Cut{Match: spy.match}), Parallel: 1 + nth%4}
		_, err := job.Copy(ctx, false)
		require.NoError(t, failed)
		if len(foreign) > 0 {
			require.ErrorIs(t, err, move.ErrOccupied, "request %d", nth)
			outcomes[0]++
		} else {
			require.NoError(t, err)
			outcomes[1]++
		}
		require.NoError(t, job.Discard(ctx))
		require.Equal(t, foreign, contentOf(t, target), "request %d", nth)
		require.Equal(t, lake(), contentOf(t, source))
		if spy.left > 0 {
			break
		}
	}
	require.Greater(t, outcomes[0], 20)
	require.Greater(t, outcomes[1], 10)
}

// TestCopyGivesUpOnASourceThatKeepsChanging has an engine that commits faster than its commits are copied.
func TestCopyGivesUpOnASourceThatKeepsChanging(t *testing.T) {
	source := mem.New()
	fill(t, source, lake())
	version := 5
	endless := objstore.NewFaults(source, objstore.Cut{Ops: []objstore.Op{objstore.OpList}, Match: func(string) bool {
		objstoretest.MustPut(t, source, log("", version, ".json"), "more")
		version++
		return false
	}})
	_, err := move.Job{Source: endless, Target: mem.New(), Parallel: 1}.Copy(context.Background(), false)
	require.ErrorIs(t, err, move.ErrSourceChanged)
	require.Contains(t, err.Error(), "_delta_log")
}

// TestLogsCreatedDuringADeletionKeepTheData has another engine create a table over the data while the logs
// are deleted.
func TestLogsCreatedDuringADeletionKeepTheData(t *testing.T) {
	ctx := context.Background()
	source, target := fill(t, mem.New(), lake()), mem.New()
	late := log("", 0, ".json")
	spy := &intruder{left: 1, do: func() { objstoretest.MustPut(t, source, "new/"+late, "commit") }}
	watched := objstore.NewFaults(source, objstore.Cut{Ops: []objstore.Op{objstore.OpDelete}, Match: func(name string) bool {
		return spy.match(name)
	}})
	job := move.Job{Source: watched, Target: target, Parallel: 1}
	_, err := job.Copy(ctx, false)
	require.NoError(t, err)
	_, err = job.Delete(ctx)
	require.ErrorIs(t, err, move.ErrSourceChanged)
	left := contentOf(t, source)
	require.Equal(t, "rows", left["part-0"])
	require.Equal(t, "commit", left["new/"+late])
}

// TestListingsShowDamagedCopies has a store with checksums that damages an object after it has confirmed
// another: copies are then verified by the next listing.
func TestListingsShowDamagedCopies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := fill(t, mem.New(), lake())
		damaging := &summing{damager{Bucket: mem.New(), name: "part-1", left: 1}}
		_, err := move.Job{Source: source, Target: damaging, Parallel: 1}.Copy(context.Background(), false)
		require.NoError(t, err, "copied again")
		require.Zero(t, damaging.left)
		require.Equal(t, lake(), contentOf(t, damaging.Bucket))
	})
}

// TestLargeDamagedCopiesAreRead has a store with checksums of small objects only, as of those that it
// does not receive in parts.
func TestLargeDamagedCopiesAreRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		content := lake()
		content["part-large"] = strings.Repeat("0123456789abcdef", 9<<16)
		source := fill(t, mem.New(), content)
		damaging := &small{summing{damager{Bucket: mem.New(), name: "part-large", left: 1}}}
		_, err := move.Job{Source: source, Target: damaging, Parallel: 1}.Copy(context.Background(), false)
		require.NoError(t, err, "copied again")
		require.Zero(t, damaging.left)
		require.True(t, maps.Equal(content, contentOf(t, damaging.Bucket)))
	})
}

// TestDamagedCopiesAreReplacedExceptCommits has a store that damages what it stores.
func TestDamagedCopiesAreReplacedExceptCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, name := range []string{"part-0", log("", 1, ".json")} {
			damaging := &damager{Bucket: mem.New(), name: name, left: 1}
			source := fill(t, mem.New(), lake())
			_, err := move.Job{Source: source, Target: damaging}.Copy(context.Background(), false)
			if name == "part-0" {
				require.NoError(t, err, "copied again")
				require.Equal(t, lake(), contentOf(t, damaging.Bucket))
			} else {
				require.ErrorIs(t, err, move.ErrOccupied, "a commit is never replaced")
			}
			damaging = &damager{Bucket: mem.New(), name: name, left: 100}
			_, err = move.Job{Source: source, Target: damaging}.Copy(context.Background(), false)
			require.Error(t, err)
			require.Equal(t, name == "part-0", errors.Is(err, move.ErrDamaged))
		}
	})
}

// TestMoves moves random trees, with kills at random points.
func TestMoves(t *testing.T) {
	segment := rapid.SampledFrom([]string{"a", "a-", "a.b", "b", "é", "_delta_log", "00000000000000000001.json",
		"00000000000000000002.json", "00000000000000000001.checkpoint.parquet", "_last_checkpoint", "_sidecars"})
	name := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(segment, 1, 4).Draw(t, "segments"), "/")
	})
	rapid.Check(t, func(rt *rapid.T) {
		ctx := context.Background()
		content := rapid.MapOfN(name, rapid.StringMatching(`[a-z]{0,3}`), 1, 30).Draw(rt, "content")
		source, target := mem.New(), mem.New()
		for n, text := range content {
			require.NoError(rt, source.Put(ctx, n, strings.NewReader(text), int64(len(text))))
		}
		run := func(step func(move.Job) error) {
			for {
				kill := func(label string) objstore.Cut {
					return objstore.Cut{Nth: rapid.IntRange(1, 80).Draw(rt, label), After: rapid.Bool().Draw(rt, "after"), Forever: true, Err: errKilled}
				}
				job := move.Job{Parallel: rapid.IntRange(1, 5).Draw(rt, "parallel"),
					Source: objstore.NewFaults(source, kill("source")), Target: objstore.NewFaults(target, kill("target"))}
				if rapid.IntRange(0, 3).Draw(rt, "healthy") == 0 {
					job.Source, job.Target = source, target
				}
				err := step(job)
				if err == nil {
					return
				}
				require.ErrorIs(rt, err, errKilled)
			}
		}
		resume := false
		run(func(j move.Job) error {
			_, err := j.Copy(ctx, resume)
			resume = true
			return err
		})
		if rapid.Bool().Draw(rt, "discard") {
			run(func(j move.Job) error { return j.Discard(ctx) })
			source, target = target, source
		} else {
			run(func(j move.Job) error { _, err := j.Delete(ctx); return err })
		}
		for object, err := range source.List(ctx, "", objstore.ListOptions{}) {
			require.NoError(rt, err)
			require.Empty(rt, object.Name)
		}
		found := map[string]string{}
		for _, n := range slices.Sorted(maps.Keys(content)) {
			found[n] = objstoretest.MustGet(t, target, n)
		}
		require.Equal(rt, content, found)
	})
}

func TestStepsReturnTheErrorOfTheirContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	source, target := fill(t, mem.New(), lake()), mem.New()
	job := move.Job{Source: source, Target: target, Parallel: 2, Progress: func(c move.Count) {
		if c.Objects == 5 {
			cancel()
		}
	}}
	_, err := job.Copy(ctx, false)
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, len(contentOf(t, target)), len(lake()))
	for _, step := range []func() error{
		func() error { _, err := job.Measure(ctx); return err },
		func() error { return job.Vacant(ctx) },
		func() error { return job.Changed(ctx) },
		func() error { _, err := job.Delete(ctx); return err },
		func() error { return job.Discard(ctx) },
	} {
		require.ErrorIs(t, step(), context.Canceled)
	}
	require.Equal(t, lake(), contentOf(t, source))
}

// copier is a store that copies objects itself: the first copy of an object ends with err.
type copier struct {
	*mem.Bucket
	err error
	// lands reports that the first copy takes effect, and damages that it has another content.
	lands, damages bool
	begun          map[string]bool
}

func (c *copier) CopyFrom(ctx context.Context, source objstore.Bucket, from objstore.Object, name string) (bool, error) {
	if c.begun[name] {
		return false, errors.New("copied twice, though the name was not known to be free")
	}
	c.begun[name] = true
	body, err := source.Get(ctx, from.Name)
	if err != nil {
		return false, err
	}
	content, err := io.ReadAll(body)
	if err != nil {
		return false, err
	}
	if c.damages && len(content) > 0 {
		content[0] ^= 1
	}
	if c.lands {
		err = c.Put(ctx, name, bytes.NewReader(content), int64(len(content)))
	}
	return err == nil && c.err == nil, errors.Join(err, c.err)
}

// TestCopiesInsideAStore lets each copy that a store makes itself end in one way.
func TestCopiesInsideAStore(t *testing.T) {
	for _, store := range []copier{
		{lands: true},
		{lands: true, damages: true},
		{lands: true, err: objstore.ErrUnknown},
		{lands: true, err: objstore.ErrExists}, // a request of an earlier run took effect
		{err: objstore.ErrUnknown},
		{err: objstore.ErrUnavailable},
		{err: objstore.ErrDenied}, // the target's credential may not read the source
	} {
		synctest.Test(t, func(t *testing.T) {
			source := fill(t, mem.New(), lake())
			store.Bucket, store.begun = mem.New(), map[string]bool{}
			// Copies are recorded without a lock.
			copied, err := move.Job{Source: source, Target: &store, Parallel: 1}.Copy(context.Background(), false)
			require.NoError(t, err)
			require.Equal(t, sizeOf(lake()), copied)
			require.Equal(t, lake(), contentOf(t, &store))
			require.Contains(t, store.begun, "part-0")
			require.NotContains(t, store.begun, log("", 0, ".json"), "commits are created by PutIfAbsent")
		})
	}
}

// TestObjectsDeletedDuringACopyAreSkipped deletes objects of the source while they are copied, as a vacuum of another
// engine does: they are not part of the move.
func TestObjectsDeletedDuringACopyAreSkipped(t *testing.T) {
	ctx := context.Background()
	for _, name := range []string{"part-0", log("", 0, ".json"), log("", 2, ".checkpoint.parquet")} {
		source, target := mem.New(), mem.New()
		fill(t, source, lake())
		spy := &intruder{left: 1, do: func() { require.NoError(t, source.Delete(ctx, name)) }}
		vanishing := objstore.NewFaults(source, objstore.Cut{Ops: []objstore.Op{objstore.OpGet, objstore.OpStat},
			Match: func(requested string) bool { return requested == name && spy.match(name) }})
		job := move.Job{Source: vanishing, Target: target}
		_, err := job.Copy(ctx, false)
		require.NoError(t, err)
		want := lake()
		delete(want, name)
		require.Equal(t, want, contentOf(t, target))
		_, err = job.Delete(ctx)
		require.NoError(t, err)
		require.Empty(t, contentOf(t, source))
	}
}
