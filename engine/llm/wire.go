package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// exchange records the outcome of the one request of an attempt.
type exchange struct {
	sent       bool
	failure    *failure
	retryable  bool
	retryAfter time.Duration
}

// exchangeKey is the key of an exchange in a context.
type exchangeKey struct{}

func withExchange(ctx context.Context, ex *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, ex)
}

// wire is the transport below an SDK. It sends one request for each exchange, to the
// configured address, with the configured key and no other header than those of the
// protocol. It hands the SDK whole bodies of valid JSON only, so that the errors of an SDK
// contain nothing that a server sent.
type wire struct {
	next   http.RoundTripper
	base   *url.URL
	vendor vendor
	key    Key
}

// RoundTrip implements [http.RoundTripper].
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	ex, _ := r.Context().Value(exchangeKey{}).(*exchange)
	if ex == nil || ex.sent || r.Method != http.MethodPost || !w.owns(r.URL) {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, errors.New("unexpected request of an SDK")
	}
	ex.sent = true
	reply, err := w.next.RoundTrip(w.outgoing(r))
	if err != nil {
		return nil, ex.fail(&failure{sentinel: ErrUnavailable, reason: "no reply", cause: err}, r.Context().Err() == nil)
	}
	defer reply.Body.Close()
	switch status := reply.StatusCode; {
	case status >= http.StatusInternalServerError || status == http.StatusRequestTimeout:
		ex.retryAfter = retryAfter(reply.Header)
		return nil, ex.fail(&failure{sentinel: ErrUnavailable, reason: statusText(status)}, true)
	case status == http.StatusTooManyRequests:
		ex.retryAfter = retryAfter(reply.Header)
		return nil, ex.fail(&failure{sentinel: ErrLimited, reason: statusText(status)}, true)
	case status >= http.StatusBadRequest:
		return nil, ex.fail(&failure{sentinel: ErrRejected, reason: statusText(status)}, false)
	case status >= http.StatusMultipleChoices:
		return nil, ex.fail(&failure{sentinel: ErrUnavailable, reason: "redirect, which is not followed"}, false)
	case status != http.StatusOK:
		return nil, ex.fail(&failure{sentinel: ErrMalformed, reason: statusText(status)}, false)
	}
	body, err := io.ReadAll(io.LimitReader(reply.Body, maxReply+1))
	switch {
	case err != nil:
		return nil, ex.fail(&failure{sentinel: ErrUnavailable, reason: "no complete reply", cause: err}, r.Context().Err() == nil)
	case len(body) > maxReply:
		return nil, ex.fail(&failure{sentinel: ErrMalformed, reason: "reply is too large"}, false)
	case !json.Valid(body):
		return nil, ex.fail(&failure{sentinel: ErrMalformed, reason: "reply is not JSON"}, false)
	}
	return &http.Response{
		Status: reply.Status, StatusCode: reply.StatusCode, Proto: reply.Proto, ProtoMajor: reply.ProtoMajor, ProtoMinor: reply.ProtoMinor,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)), Request: r,
	}, nil
}

// fail records a failure and returns an error for the SDK.
func (ex *exchange) fail(f *failure, retryable bool) error {
	ex.failure, ex.retryable = f, retryable
	return f
}

// owns reports whether u is below the configured address.
func (w *wire) owns(u *url.URL) bool {
	return u.Scheme == w.base.Scheme && u.Host == w.base.Host && u.User == nil && u.RawQuery == "" &&
		strings.HasPrefix(u.Path, w.base.Path+"/")
}

// outgoing returns the request that is sent for that of an SDK.
func (w *wire) outgoing(r *http.Request) *http.Request {
	out := r.Clone(r.Context())
	out.Host = ""
	out.Header = http.Header{
		"Accept": {"application/json"}, "Content-Type": {"application/json"},
		http.CanonicalHeaderKey(w.vendor.header): {w.vendor.prefix + w.key.reveal()},
	}
	for _, name := range append([]string{"User-Agent"}, w.vendor.headers...) {
		if value := r.Header.Get(name); value != "" {
			out.Header.Set(name, value)
		}
	}
	return out
}

// statusText names the status of a reply.
func statusText(status int) string { return "status " + strconv.Itoa(status) }
