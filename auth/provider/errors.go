package provider

import "errors"

var (
	// ErrUnknown is returned by [Providers.Provider] for a name without a preset, and for
	// a preset without addresses because the operator named no issuer. It becomes 404.
	ErrUnknown = errors.New("provider not configured")
	// ErrGrant is returned if the provider refuses a code or a refresh token. A retry does
	// not help: the member has to link again.
	ErrGrant = errors.New("provider refused the grant")
	// ErrClient is returned if the provider refuses the client, its secret or the request.
	// A retry does not help: the application has to be registered again.
	ErrClient = errors.New("provider refused the client")
	// ErrUnavailable is returned if the provider cannot be reached, or its reply cannot be
	// used. Retry later.
	ErrUnavailable = errors.New("provider unavailable")
)
