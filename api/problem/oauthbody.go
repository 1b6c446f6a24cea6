package problem

import (
	"context"
	"net/http"
)

type oauthKey struct{}

// WithOAuthBody returns a context that makes [Write] encode errors in the format of OAuth, with the
// members error and error_description (RFC 6749 §5.2, RFC 7591 §3.2.2).
func WithOAuthBody(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauthKey{}, true)
}

// oauthBody is the body of an error at the endpoints of the authorization server.
type oauthBody struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
}

// bodyOf returns the body of a reply: that of OAuth if the context requests it.
func bodyOf(ctx context.Context, r *Reply) any {
	if ctx.Value(oauthKey{}) == nil {
		return r.Body
	}
	code := "invalid_request"
	switch {
	case r.status == http.StatusUnauthorized:
		code = "invalid_token"
	case r.status == http.StatusForbidden:
		code = "insufficient_scope"
	case r.status == http.StatusTooManyRequests, r.status == http.StatusServiceUnavailable:
		code = "temporarily_unavailable"
	case r.status >= http.StatusInternalServerError:
		code = "server_error"
	}
	return oauthBody{code, r.Message}
}
