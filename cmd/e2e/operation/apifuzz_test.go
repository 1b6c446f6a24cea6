package operation_test

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/oracletest"
)

// apiFuzzExamples is how many requests of each kind the fuzzer makes for an
// operation; a longer run sets the variable to a larger number.
const apiFuzzExamples = "LAKEWARDEN_TEST_API_EXAMPLES"

// apiFuzzChecks are the properties that every reply must have: no server error, no
// request accepted that violates the schema, and replies that are as described.
var apiFuzzChecks = []string{
	"not_a_server_error", "negative_data_rejection", "status_code_conformance", "content_type_conformance",
	"response_schema_conformance", "unsupported_method", "allow_header_conformance",
}

// apiFuzzSettings name the statuses that refuse a request: 413 is the interface's
// answer to an address that is too long.
const apiFuzzSettings = `[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 409, 413, 422, 429]
`

// TestFuzzedRequestsAreAnsweredAsDescribed lets a property-based fuzzer read the
// server's own description and send requests that follow it and requests that
// violate it.
func TestFuzzedRequestsAreAnsweredAsDescribed(t *testing.T) {
	t.Parallel()
	fuzzer := filepath.Join(filepath.Dir(oracletest.Python(t)), "schemathesis")
	_, err := os.Stat(fuzzer)
	oracletest.Need(t, err)
	s := harness.Start(t, nil)
	dir := t.TempDir()
	spec := filepath.Join(dir, "openapi.json")
	described := fuzzTargets(s).narrow(t, s.Admin.OK(http.MethodGet, "/v1/openapi.json", nil))
	require.NoError(t, os.WriteFile(spec, described, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "schemathesis.toml"), []byte(apiFuzzSettings), 0o600))
	examples := os.Getenv(apiFuzzExamples)
	if examples == "" {
		examples = "8"
	}
	cmd := exec.Command(fuzzer, "run", spec, "--url", s.URL, //nolint:gosec // the path of a part of the tests
		"--header", "Authorization: Bearer "+s.Admin.Key,
		"--checks", strings.Join(apiFuzzChecks, ","), "--phases", "examples,coverage,fuzzing",
		"--max-examples", examples, "--seed", "1", "--no-shrink", "--continue-on-failure",
		"--request-timeout", "30", "--suppress-health-check", "all", "--warnings", "off",
		"--no-color", "--generation-database", "none")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	t.Logf("%s", tail(out, 200))
	byStatus, served, limited := outcomes(s)
	t.Logf("fuzzed requests by status: %v; routes that succeeded: %d", byStatus, served)
	require.NoError(t, err)
	// A run in which little succeeds checks little.
	require.Greater(t, served, 60)
	// Invitations and passwords are limited by person, and these requests come from one.
	require.Subset(t, []string{"POST /v1/organisations/{org_id}/invite", "PUT /v1/me/password"}, limited)
}

// outcomes counts the requests of the access log by status, and the routes of which
// one succeeded. limited are the routes that answered 429.
func outcomes(s *harness.Server) (byStatus map[int]int, served int, limited []string) {
	byStatus = map[int]int{}
	succeeded := map[string]bool{}
	for line := range strings.Lines(s.Log.String()) {
		var entry struct {
			Message       string `json:"msg"`
			Method, Route string
			Status        int
		}
		if json.Unmarshal([]byte(line), &entry) != nil || entry.Message != "request" {
			continue
		}
		byStatus[entry.Status]++
		route := entry.Method + " " + entry.Route
		if entry.Status == http.StatusTooManyRequests && !slices.Contains(limited, route) {
			limited = append(limited, route)
		}
		if entry.Status < http.StatusMultipleChoices {
			succeeded[route] = true
		}
	}
	return byStatus, len(succeeded), limited
}

// targets are the names and ids that a fuzzed request may have in its path, by
// parameter; those for one route only are listed under its method and path.
type targets map[string]string

// fuzzTargets makes a resource of each kind, and a second one for every route that
// removes one, so that the others keep something to find.
func fuzzTargets(s *harness.Server) targets {
	s.T.Helper()
	s.Table("events", "SELECT i AS id, 'name ' || i AS name, DATE '2024-01-01' + i::INTEGER AS day FROM range(20) r(i)", nil,
		column{"id", "long"}, column{"name", "string"}, column{"day", "date"})
	s.Create("dropped", nil, map[string]any{"name": "id", "type": "long"})
	s.Create("renamed", nil, map[string]any{"name": "id", "type": "long"})
	s.Create("restricted", nil, map[string]any{"name": "name", "type": "string"})
	table := s.TablePath("events")
	s.Admin.OK(http.MethodPost, table+"/constraints", map[string]any{"constraints": []any{map[string]any{"name": "positive",
		"expr": "id >= 0"}}})
	org := "/v1/organisations/" + s.Boot.OrganisationID
	policy := func() string {
		return s.Policy("events", "id", `{"effect":"permit","subject":{"everyone":true},"condition":null}`)["id"].(string)
	}
	workspace := func(name string) string {
		return s.Admin.OK(http.MethodPost, org+"/workspaces", map[string]any{"name": name})["id"].(string)
	}
	key := func() string {
		made := s.Admin.OK(http.MethodPost, "/v1/api-keys", map[string]any{"name": "fuzzed"})
		return made["api_key"].(map[string]any)["id"].(string)
	}
	config := func(root string) string {
		return s.Admin.OK(http.MethodPost, harness.ConfigsPath, map[string]any{"configName": root, "kind": "local",
			"root": root})["configId"].(string)
	}
	client := func() string {
		made := s.Admin.Call(http.MethodPost, org+"/clients", map[string]any{"name": "fuzzed", "redirectUris": []any{"https://app.example/"}})
		return made.JSON(s.T)["client"].(map[string]any)["id"].(string)
	}
	account := func() string {
		made := s.Admin.Call(http.MethodPost, org+"/service-accounts", map[string]any{"name": "fuzzed", "role": "viewer"})
		return made.JSON(s.T)["serviceAccount"].(map[string]any)["id"].(string)
	}
	const (
		keyPath    = "/v1/api-keys/{id}"
		policyPath = "/v1/organisations/{org_id}/policies/{id}"
		spacePath  = "/v1/organisations/{org_id}/workspaces/{id}"
		tablePath  = "/v1/tables/{catalog}/{schema}/{table_name}"
	)
	shared := s.Admin.Call(http.MethodPost, org+"/domains", map[string]any{"name": "fuzzed", "type": "hierarchical",
		"parents": []any{map[string]any{"value": "a", "children": []any{"b"}}}}).JSON(s.T)
	parent := shared["allowed_values"].([]any)[0].(map[string]any)["id"].(string)
	child := shared["lookup"].(map[string]any)["mappings"].(map[string]any)["a"].([]any)[0].(map[string]any)["id"].(string)
	other := s.Member("other@acme.example", "viewer", nil).User
	bound := s.Admin.Call(http.MethodPost, org+"/users/"+other+"/identities", map[string]any{"issuer": "https://id.example", "subject": "x"})
	out := targets{
		"column_name": "name", "domain_id": shared["id"].(string), "id": parent, "child_id": child,
		"catalog": "lake", "schema": s.Schema, "table_name": "events",
		"column": "name", "name": "positive", "domain": "acme.example",
		"org_id": s.Boot.OrganisationID, "organisation_id": s.Boot.OrganisationID,
		"user_id": other, "session_id": newSession(s, other),
		"identity_id":  bound.JSON(s.T)["id"].(string),
		"config_id":    config("fuzzed"),
		"operation_id": s.Admin.OK(http.MethodPost, "/v1/queries", map[string]any{"sql": "SELECT 1"})["id"].(string),
		"table_id":     s.Admin.OK(http.MethodGet, table, nil)["tableId"].(string),

		"client_id": client(), "account_id": account(), "provider": "provider_one", "family": "familyA",
		"DELETE /v1/organisations/{org_id}/clients/{client_id}":           client(),
		"DELETE /v1/organisations/{org_id}/service-accounts/{account_id}": account(),

		"DELETE " + harness.ConfigsPath + "/{config_id}": config("removed"),
		"DELETE " + tablePath:                            "dropped",
		"PATCH " + tablePath:                             "renamed",
		// A column of the other table may have been renamed to what the fuzzer takes for another
		// type than text.
		"DELETE " + tablePath + "/columns/{column_name}/domain": "restricted",
	}
	for _, methods := range []string{"GET POST PATCH PUT", "DELETE"} {
		ids := map[string]string{keyPath: key(), policyPath: policy(), spacePath: workspace("space " + methods[:3])}
		for _, method := range strings.Fields(methods) {
			for path, id := range ids {
				out[method+" "+path] = id
			}
			out[method+" "+keyPath+"/rotate"] = ids[keyPath]
			out[method+" "+policyPath+"/history"] = ids[policyPath]
			out[method+" "+spacePath+"/members"] = ids[spacePath]
			out[method+" "+spacePath+"/members/{user_id}"] = ids[spacePath]
		}
	}
	return out
}

// narrow returns a description whose paths have only the targets: otherwise nearly
// every request would end at 404.
func (known targets) narrow(t testing.TB, description map[string]any) []byte {
	t.Helper()
	for path, methods := range description["paths"].(map[string]any) {
		for method, op := range methods.(map[string]any) {
			parameters, _ := op.(map[string]any)["parameters"].([]any)
			for _, p := range parameters {
				p := p.(map[string]any)
				if p["in"] != "path" {
					continue
				}
				name := p["name"].(string)
				value, ok := known[strings.ToUpper(method)+" "+path]
				if ok = ok && slices.Contains([]string{"id", "config_id", "table_name", "client_id", "account_id"}, name); !ok {
					value, ok = known[name]
				}
				require.True(t, ok, "%s %s has a parameter %s without a target", method, path, name)
				p["schema"].(map[string]any)["enum"] = []any{value}
			}
		}
	}
	raw, err := json.Marshal(description)
	require.NoError(t, err)
	return raw
}

// tail is the last lines of a text.
func tail(text []byte, lines int) string {
	all := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
