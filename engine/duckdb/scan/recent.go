package scan

import (
	"math"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// newRecent returns a map that records the order of use of its entries. Its owner removes
// them.
func newRecent[V any]() *simplelru.LRU[string, V] {
	recent, _ := simplelru.NewLRU[string, V](math.MaxInt, nil) // fails at size 0 only
	return recent
}

// excess returns the least recently used names beyond limit, except those in use.
func excess[V any](recent *simplelru.LRU[string, V], limit int, inUse map[string]bool) []string {
	var out []string
	for _, name := range recent.Keys() {
		if recent.Len()-len(out) <= limit {
			break
		}
		if !inUse[name] {
			out = append(out, name)
		}
	}
	return out
}
