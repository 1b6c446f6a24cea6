package storage

import "errors"

// Errors of this package; test with errors.Is.
var (
	// ErrRootInvalid: the argument of LocalRoots.Resolve is not an absolute path without "..", or
	// has an unknown placeholder. Not retried; becomes 422.
	ErrRootInvalid = errors.New("local root is not a valid path")
	// ErrRootNotAllowed: LocalRoots.Resolve found the path outside every allowed root, or could not
	// resolve it. It has no details, so that clients cannot explore the machine with it. Not
	// retried; becomes 422.
	ErrRootNotAllowed = errors.New("local root is not below an allowed root")

	// ErrEndpointRefused: Egress does not allow the endpoint. It has no details, so that clients
	// cannot explore the network with it. Not retried; becomes 422.
	ErrEndpointRefused = errors.New("endpoint is not allowed")
	// ErrEndpointUnknown: Egress found no address for the endpoint's name. Becomes 422.
	ErrEndpointUnknown = errors.New("endpoint has no address")

	// ErrNotAtomic: Probe found that two writers created one object, or none did. Delta tables are
	// not safe in such a store. The cause of a Check; becomes 422.
	ErrNotAtomic = errors.New("put-if-absent is not honoured")
	// ErrContent: Probe read or listed something other than it wrote. The cause of a Check; becomes
	// 422.
	ErrContent = errors.New("store does not return what was written")
	// ErrSkipped: Probe skipped a Check because an earlier one failed.
	ErrSkipped = errors.New("not tried")
)
