package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAmbiguousQueryStringsAreRefused sends every parameter of every operation in
// forms that readers of the API description could interpret differently.
func TestAmbiguousQueryStringsAreRefused(t *testing.T) {
	s := startServer(t, nil)
	for _, op := range readDescription(t).operations() {
		var body any
		if text := operationAccess[op.OperationID].body; text != "" {
			body = strings.ReplaceAll(text, "%s", "tables:read")
		}
		path := op.fill("", "")
		code, fields := s.admin.call(op.method, path+"?a=1;b=2", body).problem(t, 400)
		require.Equal(t, "invalid_request", code, op.OperationID)
		require.Equal(t, []string{"query"}, fields, op.OperationID)
		for _, p := range op.Parameters {
			if p.In != "query" {
				continue
			}
			var bad []string
			kind := fmt.Sprint(p.Schema.Type)
			switch {
			case strings.Contains(kind, "array"):
				bad = []string{"%s=", "%s=a&%s="}
			case kind == "integer":
				bad = []string{"%s=", "%s=%%2B1", "%s=01", "%s=1_0", "%s=%%201", "%s=1&%s=1"}
			case kind == "boolean":
				bad = []string{"%s=", "%s=1", "%s=T", "%s=TRUE", "%s=f", "%s=true&%s=true"}
			case p.Schema.Format == "uuid":
				bad = []string{"%s=", "%s=%%7B6ba7b810-9dad-11d1-80b4-00c04fd430c8%%7D", "%s=6ba7b8109dad11d180b400c04fd430c8", "%s=urn:uuid:6ba7b810-9dad-11d1-80b4-00c04fd430c8"}
			case len(p.Schema.Enum) > 0 || p.Schema.Format != "":
				bad = []string{"%s=", "%s=%[2]v&%s=%[2]v"}
			default:
				bad = []string{"%s=a&%s=a", "%s=a&%s=b"}
			}
			for _, form := range bad {
				query := strings.ReplaceAll(form, "%[2]v", "x")
				query = strings.ReplaceAll(strings.ReplaceAll(query, "%%", "\x00"), "%s", p.Name)
				query = strings.ReplaceAll(query, "\x00", "%")
				fields := refused(t, s.admin.call(op.method, path+"?"+query, body), 422)
				require.True(t, names(fields, p.Name), "%s?%s: %v", op.OperationID, query, fields)
			}
		}
	}
}

// TestFixedPathsAreNotParameters checks that simulate is not taken for a policy id.
func TestFixedPathsAreNotParameters(t *testing.T) {
	s := startServer(t, nil)
	path := "/v1/organisations/" + s.boot.OrganisationID + "/policies/simulate"
	for _, method := range []string{"GET", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "BREW"} {
		r := s.admin.call(method, path, nil)
		require.Equal(t, http.StatusMethodNotAllowed, r.status, method)
		require.Equal(t, "POST", r.header.Get("Allow"), method)
		require.Empty(t, r.body)
	}
	require.Equal(t, 422, s.admin.call("POST", path, object{}).status)
	require.Equal(t, 422, s.admin.call("GET", path+"x", nil).status)
}

// mayBeNull reports whether a schema takes null.
func (d description) mayBeNull(s schema) bool {
	s = d.resolve(s)
	if s.Type == nil {
		return true
	}
	types, several := s.Type.([]any)
	return several && slices.Contains(types, any("null")) && (len(s.Enum) == 0 || slices.Contains(s.Enum, nil))
}

// TestBodiesOutsideTheDescriptionAreRefused sends bodies that violate the API
// description in one place each.
func TestBodiesOutsideTheDescriptionAreRefused(t *testing.T) {
	s := startServer(t, nil)
	s.create("t", nil, col("id", "long"), col("name", "string"))
	d := readDescription(t)
	for _, op := range d.operations() {
		body, ok := op.body(d)
		if !ok {
			continue
		}
		require.NotEmpty(t, string(body.AdditionalProperties), "%s: says nothing of other members", op.OperationID)
		base := map[string]any{}
		if text := operationAccess[op.OperationID].body; text != "" {
			require.NoError(t, json.Unmarshal([]byte(strings.ReplaceAll(text, "%s", "tables:read")), &base))
		}
		op.path = strings.NewReplacer("{catalog}", "lake", "{schema}", s.schema, "{table_name}", "t", "{column}", "name").Replace(op.path)
		send := func(name string, value any) reply {
			changed := object{}
			for k, v := range base {
				changed[k] = v
			}
			changed[name] = value
			return s.admin.call(op.method, op.fill("", ""), changed)
		}
		r := s.admin.call(op.method, op.fill("", ""), `null`)
		require.Contains(t, []int{400, 422}, r.status, "%s: null: %s", op.OperationID, r.body)
		for name, property := range body.Properties {
			property = d.resolve(property)
			if !d.mayBeNull(property) {
				r := send(name, nil)
				require.Contains(t, []int{400, 422}, r.status, "%s: %s: null: %s", op.OperationID, name, r.body)
			}
			if len(property.Enum) > 0 {
				for _, value := range []any{"", "no such", strings.ToUpper(fmt.Sprint(property.Enum[0])), " " + fmt.Sprint(property.Enum[0])} {
					require.True(t, names(refused(t, send(name, value), 422), name), "%s: %s: %v", op.OperationID, name, value)
				}
			}
			if property.Format == "uuid" {
				for _, value := range []string{"", "{6ba7b810-9dad-11d1-80b4-00c04fd430c8}", "6ba7b8109dad11d180b400c04fd430c8", "urn:uuid:6ba7b810-9dad-11d1-80b4-00c04fd430c8"} {
					r := send(name, value)
					require.GreaterOrEqual(t, r.status, 400, "%s: %s: %s", op.OperationID, name, value)
					require.Less(t, r.status, 500, "%s: %s: %s", op.OperationID, name, value)
				}
			}
		}
	}
}

// TestViewersSeeNoPathsOfTheServer reads all that a viewer can.
func TestViewersSeeNoPathsOfTheServer(t *testing.T) {
	s := startServer(t, nil)
	path := s.create("t", object{"path": "deep/t"}, col("id", "long"))
	s.admin.write(path+"/rows", rowsOf(object{"id": 1}))
	viewer := s.member("vi@acme.example", "viewer", nil)
	config := s.admin.ok("POST", "/v1/storages/configs", object{
		"configName": "absolute", "kind": "local", "root": s.config.LocalRoots[0] + "/absolute", "workspaceId": s.boot.WorkspaceID,
	})
	require.Contains(t, fmt.Sprint(config["settings"]), s.config.DataDir, "who configures storage sees where it is")
	fill := strings.NewReplacer("{catalog}", "lake", "{schema}", s.schema, "{table_name}", "t", "{organisation_id}", s.boot.OrganisationID,
		"{org_id}", s.boot.OrganisationID, "{user_id}", viewer.user, "{config_id}", config["configId"].(string), "{column}", "id")
	read := 0
	for _, op := range readDescription(t).operations() {
		op.path = fill.Replace(op.path)
		var body any
		if text := operationAccess[op.OperationID].body; text != "" {
			body = strings.ReplaceAll(text, "%s", "tables:read")
		}
		r := viewer.call(op.method, op.fill("", ""), body)
		if r.status < 300 {
			read++
		}
		for _, place := range []string{s.config.DataDir, s.root} {
			require.NotContains(t, string(r.body), place, op.OperationID)
			require.NotContains(t, fmt.Sprint(r.header), place, op.OperationID)
		}
	}
	require.Greater(t, read, 12)
	require.Len(t, viewer.ok("GET", "/v1/storages/configs", nil)["configs"], 2)
}

// TestScopesComeBeforeBodies checks that a caller without the scope of a route gets
// that error, whatever else is wrong with the request.
func TestScopesComeBeforeBodies(t *testing.T) {
	s := startServer(t, nil)
	stranger, _ := s.admin.newKey(object{"scopes": []string{"org:read"}})
	asked := 0
	for _, op := range readDescription(t).operations() {
		scopes := op.Security[0]["BearerAuth"]
		if len(scopes) == 0 || slices.Contains(scopes, "org:read") {
			continue
		}
		asked++
		var body any
		if op.RequestBody != nil {
			body = `{"a":[`
		}
		code, fields := stranger.call(op.method, op.fill("", "")+"?no_such=1&no_such=2", body).problem(t, 403)
		require.Equal(t, "insufficient_scope", code, op.OperationID)
		require.Equal(t, []string{"scope"}, fields, op.OperationID)
	}
	require.Greater(t, asked, 40)
}
