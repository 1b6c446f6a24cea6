package delta_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

func TestAppendAndReload(t *testing.T) {
	b := mem.New()
	s := mustCreate(t, b, delta.CreateOptions{Name: "n", Description: "d", Properties: map[string]string{"x.y": "z"}})
	require.EqualValues(t, 0, s.Version())
	for i := range int64(25) {
		s = mustAppend(t, s, i, -i)
	}
	require.EqualValues(t, 25, s.Version())
	rows, known := s.Rows()
	require.True(t, known)
	require.EqualValues(t, 50, rows)

	loaded, err := delta.Load(t.Context(), b, testOptions(t))
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(viewOf(s), viewOf(loaded)))
	require.Equal(t, s.Timestamp(), loaded.Timestamp())

	same, err := loaded.Refresh(t.Context())
	require.NoError(t, err)
	require.Same(t, loaded, same)

	// The table is readable without the files below the checkpoint.
	for v := range int64(20) {
		require.NoError(t, b.Delete(t.Context(), logpath.CommitName(v)))
	}
	cleaned, err := delta.Load(t.Context(), b, testOptions(t))
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(viewOf(s), viewOf(cleaned)))

	_, err = delta.Load(t.Context(), b, delta.Options{At: delta.AtVersion(5)})
	require.ErrorIs(t, err, delta.ErrVersionNotFound)
	_, err = delta.Load(t.Context(), b, delta.Options{At: delta.AtVersion(26)})
	require.ErrorIs(t, err, delta.ErrVersionNotFound)
	at20, err := delta.Load(t.Context(), b, delta.Options{At: delta.AtVersion(20)})
	require.NoError(t, err)
	require.Equal(t, 20, at20.NumFiles())
	_, err = delta.Create(t.Context(), b, delta.CreateOptions{Schema: twoColumns})
	require.ErrorIs(t, err, delta.ErrTableExists, "version 0 is free, the table is not")
}

func TestRefreshFollows(t *testing.T) {
	b := mem.New()
	ours := mustCreate(t, b, delta.CreateOptions{})
	theirs, err := delta.Load(t.Context(), b, testOptions(t))
	require.NoError(t, err)
	for i := range int64(12) {
		theirs = mustAppend(t, theirs, i)
	}
	before := viewOf(ours)
	fresh, err := ours.Refresh(t.Context())
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(viewOf(theirs), viewOf(fresh)))
	require.Empty(t, cmp.Diff(before, viewOf(ours)), "a snapshot never changes")
}

func TestTimeTravel(t *testing.T) {
	b := mem.New()
	s := mustCreate(t, b, delta.CreateOptions{Properties: map[string]string{"delta.enableInCommitTimestamps": "true"}})
	times := []time.Time{s.Timestamp()}
	for i := range int64(5) {
		s = mustAppend(t, s, i)
		times = append(times, s.Timestamp())
	}
	for v, at := range times {
		if v > 0 {
			require.True(t, at.After(times[v-1]), "in-commit timestamps grow")
		}
		for _, late := range []time.Duration{0, 100 * time.Microsecond} {
			got, err := delta.Load(t.Context(), b, delta.Options{At: delta.AtTimestamp(at.Add(late))})
			require.NoError(t, err)
			require.EqualValues(t, v, got.Version())
		}
	}
	_, err := delta.Load(t.Context(), b, delta.Options{At: delta.AtTimestamp(times[0].Add(-time.Millisecond))})
	require.ErrorIs(t, err, delta.ErrVersionNotFound)
	got, err := delta.Load(t.Context(), b, delta.Options{At: delta.AtTimestamp(times[5].Add(time.Hour))})
	require.NoError(t, err)
	require.EqualValues(t, 5, got.Version())
}
