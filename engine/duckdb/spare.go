package duckdb

import (
	"sync"

	"github.com/lakewarden/lakewarden/engine/duckdb/native"
	"github.com/lakewarden/lakewarden/engine/duckdb/sandbox"
)

// spare holds one open instance that nobody has used: opening one takes some ten milliseconds,
// most of the time of a new user's first statement. It holds about three megabytes and no
// thread.
type spare struct {
	turns turns

	mu      sync.Mutex
	ready   *native.Instance
	filling bool
	stopped bool
	work    sync.WaitGroup
}

// take returns an unconfined instance and starts to open the next one. The caller has a turn.
func (s *spare) take() (*native.Instance, error) {
	s.mu.Lock()
	in := s.ready
	s.ready = nil
	if !s.filling && !s.stopped {
		s.filling = true
		s.work.Add(1)
		go s.fill()
	}
	s.mu.Unlock()
	if in != nil {
		return in, nil
	}
	return sandbox.OpenBare()
}

// fill opens the next instance. If that fails, the next caller of take gets the error.
func (s *spare) fill() {
	defer s.work.Done()
	defer s.turns.take()()
	in, err := sandbox.OpenBare()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.filling = false
	switch {
	case err != nil:
	case s.stopped:
		in.Close()
	default:
		s.ready = in
	}
}

// stop closes the spare instance and waits for work in progress. It is idempotent.
func (s *spare) stop() {
	s.mu.Lock()
	s.stopped = true
	in := s.ready
	s.ready = nil
	s.mu.Unlock()
	if in != nil {
		in.Close()
	}
	s.work.Wait()
}
