package problem_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/problem"
	"github.com/lakewarden/lakewarden/catalog"
)

type echoInput struct {
	ID    string `path:"id" format:"uuid"`
	Limit int    `query:"limit" minimum:"1" maximum:"10" default:"1"`
	Much  int    `query:"much" maximum:"86400000"`
	Body  struct {
		Name   string   `json:"name" minLength:"2"`
		Link   string   `json:"link,omitempty" format:"uri"`
		Owner  string   `json:"owner,omitempty" format:"email"`
		Scopes []string `json:"scopes,omitempty" maxItems:"2"`
	}
}

func framework(t *testing.T) http.Handler {
	old := huma.NewErrorWithContext
	huma.NewErrorWithContext = problem.Validation
	t.Cleanup(func() { huma.NewErrorWithContext = old })
	router := chi.NewMux()
	config := huma.DefaultConfig("test", "1")
	config.CreateHooks = nil // no $schema member
	config.RejectUnknownQueryParameters = true
	api := humachi.New(router, config)
	huma.Register(api, huma.Operation{OperationID: "echo", Method: http.MethodPost, Path: "/echo/{id}"},
		func(ctx context.Context, in *echoInput) (*struct{}, error) {
			switch in.Body.Name {
			case "missing":
				return nil, problem.Respond(ctx, catalog.ErrNotFound, true)
			case "defect":
				return nil, context.DeadlineExceeded
			case "busy":
				return nil, problem.Respond(ctx, &problem.Refusal{Code: "server_busy"}, true)
			}
			return nil, nil
		})
	return router
}

func TestFrameworkErrorsWearOurBody(t *testing.T) {
	handler := framework(t)
	const id = "/echo/6ba7b810-9dad-11d1-80b4-00c04fd430c8"
	for _, c := range []struct {
		name, path, contentType, body string
		status                        int
		code                          string
		fields                        []string
	}{
		{"good", id, "application/json", `{"name":"ab"}`, 204, "", nil},
		{"no body", id, "application/json", ``, 400, "invalid_body", nil},
		{"broken", id, "application/json", `{"name":"CANARY`, 400, "invalid_body", nil},
		{"format", id, "application/x-canary", `{"name":"CANARY"}`, 400, "unsupported_media_type", []string{"Content-Type"}},
		{"unknown field", id, "application/json", `{"name":"ab","CANARYX":1}`, 422, "invalid_field", []string{"CANARYX"}},
		{"missing field", id, "application/json", `{}`, 422, "invalid_field", []string{"name"}},
		{"type", id, "application/json", `{"name":7}`, 422, "invalid_field", []string{"name"}},
		{"too short", id, "application/json", `{"name":"x"}`, 422, "invalid_field", []string{"name"}},
		{"two fields", id, "application/json", `{"name":"x","scopes":["CANARY","b","c"]}`, 422, "invalid_field", []string{"name", "scopes"}},
		{"value in the parser's message", id, "application/json", `{"name":"ab","link":"://CANARY"}`, 422, "invalid_field", []string{"link"}},
		{"address", id, "application/json", `{"name":"ab","owner":"CANARY"}`, 422, "invalid_field", []string{"owner"}},
		{"path", "/echo/CANARY", "application/json", `{"name":"ab"}`, 422, "invalid_field", []string{"id"}},
		{"query", id + "?limit=CANARY", "application/json", `{"name":"ab"}`, 422, "invalid_field", []string{"limit"}},
		{"query out of range", id + "?limit=11", "application/json", `{"name":"ab"}`, 422, "invalid_field", []string{"limit"}},
		{"our error", id, "application/json", `{"name":"missing"}`, 404, "not_found", nil},
		{"error nobody mapped", id, "application/json", `{"name":"defect"}`, 503, "unavailable", nil},
		{"headers", id, "application/json", `{"name":"busy"}`, 503, "server_busy", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(problem.WithRequest(t.Context(), "req-9"), http.MethodPost, c.path, strings.NewReader(c.body))
			r.Header.Set("Content-Type", c.contentType)
			r.Header.Set("Accept", "application/cbor;q=0.5, application/json")
			handler.ServeHTTP(w, r)
			require.Equal(t, c.status, w.Code, w.Body.String())
			if c.code == "" {
				return
			}
			require.Equal(t, "application/json", w.Header().Get("Content-Type"))
			var members map[string]json.RawMessage
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &members))
			require.Len(t, members, 4)
			var body problem.Body
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
			require.Equal(t, c.code, body.Code)
			require.Equal(t, "req-9", body.RequestID)
			require.NotNil(t, body.Details)
			var fields []string
			for _, d := range body.Details {
				fields = append(fields, d.Field)
				require.NotContains(t, d.Message, "CANARY")
				if d.Field == "Content-Type" {
					require.Equal(t, "must be application/json", d.Message)
				} else {
					require.NotContains(t, d.Message, "json")
				}
			}
			require.Equal(t, c.fields, fields)
			if c.status == 503 {
				require.NotEmpty(t, w.Header().Get("Retry-After"))
			}
		})
	}
}

// Limits are written without exponents.
func TestRulesOfTheFrameworkAreReadable(t *testing.T) {
	handler := framework(t)
	for _, c := range []struct{ query, message string }{
		{"?limit=11", "expected number <= 10"}, {"?much=86400001", "expected number <= 86400000"}, {"?limitt=1", "unknown query parameter"},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/echo/6ba7b810-9dad-11d1-80b4-00c04fd430c8"+c.query,
			strings.NewReader(`{"name":"ab"}`))
		r.Header.Set("Content-Type", "application/json")
		handler.ServeHTTP(w, r)
		var body problem.Body
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
		require.Equal(t, []problem.Detail{{Field: strings.TrimPrefix(strings.Split(c.query, "=")[0], "?"), Message: c.message}}, body.Details)
	}
}

// A body that exceeds its limit while the framework reads it is a 413.
func TestBodyBeyondItsLimitInTheFramework(t *testing.T) {
	handler := framework(t)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/echo/6ba7b810-9dad-11d1-80b4-00c04fd430c8", nil)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	r.Body = http.MaxBytesReader(w, io.NopCloser(strings.NewReader(`{"name":"`+strings.Repeat("x", 100)+`"}`)), 50)
	handler.ServeHTTP(w, r)
	require.Equal(t, http.StatusRequestEntityTooLarge, w.Code)
}

// A body can have very many errors. The details are bounded and contain no values.
func TestProblemsOfTheFrameworkAreBounded(t *testing.T) {
	handler := framework(t)
	var text strings.Builder
	text.WriteString(`{"name":"ab","CANARY":{"`)
	text.WriteString(strings.Repeat("n", 4000))
	text.WriteString(`":1}`)
	for i := range 500 {
		text.WriteString(`,"` + strings.Repeat("k", 1000) + strconv.Itoa(i) + `":"CANARY"`)
	}
	text.WriteString(`}`)
	ctx := problem.WithRequest(t.Context(), "req-9")
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/echo/6ba7b810-9dad-11d1-80b4-00c04fd430c8", strings.NewReader(text.String()))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	require.Equal(t, http.StatusUnprocessableEntity, w.Code)
	var body problem.Body
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
	require.Len(t, body.Details, 100)
	for _, d := range body.Details {
		require.LessOrEqual(t, len(d.Field), 600)
	}
	var kept *huma.ErrorDetail
	require.NotErrorAs(t, problem.Cause(ctx), &kept, "the framework's errors hold the body")
	require.LessOrEqual(t, len(problem.CauseText(ctx)), 8<<10)
	require.NotContains(t, problem.CauseText(ctx), "CANARY\"")
	require.Contains(t, problem.CauseText(ctx), "501 problems")
}

func TestCausesAreBoundedInTheLog(t *testing.T) {
	ctx := problem.WithRequest(t.Context(), "req-9")
	_ = problem.Respond(ctx, errors.New(strings.Repeat("é", 1<<20)), false)
	text := problem.CauseText(ctx)
	require.Less(t, len(text), 9<<10)
	require.True(t, utf8.ValidString(text))
}
