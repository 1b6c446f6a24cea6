package arguments

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPatternsShareTheirWork checks that all pattern calls of a statement together do a
// bounded amount of work for one row, however many they are.
func TestPatternsShareTheirWork(t *testing.T) {
	const most = (fullCalls + 1) * maxSteps
	for calls := int64(1); calls <= 20_000; calls = calls*5/4 + 1 {
		for runs := 2; runs <= maxWildcards; runs++ {
			for pattern := 2 * runs; pattern <= maxNeedle; pattern = pattern*2 + 1 {
				limit := longestText(runs, pattern, maxSteps/share(calls))
				if limit > int64(runs) { // a shorter text has no place for the pattern
					require.LessOrEqual(t, calls*stepsOf(runs, pattern, limit), int64(most), "%d calls, %d wildcards, %d bytes", calls, runs, pattern)
				}
			}
		}
		require.LessOrEqual(t, calls*(fullCalls*maxSteps/calls), int64(most), "%d calls with one wildcard", calls)
		two, three := maxWilder/root(share(calls), 2), maxWildest/root(share(calls), 3)
		full := fullCalls * max(stepsOf(2, maxPattern, maxWilder), stepsOf(3, maxPattern, maxWildest))
		require.LessOrEqual(t, calls*stepsOf(2, maxPattern, two), full, "%d calls with two wildcards", calls)
		require.LessOrEqual(t, calls*stepsOf(3, maxPattern, three), full, "%d calls with three wildcards", calls)
	}
	require.EqualValues(t, 1, root(1, 3))
	require.EqualValues(t, 3, root(27, 3))
	require.EqualValues(t, 4, root(28, 3))
}
