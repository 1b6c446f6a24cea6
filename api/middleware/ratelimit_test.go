package middleware_test

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/api/middleware"
	"github.com/lakewarden/lakewarden/auth"
)

// A limiter is compared with a token bucket that fills exactly, in integer units of
// 1/PerMinute of a nanosecond-minute.
func TestLimiterIsATokenBucket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		perMinute := rapid.SampledFrom([]int{1, 6, 60, 600, 6000}).Draw(t, "per minute")
		burst := rapid.IntRange(1, 20).Draw(t, "burst")
		at := time.Unix(1_800_000_000, 0)
		limiter := middleware.NewLimiter(middleware.Rate{PerMinute: perMinute, Burst: burst}, func() time.Time { return at })
		interval := time.Minute / time.Duration(perMinute)
		full := interval * time.Duration(burst)
		level := full // of the bucket, in time
		for range rapid.IntRange(1, 60).Draw(t, "calls") {
			pause := time.Duration(rapid.Int64Range(0, int64(3*interval)).Draw(t, "pause"))
			at = at.Add(pause)
			level = min(full, level+pause)
			d := limiter.Take("caller")
			require.Equal(t, level >= interval, d.Allowed)
			if d.Allowed {
				level -= interval
				require.Zero(t, d.RetryAfter)
				require.Equal(t, int(level/interval), d.Remaining)
			} else {
				require.Equal(t, interval-level, d.RetryAfter)
				require.Zero(t, d.Remaining)
			}
			require.Equal(t, full-level, d.Reset)
		}
	})
}

func TestLimiterUnderManyCallersAtOnce(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	limiter := middleware.NewLimiter(middleware.Rate{PerMinute: 6000, Burst: 200}, func() time.Time { return at })
	var allowed atomic.Int64
	var callers sync.WaitGroup
	for range 16 {
		callers.Go(func() {
			for range 100 {
				if limiter.Take("one").Allowed {
					allowed.Add(1)
				}
			}
		})
	}
	callers.Wait()
	require.EqualValues(t, 200, allowed.Load())
}

// Callers that call once and never again must not occupy memory forever.
func TestLimiterForgetsIdleCallers(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	limiter := middleware.NewLimiter(middleware.Rate{PerMinute: 60, Burst: 1}, func() time.Time { return at })
	for i := range 200_000 {
		limiter.Take(strconv.Itoa(i))
		at = at.Add(time.Millisecond) // so about 1,000 callers have entries at a time
	}
	require.Less(t, limiter.Entries(), 10_000)
	require.False(t, limiter.Take("199999").Allowed, "a recent one is remembered")
}

func TestRateLimitByCaller(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	limiter := middleware.NewLimiter(middleware.Rate{PerMinute: 60, Burst: 2}, func() time.Time { return at })
	wide := middleware.NewLimiter(middleware.Rate{PerMinute: 600, Burst: 20}, func() time.Time { return at })
	send := func(p *auth.Principal, address string) (int, http.Header) {
		r := get(t, "/v1/read")
		r.RemoteAddr = address
		if p != nil {
			r = r.WithContext(auth.WithPrincipal(r.Context(), *p))
		}
		w := serve(r, ok, middleware.RateLimits{Caller: limiter, Organisation: wide}.Handler)
		if w.Code == 429 {
			requireProblem(t, w, 429, "rate_limited")
		}
		return w.Code, w.Header()
	}
	one, two := uuid.New(), uuid.New()
	user, org := uuid.New(), uuid.New()
	callers := []*auth.Principal{
		{OrgID: org, UserID: user, KeyID: &one},
		{OrgID: org, UserID: user, KeyID: &two},
		{OrgID: org, UserID: user},
		{OrgID: uuid.New(), UserID: user},
		{UserID: user}, // without an organisation
		nil,
	}
	for i, p := range callers {
		address := fmt.Sprintf("192.0.2.1:%d", i)
		for want := 1; want >= 0; want-- {
			status, h := send(p, address)
			require.Equal(t, 200, status, "caller %d has a rate of its own", i)
			require.Equal(t, strconv.Itoa(want), h.Get("RateLimit-Remaining"))
			require.Equal(t, "2", h.Get("RateLimit-Limit"))
			policy := "60;w=60;burst=2"
			if p != nil && p.OrgID != uuid.Nil {
				policy += ", 600;w=60;burst=20"
			}
			require.Equal(t, policy, h.Get("RateLimit-Policy"))
		}
		status, h := send(p, address)
		require.Equal(t, 429, status)
		require.Equal(t, "1", h.Get("Retry-After"))
		require.Equal(t, "2", h.Get("RateLimit-Reset"))
	}
	status, _ := send(nil, "192.0.2.2:1")
	require.Equal(t, 200, status, "another address")
	for i, want := range []int{200, 200, 429} {
		status, _ := send(nil, fmt.Sprintf("[2001:db8::%d]:1", i+1))
		require.Equal(t, want, status, "addresses of one client")
	}
	at = at.Add(time.Second)
	status, _ = send(callers[0], "192.0.2.1:9")
	require.Equal(t, 200, status)
}

func TestRateLimitByOrganisation(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	clock := func() time.Time { return at }
	limits := middleware.RateLimits{
		Caller:       middleware.NewLimiter(middleware.Rate{PerMinute: 60, Burst: 3}, clock),
		Organisation: middleware.NewLimiter(middleware.Rate{PerMinute: 120, Burst: 4}, clock),
	}
	send := func(p auth.Principal) (int, http.Header) {
		r := get(t, "/v1/read")
		w := serve(r.WithContext(auth.WithPrincipal(r.Context(), p)), ok, limits.Handler)
		return w.Code, w.Header()
	}
	one, two := uuid.New(), uuid.New()
	org := uuid.New()
	first, second := auth.Principal{OrgID: org, UserID: uuid.New(), KeyID: &one}, auth.Principal{OrgID: org, UserID: uuid.New(), KeyID: &two}
	requireState := func(p auth.Principal, status int, limit, remaining string) {
		t.Helper()
		got, h := send(p)
		require.Equal(t, status, got)
		require.Equal(t, limit, h.Get("RateLimit-Limit"))
		require.Equal(t, remaining, h.Get("RateLimit-Remaining"))
		require.Equal(t, "60;w=60;burst=3, 120;w=60;burst=4", h.Get("RateLimit-Policy"))
		require.Equal(t, status == 429, h.Get("Retry-After") != "")
	}
	requireState(first, 200, "3", "2") // what is reached first
	requireState(first, 200, "3", "1")
	requireState(second, 200, "4", "1")
	requireState(first, 200, "3", "0")
	requireState(first, 429, "3", "0")  // by the key: costs the organisation nothing
	requireState(second, 429, "4", "0") // by the organisation: costs the key nothing
	requireState(auth.Principal{OrgID: uuid.New(), UserID: second.UserID}, 200, "3", "2")

	at = at.Add(500 * time.Millisecond)
	requireState(second, 200, "4", "0")
	at = at.Add(time.Hour)
	requireState(second, 200, "3", "2")
}
