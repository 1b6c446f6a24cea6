package operation_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api"
	"github.com/lakewarden/lakewarden/api/ops/analysis"
	"github.com/lakewarden/lakewarden/api/ops/query"
)

var update = flag.Bool("update", false, "write docs/openapi.json anew")

const openAPIFile = "../../../docs/openapi.json"

// describedRouter is the router of the server without anything behind it.
func describedRouter(t testing.TB) (chi.Routes, *huma.OpenAPI) {
	t.Helper()
	handler, spec := api.NewRouter(api.Deps{
		Queries: &query.Service{}, Analyses: &analysis.Service{}, Metrics: prometheus.NewRegistry(), Health: &api.Health{}, Version: "1",
	})
	return handler.(chi.Routes), spec
}

// description is docs/openapi.json, as far as the tests read it.
type description struct {
	OpenAPI    string                          `json:"openapi"`
	Paths      map[string]map[string]operation `json:"paths"`
	Components struct {
		Schemas         map[string]schema         `json:"schemas"`
		Headers         map[string]parameter      `json:"headers"`
		SecuritySchemes map[string]map[string]any `json:"securitySchemes"`
	} `json:"components"`
}

type operation struct {
	OperationID string                    `json:"operationId"`
	Summary     string                    `json:"summary"`
	Parameters  []parameter               `json:"parameters"`
	Security    []map[string][]string     `json:"security"`
	Responses   map[string]operationReply `json:"responses"`
	RequestBody *struct {
		Required bool                 `json:"required"`
		Content  map[string]mediaType `json:"content"`
	} `json:"requestBody"`

	method, path string
}

type parameter struct {
	Name     string `json:"name"`
	In       string `json:"in"`
	Required bool   `json:"required"`
	Schema   schema `json:"schema"`
}

type operationReply struct {
	Description string               `json:"description"`
	Headers     map[string]schema    `json:"headers"`
	Content     map[string]mediaType `json:"content"`
}

type mediaType struct {
	Schema schema `json:"schema"`
}

type schema struct {
	Ref                  string            `json:"$ref"`
	Type                 any               `json:"type"`
	Format               string            `json:"format"`
	Enum                 []any             `json:"enum"`
	Properties           map[string]schema `json:"properties"`
	Required             []string          `json:"required"`
	Items                *schema           `json:"items"`
	AdditionalProperties json.RawMessage   `json:"additionalProperties"`
}

func readDescription(t testing.TB) description {
	t.Helper()
	raw, err := os.ReadFile(openAPIFile)
	require.NoError(t, err)
	var d description
	require.NoError(t, json.Unmarshal(raw, &d))
	return d
}

// operations lists them in a stable order.
func (d description) operations() []operation {
	var out []operation
	for path, methods := range d.Paths {
		for method, op := range methods {
			op.method, op.path = strings.ToUpper(method), path
			out = append(out, op)
		}
	}
	slices.SortFunc(out, func(a, b operation) int { return strings.Compare(a.path+a.method, b.path+b.method) })
	return out
}

func (d description) resolve(s schema) schema {
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		return d.Components.Schemas[name]
	}
	return s
}

func (op operation) body(d description) (schema, bool) {
	if op.RequestBody == nil {
		return schema{}, false
	}
	content, isJSON := op.RequestBody.Content["application/json"]
	if !isJSON { // an upload
		return schema{}, false
	}
	return d.resolve(content.Schema), true
}

func TestOpenAPIFileEqualsTheServersDescription(t *testing.T) {
	_, spec := describedRouter(t)
	raw, err := json.Marshal(spec)
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, json.Indent(&text, raw, "", "  "))
	text.WriteByte('\n')
	if *update {
		require.NoError(t, os.WriteFile(openAPIFile, text.Bytes(), 0o644))
	}
	file, err := os.ReadFile(openAPIFile)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(string(file), text.String()), "write it anew with: go test -tags duckdb_arrow ./cmd/e2e/operation -run "+
		"OpenAPI -update")
}

func TestOpenAPIHasEveryRouteBelowV1AndNoOther(t *testing.T) {
	routes, _ := describedRouter(t)
	var routed, described []string
	err := chi.Walk(routes, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if strings.HasPrefix(route, "/v1/") && route != "/v1/openapi.json" && method != http.MethodHead { // HEAD goes with GET
			routed = append(routed, method+" "+route)
		}
		return nil
	})
	require.NoError(t, err)
	for _, op := range readDescription(t).operations() {
		described = append(described, op.method+" "+op.path)
	}
	slices.Sort(routed)
	slices.Sort(described)
	require.Empty(t, cmp.Diff(routed, described))
}

func TestOpenAPIListsElevenStatusesForEveryOperation(t *testing.T) {
	for _, op := range readDescription(t).operations() {
		for _, status := range []string{"400", "401", "403", "404", "409", "422", "429", "500", "503"} {
			require.Contains(t, op.Responses, status, op.OperationID)
			require.Equal(t, "#/components/schemas/Error", op.Responses[status].Content["application/json"].Schema.Ref, "%s %s", op.OperationID,
				status)
		}
		for _, status := range []string{"405", "413"} {
			require.Contains(t, op.Responses, status, op.OperationID)
			require.Empty(t, op.Responses[status].Content, "%s %s", op.OperationID, status)
		}
		success := 0
		for status := range op.Responses {
			if strings.HasPrefix(status, "2") {
				success++
				require.NotEmpty(t, op.Responses[status].Content, "%s %s", op.OperationID, status)
			}
		}
		want := 1
		if later, ok := op.Responses["202"]; ok {
			require.Equal(t, "#/components/schemas/Operation", later.Content["application/json"].Schema.Ref, op.OperationID)
			if op.OperationID != "startQuery" { // the others may also be done at once
				want = 2
			}
		}
		require.Equal(t, want, success, op.OperationID)
		require.Len(t, op.Responses, 11+want, "%s describes a status that is not of the interface, such as default", op.OperationID)
	}
}

// TestOpenAPIIsConsistent checks what a validator of OpenAPI 3.1 checks of the
// parts that are used here.
func TestOpenAPIIsConsistent(t *testing.T) {
	d := readDescription(t)
	require.Regexp(t, `^3\.1\.\d+$`, d.OpenAPI)
	require.Equal(t, "bearer", d.Components.SecuritySchemes["BearerAuth"]["scheme"])
	raw, err := os.ReadFile(openAPIFile)
	require.NoError(t, err)
	var whole any
	require.NoError(t, json.Unmarshal(raw, &whole))
	for _, ref := range refsOf(whole) {
		if name, ok := strings.CutPrefix(ref, "#/components/headers/"); ok {
			require.Contains(t, d.Components.Headers, name)
			continue
		}
		name, ok := strings.CutPrefix(ref, "#/components/schemas/")
		require.True(t, ok, ref)
		require.Contains(t, d.Components.Schemas, name)
	}
	ids := map[string]bool{}
	for _, op := range d.operations() {
		require.NotEmpty(t, op.OperationID)
		require.False(t, ids[op.OperationID], "two operations are called %s", op.OperationID)
		ids[op.OperationID] = true
		require.NotEmpty(t, op.Summary, op.OperationID)
		if !slices.Contains(openOperations, op.OperationID) {
			require.Len(t, op.Security, 1, op.OperationID)
			require.Contains(t, op.Security[0], "BearerAuth", op.OperationID)
		} else {
			require.Empty(t, op.Security, op.OperationID)
		}
		var inPath []string
		for _, p := range op.Parameters {
			if p.In == "path" {
				require.True(t, p.Required, "%s: %s", op.OperationID, p.Name)
				inPath = append(inPath, "{"+p.Name+"}")
			}
			require.NotNil(t, p.Schema.Type, "%s: %s", op.OperationID, p.Name)
		}
		require.Equal(t, strings.Count(op.path, "{"), len(inPath), op.OperationID)
		for _, name := range inPath {
			require.Contains(t, op.path, name, op.OperationID)
		}
		if body, ok := op.body(d); ok {
			require.NotNil(t, body.Type, "%s: the body has no schema", op.OperationID)
		}
		for status, reply := range op.Responses {
			require.NotEmpty(t, reply.Description, "%s %s", op.OperationID, status)
		}
	}
	for name, s := range d.Components.Schemas {
		for _, field := range s.Required {
			require.Contains(t, s.Properties, field, name)
		}
	}
}

func refsOf(v any) []string {
	var out []string
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if ref, ok := value.(string); ok && key == "$ref" {
				out = append(out, ref)
			} else {
				out = append(out, refsOf(value)...)
			}
		}
	case []any:
		for _, value := range v {
			out = append(out, refsOf(value)...)
		}
	}
	return out
}

func TestOpenAPIErrorBodyHasExactlyFourMembers(t *testing.T) {
	body := readDescription(t).Components.Schemas["Error"]
	names := make([]string, 0, len(body.Properties))
	for name := range body.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	require.Equal(t, []string{"code", "details", "message", "request_id"}, names)
	require.Equal(t, "array", body.Properties["details"].Type, "details is never null")
}
