package middleware

// Entries returns the number of the limiter's entries.
func (l *Limiter) Entries() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.full)
}

// Entries returns how many counters are in use.
func (f *Failures) Entries() int { return f.limiter.Entries() + f.reports.Entries() }
