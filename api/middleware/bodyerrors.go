package middleware

import (
	"errors"
	"io"
	"net/http"

	"github.com/lakewarden/lakewarden/api/problem"
)

// BodyErrors reports a body that cannot be read to its end, for example because of broken
// chunks, as an error of the client. A body above its limit and a truncated body have
// errors of their own.
func BodyErrors(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil && r.Body != http.NoBody {
			r.Body = &bodyErrors{ReadCloser: r.Body, request: r}
		}
		next.ServeHTTP(w, r)
	})
}

type bodyErrors struct {
	io.ReadCloser
	request *http.Request
}

// Read implements io.Reader.
func (b *bodyErrors) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	var tooLarge *http.MaxBytesError
	switch {
	case err == nil, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &tooLarge):
		return n, err
	case b.request.Context().Err() != nil: // the client disconnected
		return n, err
	}
	return n, &problem.Refusal{
		Code: "invalid_body", Cause: err,
		Details: []problem.Detail{{Field: "body", Message: "cannot be read to its end"}},
	}
}
