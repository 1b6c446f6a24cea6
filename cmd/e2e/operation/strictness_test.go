package operation_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestAmbiguousQueryStringsAreRefused sends every parameter of every operation in
// forms that readers of the API description could interpret differently.
func TestAmbiguousQueryStringsAreRefused(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	for _, op := range readDescription(t).operations() {
		var body any
		if text := operationAccess[op.OperationID].body; text != "" {
			body = strings.ReplaceAll(text, "%s", "tables:read")
		}
		path := op.fill("", "")
		code, fields := s.Admin.Call(op.method, path+"?a=1;b=2", body).Problem(t, 400)
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
				bad = []string{"%s=", "%s=%%7B6ba7b810-9dad-11d1-80b4-00c04fd430c8%%7D", "%s=6ba7b8109dad11d180b400c04fd430c8",
					"%s=urn:uuid:6ba7b810-9dad-11d1-80b4-00c04fd430c8"}
			case len(p.Schema.Enum) > 0 || p.Schema.Format != "":
				bad = []string{"%s=", "%s=%[2]v&%s=%[2]v"}
			default:
				bad = []string{"%s=a&%s=a", "%s=a&%s=b"}
			}
			for _, form := range bad {
				query := strings.ReplaceAll(form, "%[2]v", "x")
				query = strings.ReplaceAll(strings.ReplaceAll(query, "%%", "\x00"), "%s", p.Name)
				query = strings.ReplaceAll(query, "\x00", "%")
				fields := harness.Refused(t, s.Admin.Call(op.method, path+"?"+query, body), 422)
				require.True(t, harness.NamesField(fields, p.Name), "%s?%s: %v", op.OperationID, query, fields)
			}
		}
	}
}

// TestFixedPathsAreNotParameters checks that simulate is not taken for a policy id.
func TestFixedPathsAreNotParameters(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := "/v1/organisations/" + s.Boot.OrganisationID + "/policies/simulate"
	for _, method := range []string{"GET", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "BREW"} {
		r := s.Admin.Call(method, path, nil)
		require.Equal(t, http.StatusMethodNotAllowed, r.Status, method)
		require.Equal(t, "POST", r.Header.Get("Allow"), method)
		require.Empty(t, r.Body)
	}
	require.Equal(t, 422, s.Admin.Call("POST", path, object{}).Status)
	require.Equal(t, 422, s.Admin.Call("GET", path+"x", nil).Status)
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
	t.Parallel()
	s := harness.Shared(t)
	s.Create("t", nil, harness.Col("id", "long"), harness.Col("name", "string"))
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
		op.path = strings.NewReplacer("{catalog}", "lake", "{schema}", s.Schema, "{table_name}", "t", "{column}", "name").Replace(op.path)
		send := func(name string, value any) harness.Reply {
			changed := object{}
			for k, v := range base {
				changed[k] = v
			}
			changed[name] = value
			return s.Admin.Call(op.method, op.fill("", ""), changed)
		}
		r := s.Admin.Call(op.method, op.fill("", ""), `null`)
		require.Contains(t, []int{400, 422}, r.Status, "%s: null: %s", op.OperationID, r.Body)
		for name, property := range body.Properties {
			property = d.resolve(property)
			if !d.mayBeNull(property) {
				r := send(name, nil)
				require.Contains(t, []int{400, 422}, r.Status, "%s: %s: null: %s", op.OperationID, name, r.Body)
			}
			if len(property.Enum) > 0 {
				for _, value := range []any{"", "no such", strings.ToUpper(fmt.Sprint(property.Enum[0])), " " + fmt.Sprint(property.Enum[0])} {
					require.True(t, harness.NamesField(harness.Refused(t, send(name, value), 422), name), "%s: %s: %v", op.OperationID, name, value)
				}
			}
			if property.Format == "uuid" {
				for _, value := range []string{"", "{6ba7b810-9dad-11d1-80b4-00c04fd430c8}", "6ba7b8109dad11d180b400c04fd430c8",
					"urn:uuid:6ba7b810-9dad-11d1-80b4-00c04fd430c8"} {
					r := send(name, value)
					require.GreaterOrEqual(t, r.Status, 400, "%s: %s: %s", op.OperationID, name, value)
					require.Less(t, r.Status, 500, "%s: %s: %s", op.OperationID, name, value)
				}
			}
		}
	}
}

// TestViewersSeeNoPathsOfTheServer reads all that a viewer can.
func TestViewersSeeNoPathsOfTheServer(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	path := s.Create("t", object{"path": "deep/t"}, harness.Col("id", "long"))
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 1}))
	viewer := s.Member("vi@acme.example", "viewer", nil)
	config := s.Admin.OK("POST", "/v1/storages/configs", object{
		"configName": "absolute", "kind": "local", "root": s.Config.LocalRoots[0] + "/absolute", "workspaceId": s.Boot.WorkspaceID,
	})
	require.Contains(t, fmt.Sprint(config["settings"]), s.Config.DataDir, "who configures storage sees where it is")
	fill := strings.NewReplacer("{catalog}", "lake", "{schema}", s.Schema, "{table_name}", "t", "{organisation_id}", s.Boot.OrganisationID,
		"{org_id}", s.Boot.OrganisationID, "{user_id}", viewer.User, "{config_id}", config["configId"].(string), "{column}", "id")
	read := 0
	for _, op := range readDescription(t).operations() {
		op.path = fill.Replace(op.path)
		var body any
		if text := operationAccess[op.OperationID].body; text != "" {
			body = strings.ReplaceAll(text, "%s", "tables:read")
		}
		r := viewer.Call(op.method, op.fill("", ""), body)
		if r.Status < 300 {
			read++
		}
		for _, place := range []string{s.Config.DataDir, s.Root} {
			require.NotContains(t, string(r.Body), place, op.OperationID)
			require.NotContains(t, fmt.Sprint(r.Header), place, op.OperationID)
		}
	}
	require.Greater(t, read, 12)
	require.Len(t, viewer.OK("GET", "/v1/storages/configs", nil)["configs"], 2)
}

// TestScopesComeBeforeBodies checks that a caller without the scope of a route gets
// that error, whatever else is wrong with the request.
func TestScopesComeBeforeBodies(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	stranger, _ := s.Admin.NewKey(object{"scopes": []string{"org:read"}})
	asked := 0
	for _, op := range readDescription(t).operations() {
		if slices.Contains(openOperations, op.OperationID) {
			continue
		}
		scopes := op.Security[0]["BearerAuth"]
		if len(scopes) == 0 || slices.Contains(scopes, "org:read") {
			continue
		}
		asked++
		var body any
		if op.RequestBody != nil {
			body = `{"a":[`
		}
		code, fields := stranger.Call(op.method, op.fill("", "")+"?no_such=1&no_such=2", body).Problem(t, 403)
		require.Equal(t, "insufficient_scope", code, op.OperationID)
		require.Equal(t, []string{"scope"}, fields, op.OperationID)
	}
	require.Greater(t, asked, 40)
}
