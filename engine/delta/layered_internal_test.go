package delta

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestLayeredIsAMap checks that a layered map behaves like a plain map and that forks
// are independent.
func TestLayeredIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l layered[int]
		l = l.fork()
		model := map[string]int{}
		// Uniformly distributed keys, so that there are enough distinct ones to build a
		// base.
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for range rapid.IntRange(1, 6).Draw(t, "rounds") {
			before, frozen := maps.Clone(model), l
			l = l.fork()
			for range rapid.SampledFrom([]int{0, 3, 40, 900}).Draw(t, "steps") {
				key := strconv.Itoa(random.IntN(500))
				if random.IntN(3) == 0 {
					_, had := l.drop(key)
					_, want := model[key]
					if had != want {
						t.Fatalf("drop of %s: %v", key, had)
					}
					delete(model, key)
				} else {
					l.put(key, len(model))
					model[key] = len(model)
				}
			}
			if rapid.Bool().Draw(t, "compact") {
				l.compact()
			}
			same(t, &frozen, before)
			same(t, &l, model)
		}
	})
}

func same(t *rapid.T, l *layered[int], model map[string]int) {
	got := map[string]int{}
	var order []string
	for k, v := range l.all() {
		got[k] = v
		order = append(order, k)
	}
	if !maps.Equal(got, model) || l.n != len(model) || len(order) != len(model) || !slices.IsSorted(order) {
		t.Fatalf("%d entries, %d expected, n=%d", len(order), len(model), l.n)
	}
}

func TestLayeredCompacts(t *testing.T) {
	var l layered[int]
	l = l.fork()
	for i := range 10_000 {
		l.put(strconv.Itoa(i), i)
	}
	l.compact()
	require.Empty(t, l.over)
	require.Len(t, l.base, 10_000)
	f := l.fork()
	f.put("x", 1)
	f.compact()
	require.Len(t, f.over, 1, "a small change does not rebuild the base")
}
