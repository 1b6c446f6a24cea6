package delta

import "sync"

// derived is what a reader made out of a snapshot, such as parsed statistics.
type derived struct {
	mu    sync.Mutex
	value any
	// before is what was made last of a snapshot that this one follows.
	before any
}

// latest is what a following snapshot may build on. Only one value is handed
// on: a chain of snapshots that nobody derives from keeps no more than that.
func (d *derived) latest() any {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.value != nil {
		return d.value
	}
	return d.before
}

// Derived returns what build makes out of s, and keeps it as long as s lives.
// It is for one reader, which alone knows the type. before is what that reader
// derived from an earlier version, or nil: files that both versions hold are
// the same [File.Add] in both, so that nothing about them has to be found out
// twice. build runs once and must not call Derived.
func (s *Snapshot) Derived(build func(before any) any) any {
	d := s.derived
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.value == nil {
		d.value, d.before = build(d.before), nil
	}
	return d.value
}
