package problem

import (
	"errors"
	"fmt"
	"iter"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/policy"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/sessions"
)

// Detail describes one invalid field.
type Detail struct {
	Field   string `json:"field" doc:"Path of the field at fault"`
	Message string `json:"message" doc:"What is wrong with it"`
}

// Problem is what a client learns about an error.
type Problem struct {
	Code
	// Details are the invalid fields, never nil.
	Details []Detail
	// RetryAfter is the time after which to retry, in whole seconds; it is set for 429
	// and 503.
	RetryAfter time.Duration
}

// The interfaces of errors from packages that cannot be imported here.
type (
	coder   interface{ ProblemCode() string }
	fielder interface {
		FieldProblems() iter.Seq2[string, string]
	}
	// totaler returns the number of problems, of which fielder yields only the first.
	totaler interface{ ProblemTotal() int64 }
	retrier interface{ RetryIn() time.Duration }
)

// Refusal is an error that names its code itself, for packages of the API that refuse a
// request before an operation runs.
type Refusal struct {
	// Code is the name of an entry of [Codes].
	Code string
	// Details are the invalid fields, with messages for the client.
	Details []Detail
	// RetryAfter overrides the default for 429 and 503.
	RetryAfter time.Duration
	// Cause is the underlying error, for the log.
	Cause error
}

// Error returns the code and the cause.
func (e *Refusal) Error() string {
	if e.Cause != nil {
		return e.Code + ": " + e.Cause.Error()
	}
	return e.Code
}

// Unwrap returns the cause.
func (e *Refusal) Unwrap() error { return e.Cause }

// maxDetails bounds the number of details of one error. maxField bounds the length of a
// field's name, which can contain names that the client sent. maxMessage bounds the
// length of the message about a field.
const (
	maxDetails = 100
	maxField   = 512
	maxMessage = 2048
)

// shortened truncates text to about n bytes without splitting a character.
func shortened(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}

// From returns the problem of err. It never fails: unknown errors, and nil, become
// internal_error.
func From(err error) Problem { return from(err, false) }

// from is From; camel selects camelCase for the field names of the catalog.
func from(err error, camel bool) Problem {
	code, ok := byName[codeOf(err)]
	if !ok {
		code = byName["internal_error"]
	}
	p := Problem{Code: code, Details: []Detail{}}
	var store *objstore.StoreError
	switch {
	case code.Status < http.StatusInternalServerError:
		for field, message := range fieldsOf(err, camel) {
			if p.Details = append(p.Details, Detail{shortened(field, maxField), shortened(message, maxMessage)}); len(p.Details) == maxDetails {
				break
			}
		}
		p.Message += total(err)
	case code.Name == storageUnavailable && errors.As(err, &store):
		p.Details = append(p.Details, storeDetail(store, camel))
	}
	if code.Status == http.StatusTooManyRequests || code.Status == http.StatusServiceUnavailable {
		p.RetryAfter = retryAfter(err)
	}
	return p
}

// total returns a text with the number of problems if err counts more than one, else "".
func total(err error) string {
	var counted totaler
	if !errors.As(err, &counted) || counted.ProblemTotal() < 2 {
		return ""
	}
	return fmt.Sprintf(" Problems in total: %d.", counted.ProblemTotal())
}

// codeOf returns the name of an error's code, or "" if the error is unknown.
func codeOf(err error) string {
	var (
		rejected *Refusal
		own      coder
		body     *http.MaxBytesError
		guard    *refusal.Error
		failure  *engine.Error
		denied   *catalog.DeniedError
		field    *policy.FieldError
		fields   fielder
		unread   *staging.SyntaxError
		values   *staging.RowsError
		limit    *staging.LimitError
		store    *objstore.StoreError
	)
	reason, refused := tableReason(err)
	switch {
	case errors.As(err, &rejected):
		return rejected.Code
	case errors.As(err, &unread):
		return "invalid_body"
	case errors.As(err, &values):
		return "invalid_value"
	case errors.As(err, &limit) && limit.What == staging.LimitedRows:
		return "too_many_rows"
	case errors.As(err, &own):
		return own.ProblemCode()
	case refused:
		return reason.Code
	case errors.As(err, &body):
		return "payload_too_large"
	case errors.As(err, &guard):
		return guardCode(guard)
	case errors.As(err, &failure):
		return engineCode(failure)
	case errors.As(err, &denied):
		return deniedCode(denied)
	case errors.As(err, &field) && field.Code == policy.CodeTypeNotSupported:
		return "type_not_supported"
	case errors.As(err, &store) && store.RefusesWrites():
		return "storage_read_only"
	}
	for _, r := range rows {
		if errors.Is(err, r.sentinel) {
			return r.code
		}
	}
	if errors.As(err, &fields) {
		return "invalid_field"
	}
	return ""
}

// retryAfter returns how long the client should wait, at least a second.
func retryAfter(err error) time.Duration {
	wait := time.Second
	var (
		refusal *Refusal
		busy    *sessions.BusyError
		own     retrier
	)
	switch {
	case errors.As(err, &refusal) && refusal.RetryAfter > 0:
		wait = refusal.RetryAfter
	case errors.As(err, &busy):
		wait = busy.RetryAfter
	case errors.As(err, &own):
		wait = own.RetryIn()
	case errors.Is(err, auth.ErrUnavailable), errors.Is(err, catalog.ErrUnavailable):
		wait = 2 * time.Second
	}
	return max(time.Second, (wait + time.Second - 1).Truncate(time.Second))
}
