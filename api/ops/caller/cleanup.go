package caller

import (
	"context"
	"time"
)

// aftermathTime bounds what is put right after a failure.
const aftermathTime = 15 * time.Second

// CleanupContext is the context in which something is put right after a failure, which
// may be that the caller went away.
func CleanupContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), aftermathTime)
}
