package middleware_test

import (
	"context"
	"errors"
	"fmt"
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
			w := serve(r, func(http.ResponseWriter, *http.Request) { t.Error("handler reached") }, middleware.Authenticate(fixed{p: p}, nil, nil))
			requireProblem(t, w, 401, "unauthenticated")
			require.Equal(t, c.challenge, w.Header().Get("WWW-Authenticate"))
		})
	}
	for _, header := range []string{"Bearer abcdef", "bearer abcdef", "BEARER  abcdef "} {
		r := get(t, "/v1/read")
		r.Header.Set("Authorization", header)
		var got auth.Principal
		w := serve(r, func(_ http.ResponseWriter, r *http.Request) { got, _ = auth.PrincipalFrom(r.Context()) },
			middleware.Authenticate(fixed{p: p}, nil, nil))
		require.Equal(t, 200, w.Code, header)
		require.Equal(t, w.Header().Get("X-Request-Id"), got.RequestID)
		got.RequestID = ""
		p.Remote = "192.0.2.1"
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
		w := serve(r, ok, middleware.Authenticate(fixed{err: c.err}, nil, nil))
		requireProblem(t, w, c.status, c.code)
		require.NotContains(t, w.Body.String(), "secret")
	}
}

// wrong sends invalid credentials with the given prefixes and accounts to a handler
// behind Authenticate.
type wrong struct {
	t        *testing.T
	at       time.Time
	failures *middleware.Failures
	heard    int        // refusals that were reported individually
	limited  [][]string // reports for a whole minute
}

func newWrong(t *testing.T) *wrong {
	f := &wrong{t: t, at: time.Unix(1_800_000_000, 0)}
	f.failures = middleware.NewFailures(middleware.Rate{PerMinute: 6, Burst: 3}, func() time.Time { return f.at })
	return f
}

func (f *wrong) send(address, token string, refusal *auth.Refusal) int {
	f.t.Helper()
	r := get(f.t, "/v1/read")
	r.RemoteAddr = address
	r.Header.Set("Authorization", "Bearer "+token)
	var authenticator auth.Authenticator = fixed{}
	if refusal != nil {
		refusal.Cause = auth.ErrUnauthenticated
		authenticator = fixed{err: refusal}
	}
	w := serve(r, ok, middleware.Authenticate(authenticator, f.failures, func(_ *http.Request, _ *auth.Refusal, limited []string) {
		if limited != nil {
			f.limited = append(f.limited, limited)
			return
		}
		f.heard++
	}))
	if w.Code == 429 {
		requireProblem(f.t, w, 429, "rate_limited")
		require.Equal(f.t, "10", w.Header().Get("Retry-After"))
	}
	return w.Code
}

// A flood of invalid credentials is refused. Other clients at that address, and the
// holder of the guessed key, are not affected.
func TestWrongCredentialsNeverBlockValidOnes(t *testing.T) {
	f := newWrong(t)
	claim := func() *auth.Refusal { return &auth.Refusal{Prefix: "lw_abcdefgh", Account: "ana"} }
	for range 3 {
		require.Equal(t, 401, f.send("192.0.2.1:1", "guess", claim()))
	}
	for range 500 {
		require.Equal(t, 429, f.send("192.0.2.1:1", "guess", claim()))
		require.Equal(t, 200, f.send("192.0.2.1:1", "abcdef", nil))
	}
	require.Equal(t, 3, f.heard, "what is answered with 429 is not reported again")
	require.Equal(t, 401, f.send("192.0.2.2:1", "guess", &auth.Refusal{Prefix: "lw_zzzzzzzz"}), "another address and prefix")
	f.at = f.at.Add(10 * time.Second)
	require.Equal(t, 401, f.send("192.0.2.1:1", "guess", claim()))
	require.Equal(t, 429, f.send("192.0.2.1:1", "guess", claim()))
}

// Refusals beyond the rate are reported once a minute for each name that exceeds it,
// however many there are.
func TestRefusalsBeyondTheRateAreReportedOnceAMinute(t *testing.T) {
	f := newWrong(t)
	flood := func(address string, refusal auth.Refusal) (reported [][]string) {
		f.limited = nil
		for range 200 {
			f.send(address, "guess", &refusal)
		}
		return f.limited
	}
	claim := auth.Refusal{Prefix: "lw_abcdefgh", Account: "ana"}
	require.Equal(t, [][]string{{"address", "prefix", "account"}}, flood("192.0.2.1:1", claim))
	require.Empty(t, flood("192.0.2.1:1", claim), "the same names in the same minute")
	require.Equal(t, [][]string{{"address"}}, flood("192.0.2.2:1", claim), "another address")
	require.Equal(t, [][]string{{"prefix"}}, flood("192.0.2.1:1", auth.Refusal{Prefix: "lw_zzzzzzzz"}))
	f.at = f.at.Add(time.Minute)
	heard := f.heard
	require.Equal(t, [][]string{{"address", "prefix", "account"}}, flood("192.0.2.1:1", claim), "another minute")
	require.Equal(t, 3, f.heard-heard, "those within the rate are reported one by one")
}

// A client that guesses from many addresses is counted by the prefix or account of its
// guesses.
func TestFailuresAreCountedByAddressPrefixAndAccount(t *testing.T) {
	for name, names := range map[string]func(i int) (address string, refusal *auth.Refusal){
		"address": func(i int) (string, *auth.Refusal) {
			return "192.0.2.1:1", &auth.Refusal{Prefix: fmt.Sprint("lw_", i), Account: fmt.Sprint("user ", i)}
		},
		"network": func(i int) (string, *auth.Refusal) { return fmt.Sprintf("[2001:db8::%x]:1", i), &auth.Refusal{} },
		"prefix": func(i int) (string, *auth.Refusal) {
			return fmt.Sprintf("192.0.2.%d:1", i), &auth.Refusal{Prefix: "lw_a", Account: fmt.Sprint("user ", i)}
		},
		"account": func(i int) (string, *auth.Refusal) {
			return fmt.Sprintf("[2001:db8:%x::1]:1", i), &auth.Refusal{Prefix: fmt.Sprint("lw_", i), Account: "ana"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newWrong(t)
			for i := range 12 {
				want := 401
				if i >= 3 {
					want = 429
				}
				address, refusal := names(i)
				require.Equal(t, want, f.send(address, "guess", refusal), i)
			}
			require.Equal(t, 401, f.send("198.51.100.1:1", "guess", &auth.Refusal{Prefix: "lw_other", Account: "ben"}))
		})
	}
}

// The memory of the counters is bounded however many names a flood uses, and valid
// clients that share a slot with it are not affected.
func TestFailureCountersAreBounded(t *testing.T) {
	f := newWrong(t)
	for i := range 300_000 {
		refusal := &auth.Refusal{Prefix: fmt.Sprint("lw_", i), Account: fmt.Sprint("user ", i), Cause: auth.ErrUnauthenticated}
		f.failures.Count(fmt.Sprintf("2001:db8:%x:%x::1", i>>16, i&0xffff), refusal)
	}
	require.LessOrEqual(t, f.failures.Entries(), 2<<16, "of refusals, and of reports")
	require.Equal(t, 200, f.send("192.0.2.1:1", "abcdef", nil))
}
