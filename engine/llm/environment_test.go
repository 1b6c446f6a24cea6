package llm_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/llm"
	"github.com/lakewarden/lakewarden/engine/llm/llmtest"
)

// planted is part of the value of each planted variable.
const planted = "planted-4417"

// TestTheEnvironmentInfluencesNoRequest plants the variables that the SDKs read, and profiles
// in the folders that they look at. It is not parallel, because it changes the environment.
func TestTheEnvironmentInfluencesNoRequest(t *testing.T) {
	elsewhere := llmtest.New(t, llm.FamilyA)
	home := t.TempDir()
	token := filepath.Join(home, "token")
	require.NoError(t, os.WriteFile(token, []byte(planted), 0o600))
	profile := `{"type":"api_key","api_key":"` + planted + `","base_url":"` + elsewhere.URL + `"}`
	for _, folder := range []string{"anthropic", ".config/anthropic", "anthropic/configs", ".config/anthropic/configs"} {
		require.NoError(t, os.MkdirAll(filepath.Join(home, folder), 0o700))
		for _, name := range []string{"config.json", "default.json", "credentials.json"} {
			require.NoError(t, os.WriteFile(filepath.Join(home, folder, name), []byte(profile), 0o600))
		}
		require.NoError(t, os.WriteFile(filepath.Join(home, folder, "active_config"), []byte("default"), 0o600))
	}
	variables := map[string]string{
		"HOME": home, "XDG_CONFIG_HOME": home, "APPDATA": home, "ANTHROPIC_CONFIG_DIR": filepath.Join(home, "anthropic"),
		"ANTHROPIC_IDENTITY_TOKEN_FILE": token, "GOOGLE_APPLICATION_CREDENTIALS": token,
		"GOOGLE_GENAI_USE_VERTEXAI": "true", "GOOGLE_GENAI_USE_ENTERPRISE": "1", "ANTHROPIC_PROFILE": "default",
		"ANTHROPIC_OPEN_TELEMETRY": "true", "ANTHROPIC_OPEN_TELEMETRY_PROPAGATION": "true",
		"ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE": "content", "GOOGLE_CLOUD_REGION": "us", "GOOGLE_CLOUD_LOCATION": "us",
		"OPENAI_CUSTOM_HEADERS":    "X-Planted: " + planted + "\nAuthorization: Bearer " + planted,
		"ANTHROPIC_CUSTOM_HEADERS": "X-Planted: " + planted + "\nX-Api-Key: " + planted,
		"GEMINI_CUSTOM_HEADERS":    "X-Planted: " + planted,
	}
	for _, name := range []string{"ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL",
		"GEMINI_BASE_URL", "OPENAI_API_BASE", "ANTHROPIC_API_URL"} {
		variables[name] = elsewhere.URL
	}
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_FEDERATION_RULE_ID",
		"ANTHROPIC_ORGANIZATION_ID", "ANTHROPIC_IDENTITY_TOKEN", "ANTHROPIC_SERVICE_ACCOUNT_ID", "ANTHROPIC_WORKSPACE_ID",
		"ANTHROPIC_WEBHOOK_SIGNING_KEY", "ANTHROPIC_MODEL", "ANTHROPIC_LOG", "OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID",
		"OPENAI_ORGANIZATION", "OPENAI_PROJECT_ID", "OPENAI_WEBHOOK_SECRET", "OPENAI_LOG", "GOOGLE_API_KEY", "GEMINI_API_KEY",
		"GOOGLE_CLOUD_PROJECT", "GOOGLE_GENAI_REPLAYS_DIRECTORY", "AWS_BEARER_TOKEN_BEDROCK", "AWS_REGION"} {
		variables[name] = planted
	}
	for name, value := range variables {
		t.Setenv(name, value)
	}

	allowed := map[llm.Family][]string{
		llm.FamilyA: {"X-Api-Key", "Anthropic-Version"},
		llm.FamilyB: {"Authorization"},
		llm.FamilyC: {"X-Goog-Api-Key", "X-Goog-Api-Client"},
	}
	ordinary := []string{"Accept", "Accept-Encoding", "Content-Length", "Content-Type", "User-Agent"}
	for _, family := range llm.Families() {
		s := llmtest.New(t, family)
		_, err := s.Client(t, nil).Complete(t.Context(), request())
		require.NoError(t, err, family)
		require.Len(t, s.Requests(), 1, "the host is the configured one")
		r := s.Requests()[0]
		require.Equal(t, strings.Split(s.URL, "/")[2], r.Host)
		for name, values := range r.Header {
			require.True(t, slices.Contains(ordinary, name) || slices.Contains(allowed[family], name), "%s: header %s", family, name)
			require.Len(t, values, 1, name)
			require.NotContains(t, values[0], planted, name)
		}
		require.Contains(t, r.Header.Get(allowed[family][0]), llmtest.Key)
		require.NotContains(t, string(r.Body), planted)
	}
	require.Empty(t, elsewhere.Requests())
}
