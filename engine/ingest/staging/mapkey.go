package staging

import "math"

// The keys of a map are recorded until it is complete, because a key may occur once only.

// asKey makes the cells record the keys that are appended.
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

// remember records a key.
func (c *Cells) remember(v any) {
	if c.seen[v] {
		c.twice = true
	}
	c.seen[v] = true
}

// Distinct reports a problem if the current map has a key twice.
func (r *Rows) Distinct(key *Cells) {
	if key.twice {
		r.Problem(key.Path, SameKey)
	}
}

// floatKey returns equal keys for all NaN and for both zeros.
func floatKey(v float64) uint64 {
	if math.IsNaN(v) {
		return math.Float64bits(math.NaN())
	}
	return math.Float64bits(v + 0)
}
