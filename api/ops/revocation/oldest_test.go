package revocation_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/revocation"
)

// TestOldestWork checks that no work is taken for younger than it is.
func TestOldestWork(t *testing.T) {
	w := revocation.New(nil, revocation.Options{})
	require.EqualValues(t, 9, w.Oldest(9), "nothing runs")
	w.Confirmed(5)
	_, first := w.Begin(t.Context(), caller.Identity{})
	w.Confirmed(7)
	_, second := w.Begin(t.Context(), caller.Identity{})
	require.EqualValues(t, 5, w.Oldest(9))
	first.Done()
	require.EqualValues(t, 7, w.Oldest(9))
	second.Done()
	require.EqualValues(t, 9, w.Oldest(9))
}
