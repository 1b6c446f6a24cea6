package problem

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/engine"
)

// Body is the body of every error.
type Body struct {
	Code      string   `json:"code" doc:"Stable name of the error; docs/errors.md lists all"`
	Message   string   `json:"message" doc:"What went wrong, for a person"`
	RequestID string   `json:"request_id" doc:"Id of the request, also in the header X-Request-Id"`
	Details   []Detail `json:"details" nullable:"false" doc:"Fields at fault; empty when none"`
}

// BodyType is the type of [Body], for schemas.
var BodyType = reflect.TypeFor[Body]()

// Reply is an error with its encoded form. It is the error value that huma handlers
// return, and encodes as [Body].
type Reply struct {
	Body
	status  int
	headers http.Header
	cause   error
}

var (
	_ huma.StatusError       = (*Reply)(nil)
	_ huma.HeadersError      = (*Reply)(nil)
	_ huma.ContentTypeFilter = (*Reply)(nil)
)

// Error returns the code.
func (r *Reply) Error() string { return r.Code }

// Unwrap returns the error from which the reply was made.
func (r *Reply) Unwrap() error { return r.cause }

// GetStatus returns the HTTP status.
func (r *Reply) GetStatus() int { return r.status }

// GetHeaders returns the headers of the status.
func (r *Reply) GetHeaders() http.Header { return r.headers }

// ContentType returns JSON for errors, whatever the client accepts.
func (r *Reply) ContentType(string) string { return "application/json" }

// Respond returns the reply for an error and records err for the access log. camel
// selects camelCase for the catalog's field names. If err is a [Reply], it is returned
// unchanged.
func Respond(ctx context.Context, err error, camel bool) error {
	return respond(ctx, err, camel)
}

func respond(ctx context.Context, err error, camel bool) *Reply {
	var done *Reply
	if errors.As(err, &done) {
		return done
	}
	setCause(ctx, err)
	p := from(err, camel)
	if clientGone(ctx, err) {
		p = Problem{Code: clientClosed, Details: []Detail{}}
	}
	return newReply(ctx, p, err)
}

func newReply(ctx context.Context, p Problem, cause error) *Reply {
	r := &Reply{
		Body:    Body{Code: p.Name, Message: p.Message, RequestID: RequestID(ctx), Details: p.Details},
		status:  p.Status,
		headers: http.Header{},
		cause:   cause,
	}
	if p.RetryAfter > 0 {
		r.headers.Set("Retry-After", strconv.Itoa(int(p.RetryAfter/time.Second)))
	}
	if p.Status == http.StatusUnauthorized {
		r.headers.Set("WWW-Authenticate", withMetadata(ctx, challenge(cause)))
	}
	return r
}

// clientGone reports whether the client disconnected and err is only a consequence of
// that.
func clientGone(ctx context.Context, err error) bool {
	return errors.Is(ctx.Err(), context.Canceled) &&
		(errors.Is(err, context.Canceled) || errors.Is(err, engine.ErrInterrupted))
}

// Write sends the reply for an error. Nothing may have been written before.
func Write(w http.ResponseWriter, r *http.Request, err error) {
	reply := respond(r.Context(), err, false)
	for name, values := range reply.headers {
		w.Header()[name] = values
	}
	w.Header().Set("Cache-Control", "no-store")
	if reply.status == StatusClientClosed || slices.Contains(EmptyStatuses, reply.status) {
		w.Header().Del("Content-Type")
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(reply.status)
		return
	}
	body, _ := json.Marshal(bodyOf(r.Context(), reply)) // strings only: cannot fail
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
	w.WriteHeader(reply.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(append(body, '\n'))
	}
}
