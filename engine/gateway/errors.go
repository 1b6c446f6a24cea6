package gateway

import "errors"

// Errors of this package; test with errors.Is.
var (
	// ErrClosed: Grant was called after Close. Not retried.
	ErrClosed = errors.New("gateway is closed")
	// ErrLocation: Grant was given a location that no address can name. This is a defect of the
	// caller.
	ErrLocation = errors.New("invalid location of a grant")
	// ErrCacheDir: New cannot use the cache directory exclusively: it is not a private folder, or
	// another process uses it. The operator has to act.
	ErrCacheDir = errors.New("cache directory cannot be used")
	// ErrNeedsIsolation: the engine runs in the server and would read the log of a remote table
	// itself. Its log reader is not trusted to survive when a statement stops early (see
	// [ReadsRemoteLog]), and an abort is acceptable only in a worker process. Not retried: 409.
	ErrNeedsIsolation = errors.New("reading this table needs isolation")
	// ErrContent: a store returned other bytes than it announced, or an object changed while it was
	// read. It can be a [Grant.Cause]; the statement may be run again (503).
	ErrContent = errors.New("store returned other content than it announced")
)
