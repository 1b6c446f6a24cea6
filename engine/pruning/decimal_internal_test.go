package pruning

import (
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine/delta"
)

// Values of 128 bits have the order of their numbers.
func TestWideDecimalsAreInOrder(t *testing.T) {
	wide := delta.Decimal{Precision: 38, Scale: 4}
	number := func(rt *rapid.T, label string) *big.Int {
		digits := rapid.StringMatching(`-?[0-9]{1,38}`).Draw(rt, label)
		if rapid.Bool().Draw(rt, "power") {
			n := new(big.Int).Lsh(big.NewInt(rapid.Int64Range(-2, 2).Draw(rt, "sign")), uint(rapid.IntRange(0, 120).Draw(rt, "bits")))
			return n.Add(n, big.NewInt(rapid.Int64Range(-1, 1).Draw(rt, "by")))
		}
		n, _ := new(big.Int).SetString(digits, 10)
		return n
	}
	rapid.Check(t, func(rt *rapid.T) {
		a, b := number(rt, "a"), number(rt, "b")
		va, ok := stored(a, wide)
		require.True(rt, ok)
		vb, ok := stored(b, wide)
		require.True(rt, ok)
		require.Equal(rt, a.Cmp(b), compare(va, vb), "%s %s", a, b)
	})
}

// A condition of many columns leaves no more behind than the bound.
func TestColumnsAreForgotten(t *testing.T) {
	x := &index{columns: map[string]*column{}, reader: newStatsReader()}
	for _, n := range []string{"a", "bcdefghijklmnopqrstuvwxyz"} {
		out := x.spansOf(strings.Split(n, ""))
		require.Len(t, out, len(n))
		require.LessOrEqual(t, len(x.columns), maxCachedColumns)
	}
	x.spansOf([]string{"b"})
	require.Contains(t, x.columns, "b", "what was asked for stays")
}
