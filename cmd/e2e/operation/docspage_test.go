package operation_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestDocsPageNeedsNoOtherServer reads all that a browser would.
func TestDocsPageNeedsNoOtherServer(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	anyone := s.Client("", "")
	external := regexp.MustCompile(`(?i)(https?:)?//[a-z0-9]`)
	inline := regexp.MustCompile(`(?i)<script>|<style>|\son[a-z]+=|\sstyle=|javascript:`)
	for path, kind := range map[string]string{
		"/docs": "text/html", "/docs/": "text/html", "/docs/app.js": "text/javascript", "/docs/style.css": "text/css",
	} {
		r := anyone.Call("GET", path, nil)
		require.Equal(t, http.StatusOK, r.Status, path)
		require.True(t, strings.HasPrefix(r.Header.Get("Content-Type"), kind), "%s: %s", path, r.Header.Get("Content-Type"))
		policy := r.Header.Get("Content-Security-Policy")
		require.Contains(t, policy, "default-src 'none'")
		require.NotContains(t, policy, "unsafe")
		require.NotContains(t, policy, "http")
		require.Equal(t, "nosniff", r.Header.Get("X-Content-Type-Options"))
		text := string(r.Body)
		if kind != "text/javascript" {
			require.Empty(t, external.FindString(text), path)
		}
		require.NotContains(t, text, "http:", path)
		require.NotContains(t, text, "https:", path)
		require.NotContains(t, text, "innerHTML", path)
		require.NotContains(t, text, "eval(", path)
		if kind == "text/html" {
			require.Empty(t, inline.FindString(text), "the policy would block it")
			for _, needed := range regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(text, -1) {
				require.Equal(t, http.StatusOK, anyone.Call("GET", needed[1], nil).Status, needed[1])
			}
		}
	}
	described := anyone.Call("GET", "/v1/openapi.json", nil)
	require.Equal(t, "application/json", described.Header.Get("Content-Type"))
	require.Contains(t, described.JSON(t)["openapi"], "3.1")
}

func TestProbesMetricsAndLimits(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	anyone := s.Client("", "")
	require.Equal(t, "ok", anyone.OK("GET", "/healthz", nil)["status"])
	ready := anyone.OK("GET", "/readyz", nil)
	require.Equal(t, "ready", ready["status"])
	require.Equal(t, "ok", ready["checks"].(map[string]any)["catalog"])

	limits := s.Admin.OK("GET", "/v1/limits", nil)
	require.Equal(t, 33554432.0, limits["body_bytes"])
	require.Equal(t, 100000.0, limits["json_rows"])
	anyone.Call("GET", "/v1/limits", nil).Problem(t, http.StatusUnauthorized)

	s.Admin.Rows("SELECT 42")
	s.Admin.Call("GET", "/v1/tables/lake/nowhere/secret_name", nil).Problem(t, http.StatusNotFound)
	text := string(anyone.Call("GET", "/metrics", nil).Body)
	for _, want := range []string{
		`lakewarden_http_request_seconds_count{method="POST",route="/v1/query",status="200"}`, "lakewarden_query_seconds", "lakewarden_sessions{",
		"lakewarden_objstore_requests_total", `route="/v1/tables/{catalog}/{schema}/{table_name}"`,
	} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "secret_name", "route templates only")
	require.NotContains(t, text, s.Boot.OrganisationID)
}
