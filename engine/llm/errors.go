package llm

import "errors"

// Errors of a Client; test with errors.Is. All other errors are defects of the request that
// was passed in.
var (
	// ErrRejected: the vendor refuses the request. The key is not accepted (401, 403), or
	// the model does not exist for it, or the address is not that of the API (other 4xx).
	// A retry is pointless until the configuration changes.
	ErrRejected = errors.New("model provider refuses the request")
	// ErrLimited: the vendor's limit of requests or tokens is reached (429), also after
	// retries. Retry later.
	ErrLimited = errors.New("model provider limits requests")
	// ErrUnavailable: the vendor cannot be reached, fails (5xx), redirects, or did not answer
	// in time, also after retries. It is also returned, wrapping the context's error, when
	// the context of the call ends. Retry later.
	ErrUnavailable = errors.New("model provider unavailable")
	// ErrMalformed: the reply is not what was asked for. It is not JSON, too large, cut at
	// the limit of tokens, or a refusal of the model. Another try may succeed. If a model
	// answered, the Reply that comes with this error has the numbers of its tokens.
	ErrMalformed = errors.New("model reply malformed")
)

// failure is an error whose text names the sentinel and a reason of this package. Its cause
// can be tested for, but is not part of the text: it may quote what was sent or received.
type failure struct {
	sentinel error
	reason   string
	cause    error
}

// Error implements error.
func (f *failure) Error() string { return f.sentinel.Error() + ": " + f.reason }

// Unwrap returns the sentinel and the cause.
func (f *failure) Unwrap() []error {
	if f.cause == nil {
		return []error{f.sentinel}
	}
	return []error{f.sentinel, f.cause}
}

// malformed returns an ErrMalformed with a reason.
func malformed(reason string) error { return &failure{sentinel: ErrMalformed, reason: reason} }
