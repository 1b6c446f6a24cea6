package duckdb

import (
	"github.com/lakewarden/lakewarden/engine/duckdb/native"
	"github.com/lakewarden/lakewarden/engine/duckdb/sandbox"
	"sync"
)

// spare keeps one bare instance at hand: to open one takes some ten milliseconds,
// most of what a new user's first statement takes. Nobody has used it before, so it
// is as good as a new one. It holds about three megabytes and no thread.
type spare struct {
	turns turns

	mu      sync.Mutex
	ready   *native.Instance
	filling bool
	stopped bool
	work    sync.WaitGroup
}

// take returns a bare instance and has another one made. The caller has a turn.
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

// fill opens the next one. Where that fails, whoever needs one finds out why.
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

// stop closes what is kept, and waits for what is under way. It is idempotent.
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
