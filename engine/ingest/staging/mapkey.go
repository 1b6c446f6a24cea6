package staging

import "math"

// The keys of a map are remembered until it is whole: a key may be there once.

// asKey makes cells remember what is appended to them.
func (c *Cells) asKey() *Cells {
	c.seen = map[any]bool{}
	return c
}

// forget starts the next map.
func (c *Cells) forget() {
	if len(c.seen) > 1024 {
		c.seen = map[any]bool{} // a large map is slow to clear, also when it is empty
	}
	clear(c.seen)
	c.twice = false
}

// remember notes a value that is appended to cells of keys.
func (c *Cells) remember(v any) {
	if c.seen[v] {
		c.twice = true
	}
	c.seen[v] = true
}

// Distinct reports a problem when a key of the map at hand was there before.
func (r *Rows) Distinct(key *Cells) {
	if key.twice {
		r.Problem(key.Path, sameKey)
	}
}

// floatKey makes all NaN one, and both zeros.
func floatKey(v float64) uint64 {
	if math.IsNaN(v) {
		return math.Float64bits(math.NaN())
	}
	return math.Float64bits(v + 0)
}
