package enginetest

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
)

// prompt is the maximum time until an interrupt takes effect.
const prompt = 500 * time.Millisecond

func (s suite) stream(t *testing.T) {
	t.Run("FirstBatchBeforeTheEnd", func(t *testing.T) {
		session := s.open(t)
		r, err := session.Query(context.Background(), engine.Statement{SQL: "SELECT range FROM range(1000000000000)"})
		require.NoError(t, withText(err))
		var n int64
		for n < 1_000_000 {
			batch, err := r.Next(context.Background())
			require.NoError(t, withText(err))
			n += batch.NumRows()
			batch.Release()
		}
		start, stalls := time.Now(), WatchStalls(0)
		require.NoError(t, r.Close())
		require.Less(t, time.Since(start)-stalls(), prompt)
		require.NoError(t, r.Close(), "closing twice")
		_, err = r.Next(context.Background())
		require.Error(t, err)
		require.NotErrorIs(t, err, io.EOF, "a closed result does not report its end")
		alive(t, session)
	})
	t.Run("Whole", func(t *testing.T) {
		session := s.open(t)
		r, err := session.Query(context.Background(), engine.Statement{SQL: "SELECT range FROM range(300000)"})
		require.NoError(t, withText(err))
		defer r.Close()
		n, err := count(context.Background(), r)
		require.ErrorIs(t, err, io.EOF)
		require.EqualValues(t, 300000, n)
		_, err = r.Next(context.Background())
		require.ErrorIs(t, err, io.EOF, "the end is reported again")
	})
	t.Run("NoRows", func(t *testing.T) {
		session := s.open(t)
		r, err := session.Query(context.Background(), engine.Statement{SQL: "SELECT 1 AS a WHERE false"})
		require.NoError(t, withText(err))
		defer r.Close()
		require.Len(t, r.Schema().Fields(), 1)
		n, err := count(context.Background(), r)
		require.ErrorIs(t, err, io.EOF)
		require.Zero(t, n)
	})
	t.Run("LateFailureIsNoEnd", func(t *testing.T) {
		session := s.open(t)
		r, err := session.Query(context.Background(), engine.Statement{SQL: `SELECT CAST(CASE WHEN range < 900000 THEN range::VARCHAR
			ELSE 'hidden' || range END AS BIGINT) FROM range(1000000)`, Lease: engine.Lease{Threads: 1}})
		require.NoError(t, withText(err))
		defer r.Close()
		n, err := count(context.Background(), r)
		require.Equal(t, "conversion", failure(t, err).Class)
		require.Positive(t, n)
		require.Less(t, n, int64(1000000))
		_, again := r.Next(context.Background())
		require.Equal(t, "conversion", failure(t, again).Class, "the failure is reported again")
		require.NoError(t, r.Close())
		alive(t, session)
	})
	t.Run("BeyondTheLease", func(t *testing.T) {
		session := s.open(t)
		// 2 GB in total under a smaller limit: the statement ends only if rows are
		// sent while it runs.
		r, err := session.Query(context.Background(), engine.Statement{
			SQL:   "SELECT repeat('x', 1000) AS s FROM range(2000000)",
			Lease: engine.Lease{Memory: 128 << 20, Threads: 2, TempBytes: 1 << 20},
		})
		require.NoError(t, withText(err))
		defer r.Close()
		n, err := count(context.Background(), r)
		require.ErrorIs(t, err, io.EOF, "%v", withText(err))
		require.EqualValues(t, 2000000, n)
	})
}

func (s suite) stop(t *testing.T) {
	stopped := func(t *testing.T, session engine.Session, want error, run func() error) {
		t.Helper()
		start, stalls := time.Now(), WatchStalls(0)
		err := run()
		took := time.Since(start) - stalls()
		require.ErrorIs(t, err, want, "%v", withText(err))
		require.Less(t, took, 200*time.Millisecond+prompt)
		alive(t, session)
	}
	t.Run("CancelBeforeRows", func(t *testing.T) {
		session := s.open(t)
		stopped(t, session, engine.ErrInterrupted, func() error {
			ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
			defer cancel()
			_, err := TryRows(ctx, session, engine.Statement{SQL: endless})
			return err
		})
	})
	t.Run("CancelOfNextAlone", func(t *testing.T) {
		session := s.open(t)
		r, err := session.Query(context.Background(), engine.Statement{
			// A few megabytes at once, then nothing for a long time.
			SQL:   "SELECT range FROM range(1000000000000) WHERE range < 500000 OR hash(range) = 7",
			Lease: engine.Lease{Threads: 1}})
		require.NoError(t, withText(err))
		stopped(t, session, engine.ErrInterrupted, func() error {
			defer r.Close()
			ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
			defer cancel()
			_, err := count(ctx, r)
			return err
		})
	})
	t.Run("CancelBetweenBatches", func(t *testing.T) {
		session := s.open(t)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		r, err := session.Query(ctx, engine.Statement{SQL: "SELECT range FROM range(1000000000)"})
		require.NoError(t, withText(err))
		batch, err := r.Next(context.Background())
		require.NoError(t, withText(err))
		batch.Release()
		stopped(t, session, engine.ErrInterrupted, func() error {
			defer r.Close()
			cancel()
			_, err := count(context.Background(), r)
			return err
		})
	})
	t.Run("Timeout", func(t *testing.T) {
		session := s.open(t)
		stopped(t, session, engine.ErrTimeout, func() error {
			_, err := TryRows(context.Background(), session, engine.Statement{SQL: endless, Lease: engine.Lease{Timeout: 200 * time.Millisecond}})
			require.NotErrorIs(t, err, engine.ErrInterrupted)
			return err
		})
	})
	t.Run("TimeoutWhileFillingABarrier", func(t *testing.T) {
		root := t.TempDir()
		table := NewTable(t, root, "t")
		session := s.open(t, root)
		b := engine.Barrier{Name: "flt_slow", SQL: endless, Source: table.Latest()}
		stopped(t, session, engine.ErrTimeout, func() error {
			_, err := TryRows(context.Background(), session, engine.Statement{
				SQL: "SELECT * FROM " + b.Relation(), Barriers: []engine.Barrier{b}, Lease: engine.Lease{Timeout: 200 * time.Millisecond}})
			return err
		})
	})
	t.Run("AlreadyOver", func(t *testing.T) {
		session := s.open(t)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := session.Query(ctx, engine.Statement{SQL: "SELECT 1"})
		require.ErrorIs(t, err, engine.ErrInterrupted)
		alive(t, session)
	})
}
