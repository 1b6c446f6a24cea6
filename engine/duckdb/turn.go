package duckdb

import "runtime"

// turns bound how many instances are opened, closed or put to rest at once. The
// runtime makes an operating system thread for each native call that blocks,
// and never ends it: a crowd of users who leave together would leave as many
// threads behind.
type turns chan struct{}

func newTurns() turns { return make(turns, runtime.NumCPU()+2) }

// take waits for a turn, and returns the function that gives it back. Nobody
// takes a second one meanwhile.
func (t turns) take() func() {
	t <- struct{}{}
	return func() { <-t }
}
