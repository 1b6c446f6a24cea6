package problem

import (
	"context"
	"errors"
	"sync"

	"github.com/lakewarden/lakewarden/engine"
)

type requestKey struct{}

// request holds the id of an HTTP request and the error with which it ended.
type request struct {
	id string

	mu    sync.Mutex
	cause error
}

// WithRequest returns a context that holds a request's id and records the error of its
// reply.
func WithRequest(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestKey{}, &request{id: id})
}

// RequestID returns the id of the request, or "" if ctx does not belong to one.
func RequestID(ctx context.Context) string {
	if r, ok := ctx.Value(requestKey{}).(*request); ok {
		return r.id
	}
	return ""
}

// Cause returns the error from which the reply of the request was made, for the log, or
// nil if there was none. It can contain texts of the engine, paths and names.
func Cause(ctx context.Context) error {
	r, ok := ctx.Value(requestKey{}).(*request)
	if !ok {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cause
}

func setCause(ctx context.Context, err error) {
	if r, ok := ctx.Value(requestKey{}).(*request); ok {
		r.mu.Lock()
		r.cause = err
		r.mu.Unlock()
	}
}

// maxCause is the maximum length of a cause in the log.
const maxCause = 8 << 10

// CauseText returns the text of [Cause] for the server's log, or "" if there is none. It
// includes the engine's text, which Error omits. It is built on demand, because few
// requests are logged with it.
func CauseText(ctx context.Context) string {
	err := Cause(ctx)
	if err == nil {
		return ""
	}
	text := err.Error()
	var failure *engine.Error
	if errors.As(err, &failure) && failure.Text != "" {
		text = shortened(text, maxCause/2) + ": " + failure.Text
	}
	return shortened(text, maxCause)
}
