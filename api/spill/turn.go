package spill

import "time"

// Turn is the turn of the statement whose rows a [Writer] sends. The writing goroutine calls its
// methods.
type Turn interface {
	// Awaited reports whether others wait for the statement to end.
	Awaited() bool
	// Slow is called when bytes begin to go to the file. rate returns how many bytes a second
	// the client has read of it; any goroutine may call it.
	Slow(rate func() float64)
	// Fast is called when the client has read the whole file and bytes go to it directly again.
	Fast()
}

// awaited reports whether others wait for the statement to end.
func (w *Writer) awaited() bool { return w.turn != nil && w.turn.Awaited() }

// hurry returns how long to wait before the next look at who waits, at most left.
func (w *Writer) hurry(left time.Duration) time.Duration {
	if w.turn == nil {
		return left
	}
	return min(left, w.store.opts.Hurry)
}

// rate returns how many bytes a second the client has read of the file.
func (w *Writer) rate() float64 {
	rate, _ := w.progress()
	return rate
}

// progress returns the rate, and reports whether the writer yields.
func (w *Writer) progress() (rate float64, yields bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return float64(w.sent) / max(w.store.opts.Now().Sub(w.since).Seconds(), 1), w.yields
}

// yield makes the writer end at once, to make room for others.
func (w *Writer) yield() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.yields || w.idle {
		return
	}
	w.yields, w.ended = true, true
	w.store.aborted.WithLabelValues(reasonFull).Inc()
	_ = w.conn.SetWriteDeadline(w.store.opts.Now())
}

func (w *Writer) yielding() bool {
	_, yields := w.progress()
	return yields
}

// makeRoom ends the slowest stream of a writer's owner if the owner's limit leaves no room for
// the writer, unless one ends already.
func (s *Store) makeRoom(w *Writer) {
	s.mu.Lock()
	var own []*Writer
	if s.users[w.owner]+pieceSize > s.opts.OwnerBytes/2 {
		for other := range s.writers {
			if other.owner == w.owner {
				own = append(own, other)
			}
		}
	}
	s.mu.Unlock() // before the locks of writers, which come first
	var slowest *Writer
	var least float64
	for _, other := range own {
		rate, yields := other.progress()
		if yields {
			return
		}
		if slowest == nil || rate < least {
			slowest, least = other, rate
		}
	}
	if slowest != nil {
		slowest.yield()
	}
}
