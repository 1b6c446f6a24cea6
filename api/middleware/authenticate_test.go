package middleware_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/middleware"
	"github.com/lakewarden/lakewarden/auth"
)

// fixed accepts the token abcdef as its principal.
type fixed struct {
	p     auth.Principal
	err   error
	calls *int
}

func (f fixed) Authenticate(_ context.Context, bearer string) (auth.Principal, error) {
	if f.calls != nil {
		*f.calls++
	}
	if f.err != nil {
		return auth.Principal{}, f.err
	}
	if bearer != "abcdef" {
		return auth.Principal{}, auth.ErrUnauthenticated
	}
	return f.p, nil
}

const bare, invalid = `Bearer realm="lakewarden"`, `Bearer realm="lakewarden", error="invalid_token"`

func TestOnlyOneGoodBearerCredentialPasses(t *testing.T) {
	p := auth.Principal{OrgID: uuid.New(), UserID: uuid.New()}
	for _, c := range []struct {
		name      string
		header    []string
		challenge string
	}{
		{"none", nil, bare},
		{"empty", []string{""}, bare},
		{"basic", []string{"Basic YTpi"}, bare},
		{"scheme only", []string{"Bearer"}, invalid},
		{"scheme and space", []string{"Bearer "}, invalid},
		{"token without scheme", []string{"abcdef"}, bare},
		{"scheme run together", []string{"Bearerabcdef"}, bare},
		{"tab", []string{"Bearer\tabcdef"}, bare},
		{"two tokens", []string{"Bearer abcdef abcdef"}, invalid},
		{"comma", []string{"Bearer abcdef,abcdef"}, invalid},
		{"quoted", []string{`Bearer "abcdef"`}, invalid},
		{"two headers", []string{"Bearer abcdef", "Bearer abcdef"}, invalid},
		{"basic and bearer", []string{"Basic YTpi", "Bearer abcdef"}, invalid},
		{"control character", []string{"Bearer abc\x00def"}, invalid},
		{"not ASCII", []string{"Bearer abcdéf"}, invalid},
		{"too long", []string{"Bearer " + strings.Repeat("a", 9000)}, invalid},
		{"wrong", []string{"Bearer abcdeg"}, invalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := get(t, "/v1/read?access_token=abcdef")
			r.Header["Authorization"] = c.header
			w := serve(r, func(http.ResponseWriter, *http.Request) { t.Error("handler reached") }, middleware.Authenticate(fixed{p: p}, nil))
			requireProblem(t, w, 401, "unauthenticated")
			require.Equal(t, c.challenge, w.Header().Get("WWW-Authenticate"))
		})
	}
	for _, header := range []string{"Bearer abcdef", "bearer abcdef", "BEARER  abcdef "} {
		r := get(t, "/v1/read")
		r.Header.Set("Authorization", header)
		var got auth.Principal
		w := serve(r, func(_ http.ResponseWriter, r *http.Request) { got, _ = auth.PrincipalFrom(r.Context()) }, middleware.Authenticate(fixed{p: p}, nil))
		require.Equal(t, 200, w.Code, header)
		require.Equal(t, w.Header().Get("X-Request-Id"), got.RequestID)
		got.RequestID = ""
		require.Equal(t, p, got)
	}
}

func TestAuthenticationErrorsKeepTheirKind(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		code   string
	}{
		{auth.ErrExpired, 401, "credential_expired"},
		{auth.ErrRevoked, 401, "credential_revoked"},
		{auth.ErrNoMember, 401, "unauthenticated"},
		{auth.ErrUnavailable, 503, "unavailable"},
		{errors.New("pgx: secret"), 500, "internal_error"},
	} {
		r := get(t, "/v1/read")
		r.Header.Set("Authorization", "Bearer abcdef")
		w := serve(r, ok, middleware.Authenticate(fixed{err: c.err}, nil))
		requireProblem(t, w, c.status, c.code)
		require.NotContains(t, w.Body.String(), "secret")
	}
}

func TestGuessingIsSlowedDownByAddress(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	calls := 0
	failures := middleware.NewLimiter(middleware.Rate{PerMinute: 6, Burst: 3}, func() time.Time { return at })
	send := func(address, token string) int {
		r := get(t, "/v1/read")
		r.RemoteAddr = address
		r.Header.Set("Authorization", "Bearer "+token)
		w := serve(r, ok, middleware.Authenticate(fixed{calls: &calls}, failures))
		if w.Code == 429 {
			require.Equal(t, "10", w.Header().Get("Retry-After"))
		}
		return w.Code
	}
	for range 10 {
		require.Equal(t, 200, send("192.0.2.1:1", "abcdef"), "accepted credentials are not counted")
	}
	for range 3 {
		require.Equal(t, 401, send("192.0.2.1:2", "guess"))
	}
	calls = 0
	require.Equal(t, 429, send("192.0.2.1:3", "guess"))
	require.Zero(t, calls, "turned away before it costs anything")
	require.Equal(t, 401, send("192.0.2.2:1", "guess"), "another address")
	at = at.Add(10 * time.Second)
	require.Equal(t, 200, send("192.0.2.1:4", "abcdef"))
}
