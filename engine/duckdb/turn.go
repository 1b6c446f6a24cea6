package duckdb

import "runtime"

// turns bounds how many instances are opened, closed or idled at once. The Go runtime creates
// a thread for each native call that blocks, and never ends it: many users who leave together
// would leave as many threads behind.
type turns chan struct{}

func newTurns() turns { return make(turns, runtime.NumCPU()+2) }

// take waits for a turn, and returns the function that releases it. A caller must not take a
// second turn before.
func (t turns) take() func() {
	t <- struct{}{}
	return func() { <-t }
}
