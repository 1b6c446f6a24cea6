package middleware

// Entries returns how many callers the limiter remembers.
func (l *Limiter) Entries() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.whole)
}
