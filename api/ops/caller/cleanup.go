package caller

import (
	"context"
	"time"
)

// cleanupTime bounds the work after a failure.
const cleanupTime = 15 * time.Second

// CleanupContext returns a context for work after a failure. It does not end with ctx,
// because the failure may be that the caller disconnected.
func CleanupContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
}
