package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ory/fosite"

	"github.com/lakewarden/lakewarden/auth"
)

// MaxForm bounds the size of a request's body, in bytes.
const MaxForm = 64 << 10

// refusal is an error as clients see it.
type refusal struct {
	code, description string
	status            int
	retryAfter        time.Duration
}

// codes holds the error codes of the standards, to which replies are limited: RFC 6749
// §4.1.2.1 and §5.2, RFC 8707 §2, and OpenID Connect Core 1.0 §3.1.2.6.
var codes = map[string]bool{
	"invalid_request": true, "invalid_client": true, "invalid_grant": true, "unauthorized_client": true, "unsupported_grant_type": true,
	"invalid_scope": true, "access_denied": true, "unsupported_response_type": true, "server_error": true, "temporarily_unavailable": true,
	"login_required": true, "consent_required": true, "request_not_supported": true, "request_uri_not_supported": true,
	"registration_not_supported": true, "unsupported_response_mode": true, "invalid_target": true,
}

// refusalOf returns the refusal for an error. The text of unexpected errors is logged and
// not shown.
func (s *Server) refusalOf(ctx context.Context, err error) refusal {
	var tooLarge *http.MaxBytesError
	var known *fosite.RFC6749Error
	var limited *limitedError
	var unusable *DocumentError
	var coded interface {
		error
		ProblemCode() string
	}
	switch {
	case errors.As(err, &unusable) && unusable.Wait > 0:
		return refusal{code: "temporarily_unavailable", description: "Too many programs were looked up. Try again later.",
			status: http.StatusTooManyRequests, retryAfter: unusable.Wait}
	case errors.As(err, &limited):
		return refusal{code: "temporarily_unavailable", description: "The client requests too many tokens. A token can be used until it expires.",
			status: http.StatusTooManyRequests, retryAfter: limited.wait}
	case errors.As(err, &tooLarge):
		return refusal{code: "invalid_request", description: "The body is too large.", status: http.StatusRequestEntityTooLarge}
	case errors.As(err, &known) && known.CodeField < http.StatusInternalServerError && known.ErrorField != "error":
		code := known.ErrorField
		if !codes[code] {
			code = "invalid_request"
		}
		return refusal{code: code, description: printable(known.GetDescription()), status: known.CodeField}
	case errors.As(err, &coded) && errors.Is(err, auth.ErrForbidden) && coded.ProblemCode() == "sso_required":
		return refusal{code: "access_denied", description: printable("sso_required: " + coded.Error() + "."), status: http.StatusForbidden}
	case errors.Is(err, auth.ErrForbidden), errors.Is(err, auth.ErrUnauthenticated):
		return refusal{code: "access_denied", description: "The user may not act in this organisation.", status: http.StatusForbidden}
	case errors.Is(err, auth.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		s.log.WarnContext(ctx, "authorization server unavailable", "error", err)
		return refusal{code: "temporarily_unavailable", description: "Try again later.", status: http.StatusServiceUnavailable,
			retryAfter: time.Second}
	}
	if ctx.Err() == nil {
		s.log.ErrorContext(ctx, "authorization server failed", "error", err)
	}
	return refusal{code: "server_error", description: "The request failed.", status: http.StatusInternalServerError}
}

// printable replaces the characters that RFC 6749 §5.2 excludes from descriptions.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return '?'
		}
		return r
	}, text)
}

// setRetryAfter sets the header of a refusal that ends with time.
func (r refusal) setRetryAfter(w http.ResponseWriter) {
	if r.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((r.retryAfter+time.Second-1)/time.Second)))
	}
}

// fail writes the reply of an endpoint for clients.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, out refusal) {
	if out.status == http.StatusUnauthorized && r.Header.Get("Authorization") != "" {
		w.Header().Set("WWW-Authenticate", `Basic realm="lakewarden"`)
	}
	out.setRetryAfter(w)
	reply(w, out.status, map[string]string{"error": out.code, "error_description": out.description})
}

// reply writes a JSON document that no cache stores.
func reply(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // bodies are made of texts and numbers
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("Pragma", "no-cache")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// form parses the body of a request, so that r.PostForm holds each parameter once.
func form(w http.ResponseWriter, r *http.Request) error {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/x-www-form-urlencoded" {
		return fosite.ErrInvalidRequest.WithHint("The body must be application/x-www-form-urlencoded.")
	}
	r.Body = http.MaxBytesReader(w, r.Body, MaxForm)
	if err := r.ParseForm(); err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return err
		}
		return fosite.ErrInvalidRequest.WithHint("The body cannot be read.")
	}
	if r.URL.RawQuery != "" {
		return fosite.ErrInvalidRequest.WithHint("Parameters belong in the body.")
	}
	if err := once(r.PostForm); err != nil {
		return err
	}
	if r.Header.Get("Authorization") != "" && r.PostForm.Has("client_secret") { // RFC 6749 §2.3
		return fosite.ErrInvalidRequest.WithHint("The client authenticates in more than one way.")
	}
	return nil
}

// once checks that no parameter is repeated: RFC 6749 §3.1 and §3.2.
func once(parameters url.Values) error {
	for _, values := range parameters {
		if len(values) > 1 {
			return fosite.ErrInvalidRequest.WithHint("A parameter is repeated.")
		}
	}
	return nil
}

// clientOf returns the client that a request claims to come from.
func clientOf(r *http.Request) string {
	if id, _, ok := r.BasicAuth(); ok {
		if id, err := url.QueryUnescape(id); err == nil {
			return bounded(id)
		}
	}
	return bounded(r.PostForm.Get("client_id"))
}

// bounded cuts a text of a client to the length of an audit entry's part.
func bounded(text string) string {
	const most = 100
	if len(text) > most {
		text = text[:most]
	}
	return strings.ToValidUTF8(text, "?")
}
