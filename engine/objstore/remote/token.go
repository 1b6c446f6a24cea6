package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// Token is a bearer token.
type Token struct {
	Value    string
	Lifetime time.Duration
}

// Tokens caches the bearer token of one credential and renews it in time. It is safe for concurrent
// use.
type Tokens struct {
	fetch  func(context.Context) (Token, error)
	now    func() time.Time
	flight singleflight.Group

	mu      sync.Mutex
	value   string
	renew   time.Time
	expires time.Time
}

// NewTokens returns an empty cache. fetch requests a token; Exchange does so over HTTP. Several
// callers that need a token share one call, which does not end with the context of one of them.
func NewTokens(fetch func(context.Context) (Token, error)) *Tokens {
	return &Tokens{fetch: fetch, now: time.Now}
}

// renewal is the maximum time before its end at which a token is renewed.
const renewal = 5 * time.Minute

// Get returns a token that has not expired. If the renewal of a token fails before the token
// expires, the token is still used. Classify maps the errors.
func (t *Tokens) Get(ctx context.Context) (string, error) {
	if value := t.cached(func() time.Time { return t.renew }); value != "" {
		return value, nil
	}
	done := t.flight.DoChan("", func() (any, error) {
		token, err := t.fetch(context.Background())
		if err == nil {
			t.set(token)
		}
		return token.Value, err
	})
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case result := <-done:
		if result.Err == nil {
			return result.Val.(string), nil
		}
		if value := t.cached(func() time.Time { return t.expires }); value != "" {
			return value, nil
		}
		return "", CredentialFailed(result.Err)
	}
}

// cached returns the token before a time, which is read under the lock.
func (t *Tokens) cached(until func() time.Time) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.now().Before(until()) {
		return ""
	}
	return t.value
}

func (t *Tokens) set(token Token) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.value, t.expires = token.Value, t.now().Add(token.Lifetime)
	t.renew = t.expires.Add(-min(renewal, token.Lifetime/4))
}

// Reject drops a token that the store did not accept. The next Get requests another.
func (t *Tokens) Reject(value string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.value == value {
		t.value = ""
	}
}

// tokenError is a failure of the request for a token, as opposed to one of the request that needs
// it. It wraps an error of objstore.
type tokenError struct{ err error }

// Error implements error.
func (e *tokenError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *tokenError) Unwrap() error { return e.err }

// CredentialFailed returns a failure of a request for a credential, which wraps an error of
// objstore. Classify returns err itself.
func CredentialFailed(err error) error { return &tokenError{err} }

// maxReply bounds the reply to a request for a token, in bytes.
const maxReply = 64 << 10

// Exchange requests a token as OAuth 2.0 defines it. request makes the request of an attempt. The
// errors are ErrCredential if the credential is refused, and ErrUnavailable.
func Exchange(ctx context.Context, client *http.Client, l Limits, request func(context.Context) (*http.Request, error)) (Token, error) {
	for attempt := 1; ; attempt++ {
		token, again, err := exchange(ctx, client, request)
		if err == nil || !again || attempt >= l.Attempts {
			return token, err
		}
		if err := Pause(ctx, attempt, l.Backoff); err != nil {
			return Token{}, err
		}
	}
}

// exchange makes one attempt. again reports whether another one can succeed.
func exchange(ctx context.Context, client *http.Client, request func(context.Context) (*http.Request, error)) (
	_ Token, again bool, _ error) {
	r, err := request(ctx)
	if err != nil {
		return Token{}, false, err
	}
	resp, err := client.Do(r)
	if err != nil {
		return Token{}, !IsTimeout(err), fmt.Errorf("%w: token: %s", objstore.ErrUnavailable, network(err))
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if err != nil {
		return Token{}, !IsTimeout(err), fmt.Errorf("%w: token: %s", objstore.ErrUnavailable, network(err))
	}
	if resp.StatusCode == http.StatusOK {
		token, err := parseToken(body)
		return token, false, err
	}
	again, err = refusal(resp.StatusCode, body)
	return Token{}, again, err
}

// refusal maps a reply that has no token.
func refusal(status int, body []byte) (again bool, _ error) {
	var reply struct {
		Error string `json:"error"`
	}
	_ = json.Unmarshal(body, &reply) // a reply without JSON has no code
	switch status {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
		return false, fmt.Errorf("%w (token: %d%s)", objstore.ErrCredential, status, suffix(reply.Error))
	}
	again = status >= 500 || status == http.StatusRequestTimeout || status == http.StatusTooManyRequests
	return again, fmt.Errorf("%w (token: %d%s)", objstore.ErrUnavailable, status, suffix(reply.Error))
}

// errToken: the reply has no token, or one of an unknown lifetime.
var errToken = fmt.Errorf("%w: token: unreadable answer", objstore.ErrUnavailable)

func parseToken(body []byte) (Token, error) {
	var reply struct {
		AccessToken string `json:"access_token"`
		// A Number is decoded from a JSON string too, which some services send.
		ExpiresIn json.Number `json:"expires_in"`
		ExpiresOn json.Number `json:"expires_on"`
	}
	if err := json.Unmarshal(body, &reply); err != nil {
		return Token{}, errToken
	}
	lifetime, err := reply.ExpiresIn.Int64()
	if err != nil {
		end, endErr := reply.ExpiresOn.Int64()
		lifetime, err = end-time.Now().Unix(), endErr
	}
	if err != nil || lifetime <= 0 || reply.AccessToken == "" || !headerText(reply.AccessToken) {
		return Token{}, errToken
	}
	const most = int64(7 * 24 * time.Hour / time.Second)
	return Token{Value: reply.AccessToken, Lifetime: time.Duration(min(lifetime, most)) * time.Second}, nil
}

// headerText reports whether a token can be sent in a header.
func headerText(token string) bool {
	for _, c := range []byte(token) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return true
}

// Bearer returns a transport that authorises requests with a token. rejects reports whether a reply
// means that the token is not accepted; nil means that status 401 does.
func Bearer(inner http.RoundTripper, tokens *Tokens, rejects func(*http.Response) bool) http.RoundTripper {
	if rejects == nil {
		rejects = func(r *http.Response) bool { return r.StatusCode == http.StatusUnauthorized }
	}
	return bearer{inner, tokens, rejects}
}

type bearer struct {
	inner   http.RoundTripper
	tokens  *Tokens
	rejects func(*http.Response) bool
}

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	value, err := b.tokens.Get(r.Context())
	if err != nil {
		if r.Body != nil {
			err = errors.Join(err, r.Body.Close())
		}
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+value)
	resp, err := b.inner.RoundTrip(r)
	if err == nil && b.rejects(resp) {
		b.tokens.Reject(value)
	}
	return resp, err
}
