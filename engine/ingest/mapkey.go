package ingest

import "math"

// The keys of a map are remembered until it is whole: a key may be there once.

// asKey makes cells remember what is appended to them.
func (c *cells) asKey() *cells {
	c.seen = map[any]bool{}
	return c
}

// forget starts the next map.
func (c *cells) forget() {
	if len(c.seen) > 1024 {
		c.seen = map[any]bool{} // a large map is slow to clear, also when it is empty
	}
	clear(c.seen)
	c.twice = false
}

// remember notes a value that is appended to cells of keys.
func (c *cells) remember(v any) {
	if c.seen[v] {
		c.twice = true
	}
	c.seen[v] = true
}

// distinct reports a problem when a key of the map at hand was there before.
func (r *rows) distinct(key *cells) {
	if key.twice {
		r.problem(key.path, sameKey)
	}
}

// floatKey makes all NaN one, and both zeros.
func floatKey(v float64) uint64 {
	if math.IsNaN(v) {
		return math.Float64bits(math.NaN())
	}
	return math.Float64bits(v + 0)
}
