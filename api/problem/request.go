package problem

import (
	"context"
	"errors"
	"sync"

	"github.com/lakewarden/lakewarden/engine"
)

type requestKey struct{}

// request is what one HTTP request is known by, and the error it ended with.
type request struct {
	id string

	mu    sync.Mutex
	cause error
}

// WithRequest returns a context that carries a request's id and a place for the
// error that its reply is made of.
func WithRequest(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestKey{}, &request{id: id})
}

// RequestID returns the id of the request, or "" outside one.
func RequestID(ctx context.Context) string {
	if r, ok := ctx.Value(requestKey{}).(*request); ok {
		return r.id
	}
	return ""
}

// Cause returns the error that the reply of the request was made of, for the
// log; nil when there was none. It can hold engine text, paths and names.
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

// maxCause bounds the length of one cause in the log.
const maxCause = 8 << 10

// CauseText is the text of [Cause] for the server's log: with what the engine
// said, which the error itself keeps to itself. It is "" when there is none. The
// text is made here and not before, because few requests are logged with it.
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
