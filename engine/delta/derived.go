package delta

import "sync"

// derived caches a value that a reader computed from a snapshot, such as parsed
// statistics.
type derived struct {
	mu    sync.Mutex
	value any
	// before is the newest value derived from an earlier version.
	before any
}

// latest returns the value from which the next snapshot's value can be built. Only one
// value is passed on, so a chain of snapshots without derived values retains no more
// than that.
func (d *derived) latest() any {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.value != nil {
		return d.value
	}
	return d.before
}

// Derived returns the value of build for s and caches it for the lifetime of s. It has
// a single user, which knows the type of the value. before is the value that this user
// derived from an earlier version, or nil. A file that is live in both versions has the
// same [File.Add] pointer in both, so results about it can be reused. build runs once
// and must not call Derived.
func (s *Snapshot) Derived(build func(before any) any) any {
	d := s.derived
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.value == nil {
		d.value, d.before = build(d.before), nil
	}
	return d.value
}
