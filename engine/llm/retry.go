package llm

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

const (
	// maxRetries bounds the retries of a request.
	maxRetries = 2
	// maxWait bounds the wait before a retry. A server that asks for more is not retried.
	maxWait = 5 * time.Second
)

// retry calls try until it succeeds, the failure is final, or the retries are used up.
func (c *client) retry(ctx context.Context, try func(context.Context) (Reply, *exchange, error)) (Reply, error) {
	backoff := c.backoff
	for retries := 0; ; retries++ {
		reply, ex, err := try(ctx)
		if err == nil || !ex.retryable || retries == maxRetries {
			return reply, err
		}
		wait := max(backoff/2+rand.N(backoff/2+1), ex.retryAfter)
		backoff *= 2
		deadline, limited := ctx.Deadline()
		if wait > maxWait || (limited && time.Until(deadline) <= wait) {
			return reply, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return Reply{}, &failure{sentinel: ErrUnavailable, reason: "request ended by its caller", cause: ctx.Err()}
		case <-timer.C:
		}
	}
}

// retryAfter returns the wait that a reply asks for, or 0.
func retryAfter(header http.Header) time.Duration {
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 16); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}
