package problem_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/problem"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
)

func request(ctx context.Context, method string) *http.Request {
	return httptest.NewRequestWithContext(problem.WithRequest(ctx, "req-1"), method, "/v1/x", nil)
}

func send(t *testing.T, err error) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	problem.Write(w, request(t.Context(), http.MethodGet), err)
	return w
}

func TestBodyHasExactlyFourMembers(t *testing.T) {
	for _, c := range problem.Codes {
		w := send(t, &problem.Refusal{Code: c.Name})
		require.Equal(t, c.Status, w.Code)
		require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		if c.Message == "" {
			require.Zero(t, w.Body.Len())
			require.Empty(t, w.Header().Get("Content-Type"))
			continue
		}
		require.Equal(t, "application/json", w.Header().Get("Content-Type"))
		require.JSONEq(t, `{"code":"`+c.Name+`","message":`+quote(c.Message)+`,"request_id":"req-1","details":[]}`, w.Body.String())
		require.Equal(t, c.Status == 401, w.Header().Get("WWW-Authenticate") != "")
		require.Equal(t, c.Status == 429 || c.Status == 503, w.Header().Get("Retry-After") != "")
	}
}

func quote(s string) string { b, _ := json.Marshal(s); return string(b) }

func TestHeadHasNoBody(t *testing.T) {
	w := httptest.NewRecorder()
	problem.Write(w, request(t.Context(), http.MethodHead), catalog.ErrNotFound)
	require.Equal(t, 404, w.Code)
	require.Zero(t, w.Body.Len())
}

func TestChallenge(t *testing.T) {
	require.Equal(t, `Bearer realm="lakewarden"`, send(t, problem.ErrNoCredential).Header().Get("WWW-Authenticate"))
	require.Equal(t, `Bearer realm="lakewarden", error="invalid_token"`, send(t, auth.ErrExpired).Header().Get("WWW-Authenticate"))
	require.Equal(t, 401, send(t, problem.ErrNoCredential).Code)
}

func TestCauseIsKeptForTheLog(t *testing.T) {
	r := request(t.Context(), http.MethodGet)
	require.NoError(t, problem.Cause(r.Context()))
	cause := errors.New("disk on fire")
	problem.Write(httptest.NewRecorder(), r, cause)
	require.Equal(t, cause, problem.Cause(r.Context()))
	require.Equal(t, "req-1", problem.RequestID(r.Context()))

	// Outside of a request no error is recorded, and nothing fails.
	require.Empty(t, problem.RequestID(t.Context()))
	require.Error(t, problem.Respond(t.Context(), cause, false))
	require.NoError(t, problem.Cause(t.Context()))
}

func TestClientThatGaveUpIsNotAnError(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range []error{context.Canceled, &engine.Error{Kind: engine.KindInterrupted}} {
		w := httptest.NewRecorder()
		problem.Write(w, request(gone, http.MethodGet), err)
		require.Equal(t, problem.StatusClientClosed, w.Code)
		require.Zero(t, w.Body.Len())
		require.NotEqual(t, problem.StatusClientClosed, send(t, err).Code, "the client is still there")
	}
	w := httptest.NewRecorder()
	problem.Write(w, request(gone, http.MethodGet), errors.New("a defect stays a defect"))
	require.Equal(t, 500, w.Code)
	timedOut, stop := context.WithTimeout(t.Context(), -time.Second)
	defer stop()
	w = httptest.NewRecorder()
	problem.Write(w, request(timedOut, http.MethodGet), context.DeadlineExceeded)
	require.Equal(t, 503, w.Code)
}

func TestCamelCaseResourcesSpellTheirFieldsSo(t *testing.T) {
	err := catalog.FieldErrors{{Field: "table_fqn", Message: "m"}, {Field: "features[2].default_enabled", Message: "m"},
		{Field: "attributes.cost_centre", Message: "m"}, {Field: "name", Message: "m"}}
	fields := func(camel bool) (names []string) {
		var reply *problem.Reply
		require.ErrorAs(t, problem.Respond(t.Context(), err, camel), &reply)
		for _, d := range reply.Details {
			names = append(names, d.Field)
		}
		return names
	}
	require.Equal(t, []string{"tableFqn", "features[2].defaultEnabled", "attributes.cost_centre", "name"}, fields(true))
	require.Equal(t, []string{"table_fqn", "features[2].default_enabled", "attributes.cost_centre", "name"}, fields(false))
}

func TestRespondingTwiceChangesNothing(t *testing.T) {
	first := problem.Respond(t.Context(), catalog.ErrNotFound, true)
	require.Same(t, first, problem.Respond(t.Context(), first, false))
	require.ErrorIs(t, first, catalog.ErrNotFound)
}
