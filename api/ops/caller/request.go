package caller

import (
	"context"
	"sync"
)

// requestKey is the key of the noted entries of a request in a context.
type requestKey struct{}

// noted is what was recorded in the audit log for one request.
type noted struct {
	mu      sync.Mutex
	entries map[[2]string]bool
}

// OneRequest returns a context for the work of one request, in which [Once] returns true once for
// an entry.
func OneRequest(ctx context.Context) context.Context {
	return context.WithValue(ctx, requestKey{}, &noted{entries: map[[2]string]bool{}})
}

// Once reports whether an action on a resource is to be recorded: a request that is judged again
// before its commit has one entry. Outside of a request it returns true.
func Once(ctx context.Context, action, resource string) bool {
	n, ok := ctx.Value(requestKey{}).(*noted)
	if !ok {
		return true
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	entry := [2]string{action, resource}
	first := !n.entries[entry]
	n.entries[entry] = true
	return first
}
