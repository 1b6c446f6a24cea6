package remote

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// Fate records the outcomes of the attempts of one operation. It is safe for concurrent use.
type Fate struct {
	mu sync.Mutex
	// open reports that an attempt left this machine and was not refused. It may have taken effect,
	// whatever the reply to a later one was.
	open bool
	// status is that of the last reply, or 0 if the last attempt had none.
	status int
}

type fateKey struct{}

// WithFate returns a context that records the fate of its requests.
func WithFate(ctx context.Context) (context.Context, *Fate) {
	f := &Fate{}
	return context.WithValue(ctx, fateKey{}, f), f
}

// LastStatus returns the status of the last reply, or 0 if the last attempt had none.
func (f *Fate) LastStatus() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}

func (f *Fate) mayHaveLanded() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open
}

// Watch returns a transport that records the fate of requests. effective reports whether a request
// of a write can take effect by itself; a nil effective means that each does.
func Watch(inner http.RoundTripper, effective func(*http.Request) bool) http.RoundTripper {
	if effective == nil {
		effective = func(*http.Request) bool { return true }
	}
	return watched{inner, effective}
}

type watched struct {
	inner     http.RoundTripper
	effective func(*http.Request) bool
}

// RoundTrip implements http.RoundTripper.
func (w watched) RoundTrip(r *http.Request) (*http.Response, error) {
	f, ok := r.Context().Value(fateKey{}).(*Fate)
	if !ok {
		return w.inner.RoundTrip(r)
	}
	effective := w.effective(r)
	var sent atomic.Bool
	r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		WroteHeaders: func() { sent.Store(true) },
	}))
	resp, err := w.inner.RoundTrip(r)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status = 0
	if err == nil {
		f.status = resp.StatusCode
	}
	if effective && (err == nil && !refused(resp.StatusCode) || err != nil && sent.Load()) {
		f.open = true
	}
	return resp, err
}

// refused reports whether a status means that the request had no effect. A server error does not,
// nor does a timeout of a proxy.
func refused(status int) bool {
	switch status {
	case http.StatusRequestTimeout, 499:
		return false
	case http.StatusNotImplemented:
		return true
	}
	return status >= 300 && status < 500
}

// Translate maps an error of an SDK to those of objstore. status is that of the last reply.
type Translate func(ctx context.Context, err error, status int) error

// Write runs a request that changes something and distinguishes its three outcomes. An attempt that
// may have taken effect makes the outcome unknown, even if a later one was refused. status is that
// of a refusal, else 0.
func Write(ctx context.Context, op objstore.Op, name string, translate Translate, do func(context.Context) error) (status int, _ error) {
	watch, fate := WithFate(ctx)
	err := do(watch)
	if err == nil {
		return 0, nil
	}
	if !fate.mayHaveLanded() {
		return fate.LastStatus(), Failed(op, name, translate(ctx, err, fate.LastStatus()))
	}
	if ctxErr := ctx.Err(); ctxErr != nil {
		return 0, Failed(op, name, fmt.Errorf("%w: %w", objstore.ErrUnknown, ctxErr))
	}
	// The cause is not wrapped: its kind may promise that nothing was written.
	return 0, Failed(op, name, fmt.Errorf("%w: %s", objstore.ErrUnknown, cause(err, fate.LastStatus())))
}

func cause(err error, status int) string {
	if status != 0 {
		return fmt.Sprintf("%d %s", status, http.StatusText(status))
	}
	return network(err)
}
