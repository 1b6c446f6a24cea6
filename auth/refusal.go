package auth

// Refusal is a refused credential with the identity that it claims, which allows
// refusals to be counted. It wraps the sentinel of the cause.
//
// A claim is unverified: anyone who knows a prefix or a subject can claim it. No
// decision about an accepted credential may depend on a claim.
type Refusal struct {
	// Prefix is the visible part of an API key, or empty.
	Prefix string
	// Account is a stable name of the claimed account, or empty: the owner of the
	// API key with that prefix, or the issuer and subject of a token.
	Account string
	// Cause is the reason of the refusal. It wraps [ErrUnauthenticated].
	Cause error
}

// Error returns the text of the cause. It contains no part of the credential.
func (r *Refusal) Error() string { return r.Cause.Error() }

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Cause }
