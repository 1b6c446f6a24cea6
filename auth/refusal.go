package auth

// Refusal is a refused credential together with what the credential claims
// about itself, so that refusals can be counted. It wraps the sentinel that
// says why.
//
// Nothing about a claim is proved: whoever knows a prefix or a subject can claim
// it. A claim must not decide anything about a credential that is accepted.
type Refusal struct {
	// Prefix is the visible part of an API key, or empty.
	Prefix string
	// Account is a stable name for who the credential speaks for, or empty: the
	// owner of the API key with that prefix, or the issuer and subject of a token.
	Account string
	// Cause says why; it wraps [ErrUnauthenticated].
	Cause error
}

// Error returns the text of the cause. It holds no part of the credential.
func (r *Refusal) Error() string { return r.Cause.Error() }

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Cause }
