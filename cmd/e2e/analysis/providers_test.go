package analysis_test

import (
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// theKey is a key of a vendor, which no reply may contain.
const theKey = "sk-4815162342108"

func providersPath(s *harness.Server) string {
	return "/v1/organisations/" + s.Boot.OrganisationID + "/analysis-providers"
}

func TestProvidersOfModels(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, func(c *harness.Settings) { c.AllowPrivateEndpoints = true })
	path := providersPath(s)
	require.Empty(t, s.Admin.OK("GET", path, nil)["analysisProviders"])
	put := s.Admin.Call("PUT", path+"/familyB", object{"key": theKey})
	require.Equal(t, http.StatusOK, put.Status, "%s", put.Body)
	made := put.JSON(t)
	require.ElementsMatch(t, []string{"family", "baseUrl", "createdAt", "updatedAt"}, keysOf(made))
	require.Equal(t, "familyB", made["family"])
	require.Nil(t, made["baseUrl"])
	require.Equal(t, made, s.Admin.OK("GET", path+"/familyB", nil))
	changed := s.Admin.OK("PUT", path+"/familyB", object{"key": theKey, "baseUrl": "https://127.0.0.1:9/v1"})
	require.Equal(t, "https://127.0.0.1:9/v1", changed["baseUrl"])
	require.Equal(t, made["createdAt"], changed["createdAt"])
	s.Admin.OK("PUT", path+"/familyA", object{"key": theKey})
	listed := s.Admin.OK("GET", path, nil)["analysisProviders"].(list)
	require.Len(t, listed, 2)
	require.Equal(t, "familyA", listed[0].(object)["family"])
	require.Equal(t, changed, listed[1])
	for _, r := range []harness.Reply{put, s.Admin.Call("GET", path, nil), s.Admin.Call("GET", path+"/familyA", nil)} {
		require.NotContains(t, string(r.Body), theKey)
	}
	require.Empty(t, harness.Leaked(t, s, theKey))

	require.Equal(t, []string{"key"}, refused(t, s.Admin, 422, "invalid_field", "PUT", path+"/familyB", object{"key": "two words"}))
	require.Equal(t, []string{"key"}, refused(t, s.Admin, 422, "invalid_field", "PUT", path+"/familyB", object{"key": ""}))
	refused(t, s.Admin, 422, "invalid_field", "PUT", path+"/familyB", object{"baseUrl": "https://127.0.0.1:9/v2"})
	refused(t, s.Admin, 422, "invalid_field", "PUT", path+"/familyB", object{"key": theKey, "model": "x"})
	for _, method := range []string{"GET", "DELETE"} {
		refused(t, s.Admin, 404, "not_found", method, path+"/familyC", nil)
		refused(t, s.Admin, 404, "not_found", method, path+"/familyD", nil)
	}
	refused(t, s.Admin, 404, "not_found", "PUT", path+"/familyD", object{"key": theKey})
	require.Equal(t, changed, s.Admin.OK("GET", path+"/familyB", nil), "refused calls change nothing")

	require.Empty(t, s.Admin.OK("DELETE", path+"/familyB", nil))
	refused(t, s.Admin, 404, "not_found", "GET", path+"/familyB", nil)
	require.Len(t, s.Admin.OK("GET", path, nil)["analysisProviders"], 1)
	require.Eventually(t, func() bool {
		audited := s.Admin.Call("GET", "/v1/organisations/"+s.Boot.OrganisationID+"/audit?action=putAnalysisProvider", nil)
		require.NotContains(t, string(audited.Body), theKey)
		return strings.Contains(string(audited.Body), path+"/familyB")
	}, time.Minute, 50*time.Millisecond)
}

func TestProvidersOfModelsAreForAdministrators(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := providersPath(s)
	s.Admin.OK("PUT", path+"/familyA", object{"key": theKey})
	stranger := harness.Shared(t)
	for _, role := range []string{"viewer", "editor", "builder"} {
		member := s.Member(role+"."+s.Boot.OrganisationID+"@acme.example", role, nil)
		for _, method := range []string{"GET", "PUT", "DELETE"} {
			var body any
			if method == "PUT" {
				body = object{"key": "x"}
			}
			refused(t, member, 403, "insufficient_scope", method, path+"/familyA", body)
		}
		refused(t, member, 403, "insufficient_scope", "GET", path, nil)
		require.NotNil(t, member.OK("GET", "/v1/analysis/models", nil)["models"], "any member reads these")
	}
	for _, method := range []string{"GET", "DELETE"} {
		refused(t, stranger.Admin, 404, "not_found", method, path+"/familyA", nil)
	}
	refused(t, stranger.Admin, 404, "not_found", "PUT", path+"/familyA", object{"key": "x"})
	refused(t, stranger.Admin, 404, "not_found", "GET", path, nil)
	require.Empty(t, stranger.Admin.OK("GET", providersPath(stranger), nil)["analysisProviders"])
	require.Len(t, s.Admin.OK("GET", path, nil)["analysisProviders"], 1)
}

// TestAddressesOfModelsAreChecked has a listener that must not be connected to.
func TestAddressesOfModelsAreChecked(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var connected atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			connected.Add(1)
			_ = c.Close()
		}
	}()
	s := harness.Shared(t)
	path := providersPath(s) + "/familyA"
	for _, address := range []string{
		"https://" + l.Addr().String(), "https://localhost", "https://10.0.0.1/v1", "https://169.254.169.254/latest", "https://[::1]",
		"https://[fd00:ec2::254]",
		"https://0x7f000001", "https://2130706433", "http://8.8.8.8", "file:///etc/passwd", "https://user:pass@8.8.8.8", "https://8.8.8.8?x=y",
		"8.8.8.8", "https://", strings.Repeat("x", 2000),
	} {
		require.Equal(t, []string{"baseUrl"}, refused(t, s.Admin, 422, "invalid_field", "PUT", path, object{"key": theKey, "baseUrl": address}),
			address)
	}
	refused(t, s.Admin, 404, "not_found", "GET", path, nil)
	s.Admin.OK("PUT", path, object{"key": theKey, "baseUrl": "https://8.8.8.8/v1"})
	require.NoError(t, l.Close())
	<-done
	require.Zero(t, connected.Load())
}

// TestFeaturesDoNotConcernProvidersOfModels configures models while analyses are off: an
// administrator prepares, or removes a key, at any time.
func TestFeaturesDoNotConcernProvidersOfModels(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Admin.OK("PATCH", "/v1/organisations/"+s.Boot.OrganisationID+"/config", object{"features": list{
		object{"key": catalog.FeatureAnalysis, "enabled": false}, object{"key": catalog.FeatureAnalysisModels, "enabled": false},
	}})
	path := providersPath(s)
	s.Admin.OK("PUT", path+"/familyC", object{"key": theKey})
	s.Admin.OK("GET", path+"/familyC", nil)
	require.Len(t, s.Admin.OK("GET", path, nil)["analysisProviders"], 1)
	require.NotNil(t, s.Admin.OK("GET", "/v1/analysis/models", nil)["models"])
	s.Admin.OK("DELETE", path+"/familyC", nil)
}

func TestLimitsOfAnalysesAreServed(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, func(c *harness.Settings) { c.Analysis.PerMinute = 30 })
	limits := s.Admin.OK("GET", "/v1/limits", nil)
	require.EqualValues(t, 30, limits["organisation_analyses_per_minute"])
	require.EqualValues(t, 2_000_000, limits["organisation_analysis_tokens_per_day"])
}

// TestProvidersOfModelsReachEveryReplica configures a model on one replica and counts
// analyses on both.
func TestProvidersOfModelsReachEveryReplica(t *testing.T) {
	t.Parallel()
	replicas := harness.StartReplicas(t, 2, nil)
	path := providersPath(replicas[0])
	made := replicas[0].Admin.OK("PUT", path+"/familyA", object{"key": theKey})
	require.Equal(t, made, replicas[1].Admin.OK("GET", path+"/familyA", nil))
	org := catalog.OrgID(replicas[0].Boot.OrganisationID)
	for i := range 4 {
		store, err := replicas[i%2].OpenCatalog(t.Context())
		require.NoError(t, err)
		wait, err := store.CountAnalysis(t.Context(), org, 3, time.Minute)
		require.NoError(t, err)
		require.Equal(t, i == 3, wait > 0)
		require.NoError(t, store.Close())
	}
	replicas[1].Admin.OK("DELETE", path+"/familyA", nil)
	refused(t, replicas[0].Admin, 404, "not_found", "GET", path+"/familyA", nil)
}

func keysOf(o object) []string {
	var keys []string
	for key := range o {
		keys = append(keys, key)
	}
	return keys
}
