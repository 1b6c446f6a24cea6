package maintenance

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlacesAreAsFineAsRowGroupsNeed(t *testing.T) {
	for n := 2; n <= MaxZOrder; n++ {
		before := 1
		for _, groups := range []int64{0, 1, 10, 1000, 100_000, 1 << 40} {
			width := bitsPerColumn(n, groups)
			require.GreaterOrEqual(t, width, before, "%d columns, %d row groups", n, groups)
			require.LessOrEqual(t, n*width, placeBits)
			before = width
		}
	}
	require.Equal(t, 6, bitsPerColumn(2, 49), "64 cells a side for 7 by 7 row groups")
	require.Equal(t, rangeBits, bitsPerColumn(2, 1<<20))
}
