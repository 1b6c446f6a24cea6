package sqlstore

// Limit replaces the limits of a store.
func (s *Store) Limit(sessions, room, grants int) { s.limits = limits{sessions, room, grants} }
