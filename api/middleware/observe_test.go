package middleware_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/middleware"
	"github.com/lakewarden/lakewarden/api/problem"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
)

// outcomes are requests with the status and route under which they must be counted.
var outcomes = []struct {
	name    string
	method  string
	path    string
	handler http.HandlerFunc
	gone    bool
	status  int
	route   string
}{
	{"good", "GET", "/v1/tables/payroll/rows?where=salary%3D123456", ok, false, 200, "/v1/tables/{table}/rows"},
	{"nothing written", "GET", "/v1/read", func(http.ResponseWriter, *http.Request) {}, false, 200, "/v1/read"},
	{"refused", "GET", "/v1/read", func(w http.ResponseWriter, r *http.Request) { problem.Write(w, r, catalog.ErrNotFound) }, false, 404,
		"/v1/read"},
	{"failed", "GET", "/v1/read", func(w http.ResponseWriter, r *http.Request) { problem.Write(w, r, errors.New("inner words")) }, false, 500,
		"/v1/read"},
	{"panicked", "GET", "/v1/read", func(http.ResponseWriter, *http.Request) { panic("boom") }, false, 500, "/v1/read"},
	{"cut by the handler", "GET", "/v1/read", func(w http.ResponseWriter, r *http.Request) { ok(w, r); panic(http.ErrAbortHandler) }, false,
		500, "/v1/read"},
	{"cut because rules changed", "GET", "/v1/read", func(w http.ResponseWriter, r *http.Request) {
		ok(w, r)
		_ = problem.Respond(r.Context(), errors.Join(errors.New("result incomplete"), &problem.Refusal{Code: "query_cancelled"}), false)
		panic(http.ErrAbortHandler)
	}, false, 409, "/v1/read"},
	{"panicked in the middle", "GET", "/v1/read", func(w http.ResponseWriter, r *http.Request) { ok(w, r); panic("boom") }, false, 500,
		"/v1/read"},
	{"panicked after a refusal", "GET", "/v1/read", func(w http.ResponseWriter, r *http.Request) {
		problem.Write(w, r, catalog.ErrNotFound)
		panic("boom")
	}, false, 500, "/v1/read"},
	{"client gone", "GET", "/v1/read", func(w http.ResponseWriter, r *http.Request) { problem.Write(w, r, r.Context().Err()) }, true, 499,
		"/v1/read"},
	{"client gone in the middle", "GET", "/v1/read", func(w http.ResponseWriter, r *http.Request) { ok(w, r); panic(http.ErrAbortHandler) },
		true, 499, "/v1/read"},
	{"no route", "GET", "/v1/secret/path?token=123456", ok, false, 404, "unmatched"},
	{"other method", "BREW", "/v1/tables/payroll/rows", ok, false, 405, "unmatched"},
}

func TestEveryRequestIsCountedAndLoggedOnce(t *testing.T) {
	for _, c := range outcomes {
		t.Run(c.name, func(t *testing.T) {
			registry := prometheus.NewPedanticRegistry()
			metrics := middleware.NewMetrics(registry)
			var log sink
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.gone {
				cancel()
			}
			func() {
				defer func() { _ = recover() }() // the server does the same with ErrAbortHandler
				serve(httptest.NewRequestWithContext(ctx, c.method, c.path, nil), c.handler,
					middleware.AccessLog(log.logger()), metrics.Handler, middleware.EmptyBodies, middleware.Recover(log.logger()))
			}()

			families, err := registry.Gather()
			require.NoError(t, err)
			requests := 0
			for _, family := range families {
				switch family.GetName() {
				case "lakewarden_http_request_seconds":
					for _, m := range family.GetMetric() {
						requests += int(m.GetHistogram().GetSampleCount())
						labels := map[string]string{}
						for _, l := range m.GetLabel() {
							labels[l.GetName()] = l.GetValue()
						}
						method := c.method
						if method == "BREW" {
							method = "OTHER"
						}
						require.Equal(t, map[string]string{"route": c.route, "method": method, "status": itoa(c.status)}, labels)
					}
				case "lakewarden_http_requests_in_flight":
					require.Zero(t, family.GetMetric()[0].GetGauge().GetValue())
				}
			}
			require.Equal(t, 1, requests)

			var access []map[string]any
			for _, line := range log.lines(t) {
				if line["msg"] == "request" {
					access = append(access, line)
				}
			}
			require.Len(t, access, 1)
			require.EqualValues(t, c.status, access[0]["status"])
			require.Equal(t, c.route, access[0]["route"])
			require.Equal(t, c.status >= 500, access[0]["level"] == "ERROR")
			require.NotContains(t, log.String(), "123456", "values of the query")
		})
	}
}

func itoa(n int) string {
	return string([]byte{byte('0' + n/100), byte('0' + n/10%10), byte('0' + n%10)})
}

func TestAccessLogNamesTheCallerAndTheCause(t *testing.T) {
	var log sink
	key := uuid.New()
	p := auth.Principal{OrgID: uuid.New(), UserID: uuid.New(), KeyID: &key, Email: "ada@example.com"}
	r := get(t, "/v1/read")
	r.Header.Set("Authorization", "Bearer abcdef")
	r.RemoteAddr = "192.0.2.7:1234"
	r.Header.Set("X-Forwarded-For", "203.0.113.9")
	serve(r, func(w http.ResponseWriter, r *http.Request) {
		problem.Write(w, r, &engine.Error{Kind: engine.KindFatal, Class: "fatal", Text: "disk I/O at 0x7f\r\nforged line"})
	}, middleware.AccessLog(log.logger()), middleware.Authenticate(fixed{p: p}, nil, nil))
	lines := log.lines(t)
	require.Len(t, lines, 1, "a line end in a message must not start a line")
	require.Equal(t, p.OrgID.String(), lines[0]["org_id"])
	require.Equal(t, p.UserID.String(), lines[0]["user_id"])
	require.Equal(t, key.String(), lines[0]["key_id"])
	require.Equal(t, "192.0.2.7", lines[0]["remote"])
	require.Contains(t, lines[0]["error"], "disk I/O", "what the engine said is for the log")
	require.NotContains(t, log.String(), "abcdef")
	require.NotContains(t, log.String(), "ada@example.com")
}

// TestAccessLogLevels checks that a full queue is visible in the metrics and not logged
// as an error.
func TestAccessLogLevels(t *testing.T) {
	for want, err := range map[string]error{
		"WARN": &problem.Refusal{Code: "server_busy"}, "ERROR": &engine.Error{Kind: engine.KindFatal},
		"INFO": catalog.ErrNotFound,
	} {
		var log sink
		serve(get(t, "/v1/read"), func(w http.ResponseWriter, r *http.Request) { problem.Write(w, r, err) }, middleware.AccessLog(log.logger()))
		require.Equal(t, want, log.lines(t)[0]["level"], "%v", err)
	}
	var log sink
	serve(get(t, "/v1/read"), func(w http.ResponseWriter, r *http.Request) {
		problem.Write(w, r, &problem.Refusal{Code: "unavailable"})
	}, middleware.AccessLog(log.logger()))
	require.Equal(t, "ERROR", log.lines(t)[0]["level"], "a 503 of another cause")
}
