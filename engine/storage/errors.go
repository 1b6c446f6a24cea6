package storage

import "errors"

// Errors of this package; test with errors.Is.
var (
	// ErrRootInvalid: LocalRoots.Resolve was given something that is no absolute
	// path without "..", or an unknown placeholder. Not retried; becomes 422.
	ErrRootInvalid = errors.New("local root is not a valid path")
	// ErrRootNotAllowed: LocalRoots.Resolve found the path outside every allowed
	// root, or cannot tell. It says no more, so that nobody explores the machine
	// through it. Not retried; becomes 422.
	ErrRootNotAllowed = errors.New("local root is not below an allowed root")

	// ErrEndpointRefused: Egress does not let a configuration lead there. It says
	// no more, so that nobody explores the network through it. Not retried;
	// becomes 422.
	ErrEndpointRefused = errors.New("endpoint is not allowed")
	// ErrEndpointUnknown: Egress finds no address of the endpoint's name. Becomes
	// 422.
	ErrEndpointUnknown = errors.New("endpoint has no address")

	// ErrNotAtomic: Probe saw two writers create one object, or none. No Delta
	// table is safe there. The cause of a Check; becomes 422.
	ErrNotAtomic = errors.New("put-if-absent is not honoured")
	// ErrContent: Probe read or listed something else than it wrote. The cause of
	// a Check; becomes 422.
	ErrContent = errors.New("store does not return what was written")
	// ErrSkipped: Probe did not make a Check because an earlier one failed.
	ErrSkipped = errors.New("not tried")
)
