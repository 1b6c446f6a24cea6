package delta_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
	"github.com/lakewarden/lakewarden/engine/oracletest"
)

// lateOptions make every commit perform all possible steps: every version gets a
// checkpoint, and the clock is so late that the log is cleaned up to it.
func lateOptions(t *testing.T) delta.Options {
	opts := testOptions(t)
	opts.Clock = func() time.Time { return time.Now().Add(100 * aDay) }
	opts.Warn = func(context.Context, delta.Warning) {}
	return opts
}

// withEveryCheckpoint sets the checkpoint interval of twoFiles to every version.
func withEveryCheckpoint(commits []string) []string {
	return []string{
		strings.Replace(commits[0], `"configuration":{`, `"configuration":{"delta.checkpointInterval":"1",`, 1),
		commits[1],
	}
}

// cutsAt returns the ways in which request n can fail.
func cutsAt(n int) map[string]objstore.Cut {
	cuts := map[string]objstore.Cut{
		"refused":              {Nth: n},
		"reply lost":           {Nth: n, After: true},
		"may have arrived":     {Nth: n, Err: objstore.ErrUnknown},
		"killed before":        {Nth: n, Forever: true},
		"killed after":         {Nth: n, After: true, Forever: true},
		"killed, not knowing":  {Nth: n, Err: objstore.ErrUnknown, Forever: true},
		"exists, says a proxy": {Nth: n, After: true, Err: objstore.ErrExists, Ops: commitOps},
	}
	if raced { // each way at every second request
		for i, name := range slices.Sorted(maps.Keys(cuts)) {
			if (i+n)%2 == 0 {
				delete(cuts, name)
			}
		}
	}
	return cuts
}

// checkCut checks a table after a commit that was interrupted. It must read, from
// commits and from the checkpoint, as before or after the commit, in accordance with
// the commit's error.
func checkCut(t *testing.T, name string, b objstore.Bucket, lost error, before, after []string) {
	t.Helper()
	opts := lateOptions(t)
	opts.NoCheckpoints = true
	s, err := delta.Load(t.Context(), b, opts)
	require.NoError(t, err, name)
	live := fileNames(s)
	var u *delta.UnknownError
	switch {
	case lost == nil:
		require.Equal(t, after, live, name)
	case errors.As(lost, &u):
		landed, err := delta.LookupCommit(t.Context(), b, u.Version, u.TxnID)
		require.NoError(t, err, name)
		if landed {
			require.Equal(t, after, live, name)
		} else {
			require.Equal(t, before, live, name)
		}
	default:
		require.Equal(t, before, live, name)
	}
	checkDerived(t, name, b, s)
	txn := s.Begin(delta.Operation{Name: "WRITE", Duties: []delta.Duty{delta.EvaluatesChecks}})
	require.NoError(t, txn.Add(delta.AddFile{Name: "next", Size: 1, ModTime: time.Unix(1, 0), PartitionValues: emptyPartition(s)}), name)
	s, err = txn.Commit(t.Context())
	require.NoError(t, err, name)
	require.Len(t, fileNames(s), len(live)+1, name)
}

func emptyPartition(s *delta.Snapshot) map[string]*string {
	values := map[string]*string{}
	for _, column := range s.PartitionColumns() {
		values[column] = nil
	}
	return values
}

// checkDerived compares the checkpoint and checksum of a version, if they exist, with
// its commits.
func checkDerived(t *testing.T, name string, b objstore.Bucket, s *delta.Snapshot) {
	t.Helper()
	if r, err := b.Get(t.Context(), logpath.ChecksumName(s.Version())); err == nil {
		var sum struct{ TableSizeBytes, NumFiles, NumMetadata, NumProtocol int64 }
		require.NoError(t, errors.Join(json.NewDecoder(r).Decode(&sum), r.Close()), name)
		require.Equal(t, [4]int64{s.TotalBytes(), int64(s.NumFiles()), 1, 1},
			[4]int64{sum.TableSizeBytes, sum.NumFiles, sum.NumMetadata, sum.NumProtocol}, name)
	}
	plain := mem.New()
	for v := range s.Version() + 1 {
		if _, err := b.Stat(t.Context(), logpath.CommitName(v)); err != nil {
			return // cleaned up: the checkpoint is all there is
		}
		body := contentOf(t, b, logpath.CommitName(v))
		require.NoError(t, plain.Put(t.Context(), logpath.CommitName(v), bytes.NewReader([]byte(body)), int64(len(body))))
	}
	byCommits, err := delta.Load(t.Context(), plain, delta.Options{})
	require.NoError(t, err, name)
	require.Equal(t, viewOf(byCommits), viewOf(s), name)
}

// TestEveryCutOfEveryCommit interrupts every request of every kind of commit in every
// way. The commit must be atomic, its error must state the outcome or that it is
// unknown, and the table must remain readable and writable.
func TestEveryCutOfEveryCommit(t *testing.T) {
	for _, m := range []struct {
		partitioned bool
		winner      string
	}{{false, ""}, {true, "append_elsewhere"}} {
		commits := withEveryCheckpoint(twoFiles(t, m.partitioned, "Serializable"))
		for _, o := range operations {
			if m.winner != "" && o.name != "update" && o.name != "optimize" {
				continue // the others are cut where they rebase just so
			}
			if strings.HasSuffix(o.name, "_elsewhere") {
				continue // as the same on the other file
			}
			t.Run(o.name+" after "+m.winner, func(t *testing.T) {
				t.Parallel()
				p := pair{commits: commits, loser: o}
				for _, w := range operations {
					if w.name == m.winner {
						p.winner = w
					}
				}
				p.cutEverywhere(t)
			})
		}
	}
}

// relay is a bucket whose store can be replaced by a failing one.
type relay struct{ objstore.Bucket }

// cutEverywhere runs the pair once for each request and each way to interrupt it.
func (p pair) cutEverywhere(t *testing.T) {
	before := p.winner.apply([]string{"A", "B"}, "w")
	after := p.loser.apply(before, "l")
	for n, total := 1, 1; n <= total; n++ {
		for name, cut := range cutsAt(n) {
			name = fmt.Sprintf("request %d %s", n, name)
			b := mem.New()
			mustLog(t, b, p.commits...)
			opts := lateOptions(t)
			opts.NoCheckpoints = true
			s, err := delta.Load(t.Context(), b, opts)
			require.NoError(t, err)
			opts.NoCheckpoints, opts.Attempts = false, 3
			way := &relay{b}
			base, err := delta.Load(t.Context(), way, opts)
			require.NoError(t, err)
			txn := p.loser.begin(t, base, "l")
			faults := objstore.NewFaults(b, cut)
			way.Bucket = faults
			if p.winner.name != "" {
				_, err = p.winner.begin(t, s, "w").Commit(t.Context())
				require.NoError(t, err)
			}
			_, lost := txn.Commit(t.Context())
			total = max(total, faults.Count())
			checkCut(t, name, b, lost, before, after)
		}
	}
}

// TestDeltaRsReadsTablesAfterCuts checks that delta-rs and this package agree on tables
// after interrupted commits.
func TestDeltaRsReadsTablesAfterCuts(t *testing.T) {
	oracletest.Python(t)
	root := t.TempDir()
	commits := withEveryCheckpoint(twoFiles(t, false, "Serializable"))
	var update operation
	for _, o := range operations {
		if o.name == "update" {
			update = o
		}
	}
	want := map[string][]string{}
	for n, total := 1, 1; n <= total; n++ {
		for name, cut := range cutsAt(n) {
			dir := filepath.Join(root, fmt.Sprintf("%d %s", n, strings.ReplaceAll(name, ",", "")))
			b := mem.New()
			for _, name := range []string{"A", "B", "A1l"} {
				mustPut(t, b, name, "x")
			}
			mustLog(t, b, commits...)
			way := &relay{b}
			s, err := delta.Load(t.Context(), way, lateOptions(t))
			require.NoError(t, err)
			faults := objstore.NewFaults(b, cut)
			way.Bucket = faults
			_, _ = update.begin(t, s, "l").Commit(t.Context())
			total = max(total, faults.Count())
			s, err = delta.Load(t.Context(), b, delta.Options{})
			require.NoError(t, err)
			want[filepath.Base(dir)] = fileNames(s)
			copyOut(t, b, dir)
		}
	}
	got := runPython[map[string][]string](t, root, `
say({d: files(DeltaTable(os.path.join(path, d))) for d in os.listdir(path)})`)
	require.Equal(t, want, got)
}

// copyOut writes the objects of a bucket to files.
func copyOut(t *testing.T, b objstore.Bucket, dir string) {
	t.Helper()
	for o, err := range b.List(t.Context(), "", objstore.ListOptions{}) {
		require.NoError(t, err)
		name := filepath.Join(dir, o.Name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(contentOf(t, b, o.Name)), 0o644))
	}
}
