package session

// Tokens is what a program gets for a session, in the form of RFC 6749 §5.1.
type Tokens struct {
	AccessToken string `json:"access_token"`
	// RefreshToken is empty for the session of a service account.
	RefreshToken string `json:"refresh_token,omitempty"`
	TokenType    string `json:"token_type"`
	// ExpiresIn is the life of the access token in seconds.
	ExpiresIn int64 `json:"expires_in"`
	// Scope holds the scopes of the access token, separated by spaces.
	Scope string `json:"scope"`
}
