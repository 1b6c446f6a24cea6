package delta_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

// scenario creates a table and appends to it, with checkpoints. It returns which
// appends were acknowledged, which were refused, and which have an unknown outcome.
func scenario(t *testing.T, b objstore.Bucket) (acked, refused []string, unknown map[string]*delta.UnknownError) {
	opts := testOptions(t)
	opts.Warn = func(context.Context, delta.Warning) {}
	opts.Attempts = 4
	unknown = map[string]*delta.UnknownError{}
	s, err := delta.Create(t.Context(), b, delta.CreateOptions{
		Schema: twoColumns, Properties: map[string]string{"delta.checkpointInterval": "2"}, Options: opts,
	})
	if err != nil {
		return nil, nil, unknown
	}
	for i := range 5 {
		name := fmt.Sprintf("f%d.parquet", i)
		txn := s.Begin(delta.Operation{Name: "WRITE"})
		require.NoError(t, txn.Add(delta.AddFile{Name: name, Size: 7, ModTime: time.Unix(1, 0)}))
		next, err := txn.Commit(t.Context())
		var u *delta.UnknownError
		switch {
		case err == nil:
			acked = append(acked, name)
			s = next
		case errors.As(err, &u):
			unknown[name] = u
		default:
			refused = append(refused, name)
		}
		if i == 2 {
			if fresh, err := s.Refresh(t.Context()); err == nil {
				s = fresh
			}
		}
	}
	return acked, refused, unknown
}

// TestEveryCut interrupts every request in every way. Acknowledged appends must be in
// the table once and refused ones must not; the outcome of the others must be found by
// their ids.
func TestEveryCut(t *testing.T) {
	t.Parallel()
	calm := objstore.NewFaults(mem.New())
	acked, _, _ := scenario(t, calm)
	require.Len(t, acked, 5)
	total := calm.Count()
	for n := 1; n <= total; n++ {
		for _, cut := range []objstore.Cut{{Nth: n}, {Nth: n, After: true}, {Nth: n, Forever: true}, {Nth: n, After: true, Forever: true},
			{Nth: n, Err: objstore.ErrUnknown}} {
			name := fmt.Sprintf("request %d after=%v forever=%v err=%v", n, cut.After, cut.Forever, cut.Err)
			inner := mem.New()
			acked, refused, unknown := scenario(t, objstore.NewFaults(inner, cut))
			s, err := delta.Load(t.Context(), inner, delta.Options{})
			if errors.Is(err, delta.ErrTableNotFound) {
				require.Empty(t, acked, name)
				continue
			}
			require.NoError(t, err, name)
			live := map[string]bool{}
			for f := range s.Files() {
				live[f.Name] = true
			}
			for _, f := range acked {
				require.True(t, live[f], "%s: %s was acknowledged", name, f)
			}
			for _, f := range refused {
				require.False(t, live[f], "%s: %s was refused", name, f)
			}
			for f, u := range unknown {
				landed, err := delta.LookupCommit(t.Context(), inner, u.Version, u.TxnID)
				require.NoError(t, err, name)
				require.Equal(t, landed, live[f], "%s: %s", name, f)
			}
			require.EqualValues(t, len(live), s.Version(), "%s: one version for each live file", name)
			for v := range s.Version() + 1 {
				_, err := inner.Stat(t.Context(), logpath.CommitName(v))
				require.NoError(t, err, name)
			}
		}
	}
}

// flaky publishes like a client whose first response is lost: it repeats the request
// and finds its own object.
type flaky struct{ objstore.Bucket }

func (f flaky) PutIfAbsent(ctx context.Context, name string, body []byte) error {
	if err := f.Bucket.PutIfAbsent(ctx, name, body); err != nil {
		return err
	}
	return fmt.Errorf("second request: %w", objstore.ErrExists)
}

func TestOwnCommitIsNoConflict(t *testing.T) {
	b := mem.New()
	s := mustCreate(t, flaky{b}, delta.CreateOptions{})
	for i := range int64(3) {
		s = mustAppend(t, s, i)
	}
	require.EqualValues(t, 3, s.Version())
	require.Equal(t, 3, s.NumFiles())
}

// late publishes some time after the response was lost.
type late struct {
	objstore.Bucket
	cancel context.CancelFunc
	later  func()
}

func (l *late) Publish(_ context.Context, version int64, body []byte) error {
	l.later = func() { _ = l.PutIfAbsent(context.Background(), logpath.CommitName(version), body) }
	l.cancel()
	return context.Canceled
}

func TestCommitThatMaySucceedLaterIsUnknown(t *testing.T) {
	b := mem.New()
	opts := testOptions(t)
	mustCreate(t, b, delta.CreateOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := &late{Bucket: b, cancel: cancel}
	opts.Committer = l
	s, err := delta.Load(t.Context(), b, opts)
	require.NoError(t, err)
	txn := s.Begin(delta.Operation{Name: "WRITE"})
	require.NoError(t, txn.Add(mustWrite(t, b, 1)))
	_, err = txn.Commit(ctx)
	var u *delta.UnknownError
	require.ErrorAs(t, err, &u)
	require.ErrorIs(t, err, delta.ErrCommitUnknown)
	require.NotErrorIs(t, err, delta.ErrConflict)
	landed, err := delta.LookupCommit(t.Context(), b, u.Version, u.TxnID)
	require.NoError(t, err)
	require.False(t, landed)
	l.later()
	landed, err = delta.LookupCommit(t.Context(), b, u.Version, u.TxnID)
	require.NoError(t, err)
	require.True(t, landed)
}

func TestFailuresAfterTheCommitAreWarnings(t *testing.T) {
	inner := mem.New()
	b := objstore.NewFaults(inner,
		objstore.Cut{Nth: 1, Forever: true, Ops: []objstore.Op{objstore.OpPut}},
		objstore.Cut{Nth: 1, Forever: true, Match: func(n string) bool { return logpath.Parse(n).Kind == logpath.Checksum }})
	steps := map[string]int{}
	opts := testOptions(t)
	opts.Warn = func(_ context.Context, w delta.Warning) { steps[w.Step]++ }
	s := mustCreate(t, b, delta.CreateOptions{Options: opts, Properties: map[string]string{"delta.checkpointInterval": "1"}})
	txn := s.Begin(delta.Operation{Name: "WRITE"})
	require.NoError(t, txn.Add(delta.AddFile{Name: "f", Size: 1}))
	s, err := txn.Commit(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, s.Version())
	require.Equal(t, map[string]int{"checksum": 2, "checkpoint": 1}, steps)
}
