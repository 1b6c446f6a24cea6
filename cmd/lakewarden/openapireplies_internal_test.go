package main

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

// describedCalls makes requests and holds every reply against docs/openapi.json.
type describedCalls struct {
	t        *testing.T
	d        description
	compiler *jsonschema.Compiler
	// answered are the operations that succeeded, by their ids.
	answered map[string]bool
}

func newDescribedCalls(t *testing.T) *describedCalls {
	t.Helper()
	raw, err := os.ReadFile(openAPIFile)
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	require.NoError(t, compiler.AddResource("openapi.json", document))
	return &describedCalls{t: t, d: readDescription(t), compiler: compiler, answered: map[string]bool{}}
}

// call asks and returns the JSON object of the reply, if it is one. The
// operation is the described one, its path filled with arguments in their order.
func (c *describedCalls) call(by *client, status int, id string, arguments []string, body any, header ...string) object {
	c.t.Helper()
	i := slices.IndexFunc(c.d.operations(), func(op operation) bool { return op.OperationID == id })
	require.GreaterOrEqual(c.t, i, 0, "no operation %s", id)
	op := c.d.operations()[i]
	path, query, _ := strings.Cut(filled(c.t, op.path, arguments), "?")
	r := c.send(by, op.method, strings.TrimSuffix(path+"?"+query, "?"), body, header)
	defer func() { require.NoError(c.t, r.Body.Close()) }()
	text, err := io.ReadAll(r.Body)
	require.NoError(c.t, err)
	require.Equal(c.t, status, r.StatusCode, "%s: %s", id, text)
	reply, described := op.Responses[strconv.Itoa(status)]
	require.True(c.t, described, "%s does not describe %d", id, status)
	c.headers(id, reply, r)
	if status < 300 {
		c.answered[id] = true
	}
	media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	require.Contains(c.t, reply.Content, media, id)
	if media != "application/json" {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(c.t, err, id)
	schema, err := c.compiler.Compile("openapi.json#" + strings.Join([]string{"", "paths", pointed(op.path), strings.ToLower(op.method), "responses", strconv.Itoa(status), "content", pointed(media), "schema"}, "/"))
	require.NoError(c.t, err, id)
	require.NoError(c.t, schema.Validate(value), "%s %d: %s", id, status, text)
	var out object
	require.NoError(c.t, json.Unmarshal(text, &out))
	return out
}

func (c *describedCalls) send(by *client, method, target string, body any, header []string) *http.Response {
	c.t.Helper()
	var reader io.Reader
	if text, ok := body.(string); ok {
		reader = strings.NewReader(text)
	} else if body != nil {
		raw, err := json.Marshal(body)
		require.NoError(c.t, err)
		reader = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(c.t.Context(), method, by.url+target, reader)
	require.NoError(c.t, err)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if by.key != "" {
		req.Header.Set("Authorization", "Bearer "+by.key)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	r, err := http.DefaultClient.Do(req)
	require.NoError(c.t, err)
	return r
}

// headers looks for those that are always there, before the body or behind it.
func (c *describedCalls) headers(id string, described operationReply, r *http.Response) {
	c.t.Helper()
	for name := range described.Headers {
		h := c.d.Components.Headers[name]
		value := r.Header.Get(name) + r.Trailer.Get(name)
		require.True(c.t, value != "" || !h.Required && name != "X-Truncated", "%s: %s is missing", id, name)
		switch {
		case value == "":
		case h.Schema.Type == "boolean":
			require.Contains(c.t, []string{"true", "false"}, value, "%s: %s", id, name)
		case h.Schema.Type == "integer":
			_, err := strconv.Atoi(value)
			require.NoError(c.t, err, "%s: %s", id, name)
		}
	}
}

// filled puts arguments in the places of a path; one more is its query.
func filled(t *testing.T, path string, arguments []string) string {
	t.Helper()
	for strings.Contains(path, "{") {
		require.NotEmpty(t, arguments, path)
		from, to := strings.Index(path, "{"), strings.Index(path, "}")
		path, arguments = path[:from]+arguments[0]+path[to+1:], arguments[1:]
	}
	return path + strings.Join(arguments, "")
}

// pointed writes a name as a part of a JSON pointer in a URL.
func pointed(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(name)
}

// elsewhere are the operations whose success takes more than a server of its own:
// an object store, or another table in the place of a governed one.
var elsewhere = []string{"adoptIdentity", "rotateS3Credential"}

// TestRepliesAreWhatTheDescriptionSays has every operation succeed, and some of
// them in more than one way.
func TestRepliesAreWhatTheDescriptionSays(t *testing.T) {
	s := startServer(t, nil)
	c := newDescribedCalls(t)
	org := s.boot.OrganisationID
	member := s.member("ana@acme.example", "viewer", map[string]string{"team": "a"})

	describedService(c, s, member)
	describedOrganisation(c, s.admin, org, member.user, s.boot.WorkspaceID)
	describedStorage(c, s)
	describedTables(c, s)
	describedRules(c, s)
	describedPolicies(c, s, org, member.user)
	describedQueries(c, s)
	describedRefusals(c, s)

	every := map[string]bool{}
	for _, op := range c.d.operations() {
		every[op.OperationID] = true
	}
	for _, id := range elsewhere {
		require.NotContains(t, c.answered, id)
		delete(every, id)
	}
	require.Equal(t, slices.Sorted(maps.Keys(every)), slices.Sorted(maps.Keys(c.answered)))
}

func describedService(c *describedCalls, s *testServer, member *client) {
	c.call(s.admin, 200, "getMe", nil, nil)
	c.call(member, 200, "getMyAttributes", nil, nil)
	c.call(s.admin, 200, "getLimits", nil, nil)
	made := c.call(s.admin, 201, "createApiKey", nil, object{"name": "one"})["api_key"].(object)["id"].(string)
	c.call(s.admin, 200, "listApiKeys", []string{"?page_size=1"}, nil)
	c.call(s.admin, 200, "getApiKey", []string{made}, nil)
	next := c.call(s.admin, 201, "rotateApiKey", []string{made}, object{})["api_key"].(object)["id"].(string)
	c.call(s.admin, 200, "revokeApiKey", []string{next}, nil)
}

func describedOrganisation(c *describedCalls, admin *client, org, member, workspace string) {
	c.call(admin, 200, "getOrganisation", []string{org}, nil)
	c.call(admin, 200, "updateOrganisationConfig", []string{org}, object{"table_constraints": object{"max_columns": 100}})
	c.call(admin, 200, "getOrganisation", []string{org}, nil)
	c.call(admin, 200, "updateOrganisationConfig", []string{org}, object{"table_constraints": nil})
	c.call(admin, 200, "listAudit", []string{org}, nil)
	c.call(admin, 200, "listUsers", []string{org}, nil)
	c.call(admin, 200, "getUser", []string{org, member}, nil)
	c.call(admin, 200, "getUserAttributes", []string{org, member}, nil)
	c.call(admin, 200, "replaceUserAttributes", []string{org, member}, object{"team": "b"})
	c.call(admin, 200, "updateUserRole", []string{org, member}, object{"role": "editor"})
	c.call(admin, 200, "listWorkspaces", []string{org}, nil)
	c.call(admin, 200, "getWorkspace", []string{org, workspace}, nil)
	made := c.call(admin, 201, "createWorkspace", []string{org}, object{"name": "Second"})["id"].(string)
	c.call(admin, 200, "updateWorkspace", []string{org, made}, object{"name": "Other"})
	c.call(admin, 200, "setWorkspaceMember", []string{org, made, member}, object{"role": "viewer"})
	c.call(admin, 200, "listWorkspaceMembers", []string{org, made}, nil)
	c.call(admin, 200, "removeWorkspaceMember", []string{org, made, member}, nil)
	c.call(admin, 200, "deleteWorkspace", []string{org, made}, nil)
}

func describedStorage(c *describedCalls, s *testServer) {
	made := c.call(s.admin, 201, "createStorageConfig", nil, object{"configName": "mine", "kind": "local", "root": s.config.LocalRoots[0] + "/mine"})["configId"].(string)
	c.call(s.admin, 200, "listStorageConfigs", nil, nil)
	c.call(s.admin, 200, "getStorageConfig", []string{made}, nil)
	c.call(s.admin, 200, "updateStorageConfig", []string{made}, object{"configName": "yours"})
	c.call(s.admin, 200, "validateStorageConfig", []string{made}, nil)
	c.call(s.admin, 200, "discoverTables", []string{made}, nil)
	o := c.call(s.admin, 202, "discoverTables", []string{made}, nil, "Prefer", "respond-async")
	s.admin.await(o)
	c.call(s.admin, 200, "deleteStorageConfig", []string{made}, nil)
}

func describedTables(c *describedCalls, s *testServer) {
	made := c.call(s.admin, 201, "createTable", nil, s.newTable(s.schema, "first", object{"partition_by": list{"day"}},
		col("id", "long", "isPrimaryKey", true), col("day", "date"), col("text", "string", "comment", "of a person")))
	table := []string{"lake", s.schema, "orders"}
	c.call(s.admin, 200, "renameTable", []string{"lake", s.schema, "first"}, object{"name": "orders"})
	c.call(s.admin, 200, "listTables", []string{"?page_size=1"}, nil)
	c.call(s.admin, 200, "resolveTable", []string{made["tableId"].(string)}, nil)
	c.call(s.admin, 200, "insertRows", table, rowsOf(object{"id": 1, "day": "2024-01-02"}, object{"id": 2, "text": "b"}))
	c.call(s.admin, 200, "mergeRows", table, rowsOf(object{"id": 2, "text": "c"}))
	c.call(s.admin, 200, "updateRows", table, object{"where": "id = 1", "set": object{"text": "'a'"}})
	c.call(s.admin, 200, "deleteRows", table, object{"where": "id = 7"})
	c.call(s.admin, 200, "getTable", table, nil)
	c.call(s.admin, 200, "getTableDetails", table, nil)
	c.call(s.admin, 200, "listColumns", table, nil)
	c.call(s.admin, 200, "listVersions", table, nil)
	c.call(s.admin, 200, "addColumn", table, object{"name": "more", "type": "integer"})
	c.call(s.admin, 200, "changeColumn", append(table, "more"), object{"type": "long", "comment": "wider"})
	c.call(s.admin, 200, "changeProperties", table, object{"set": object{"delta.appendOnly": "false"}})
	c.call(s.admin, 200, "restoreTable", table, object{"version": 2})
	c.call(s.admin, 200, "optimizeTable", table, nil)
	c.call(s.admin, 200, "vacuumTable", table, object{"dry_run": true})
	s.admin.await(c.call(s.admin, 202, "vacuumTable", table, nil, "Prefer", "respond-async"))
}

func describedRules(c *describedCalls, s *testServer) {
	table := []string{"lake", s.schema, "orders"}
	c.call(s.admin, 200, "addConstraints", table, object{"constraints": list{object{"name": "positive", "expr": "id > 0"}, object{"name": "half", "expr": "id / 2 > 0"}}})
	c.call(s.admin, 200, "listConstraints", table, nil)
	c.call(s.admin, 200, "getConstraint", append(table, "positive"), nil)
	c.call(s.admin, 200, "validateConstraint", append(table, "half"), nil)
	c.call(s.admin, 200, "listViolations", table, nil)
	c.call(s.admin, 200, "deleteConstraint", append(table, "half"), nil)
	c.call(s.admin, 200, "updateColumnSettings", append(table, "id"), object{"isNullable": false})
	c.call(s.admin, 200, "replacePrimaryKey", table, object{"columns": list{}})
	s.admin.await(c.call(s.admin, 202, "replacePrimaryKey", table, object{"columns": list{"id"}}, "Prefer", "respond-async"))
	// Dropping names columns anew in files, so it comes last.
	s.admin.ok("PATCH", s.tablePath("orders")+"/columns/text", object{"name": "words"})
	c.call(s.admin, 200, "dropColumn", append(table, "words"), nil)
	s.create("gone", nil, col("id", "long"))
	c.call(s.admin, 200, "dropTable", []string{"lake", s.schema, "gone"}, nil)
}

func describedPolicies(c *describedCalls, s *testServer, org, member string) {
	fqn := "lake." + s.schema + ".orders"
	made := c.call(s.admin, 201, "createPolicy", []string{org}, object{"tableFqn": fqn, "kind": "rls", "columnName": "id",
		"definition": definition(`{"effect":"permit","subject":{"everyone":true},"condition":{"op":"gt","value":0}}`)})
	one := []string{org, made["id"].(string)}
	c.call(s.admin, 201, "createPolicy", []string{org}, object{"kind": "rls", "policyText": `permit (principal, action, resource) when { resource.id > 0 };`})
	c.call(s.admin, 200, "listPolicies", []string{org}, nil)
	c.call(s.admin, 200, "getPolicy", one, nil)
	c.call(s.admin, 200, "updatePolicy", one, object{"enabled": false, "expectedVersion": 1})
	c.call(s.admin, 200, "replacePolicy", one, object{"tableFqn": fqn, "kind": "mask", "columnName": "day", "expectedVersion": 2,
		"definition": definition(`{"effect":"permit","subject":{"role":"admin"},"condition":null,"mask":"null"}`)})
	c.call(s.admin, 200, "listPolicyHistory", one, nil)
	c.call(s.admin, 200, "listEffectivePolicies", []string{"lake", s.schema, "orders"}, nil)
	c.call(s.admin, 200, "listUserEffectivePolicies", []string{org, member, "?tableFqn=" + fqn}, nil)
	c.call(s.admin, 200, "simulatePolicies", []string{org}, object{"tableFqn": fqn, "role": "viewer", "attributes": object{"team": "a"}})
	c.call(s.admin, 200, "deletePolicy", append(one, "?expectedVersion=3"), nil)
}

func describedQueries(c *describedCalls, s *testServer) {
	everything := object{"sql": "SELECT 1 AS a, 'x' AS b, NULL AS c, [1, 2] AS d, {'e': 1.5} AS f, DATE '2024-01-02' AS g"}
	result := c.call(s.admin, 200, "query", nil, everything)
	require.Len(c.t, result["rows"].(list)[0], 6)
	c.call(s.admin, 200, "query", nil, object{"sql": "SELECT 1 AS a WHERE false"})
	cut := c.call(s.admin, 200, "query", nil, object{"sql": "SELECT * FROM range(5)", "row_limit": 2})
	require.Equal(c.t, true, cut["truncated"])
	for _, accept := range []string{ndjson, csvType, arrowType, parquetType} {
		c.call(s.admin, 200, "query", nil, everything, "Accept", accept)
	}
	table := []string{"lake", s.schema, "orders"}
	page := c.call(s.admin, 200, "listRows", append(table, "?page_size=1"), nil)
	c.call(s.admin, 200, "listRows", append(table, "?page_size=1"), nil, "Accept", csvType)
	last := c.call(s.admin, 200, "listRows", append(table, "?page_size=1&page_token="+page["next_page_token"].(string)), nil)
	require.NotContains(c.t, last, "next_page_token")

	c.call(s.admin, 202, "query", nil, everything, "Prefer", "respond-async")
	done := s.admin.await(c.call(s.admin, 202, "startQuery", nil, everything))["id"].(string)
	c.call(s.admin, 200, "getOperation", []string{done}, nil)
	c.call(s.admin, 200, "getOperationResult", []string{done}, nil)
	c.call(s.admin, 200, "getOperationResult", []string{done}, nil, "Accept", arrowType)
	failed := s.admin.await(c.call(s.admin, 202, "startQuery", nil, object{"sql": "SELECT nope"}))["id"].(string)
	require.NotNil(c.t, c.call(s.admin, 200, "getOperation", []string{failed}, nil)["error"])
	c.call(s.admin, 200, "listOperations", nil, nil)
	c.call(s.admin, 200, "cancelOperation", []string{done}, nil)
}

func describedRefusals(c *describedCalls, s *testServer) {
	c.call(s.admin, 400, "query", nil, object{"sql": "SELEC"})
	c.call(s.admin, 400, "query", nil, "no JSON")
	c.call(s.client("", ""), 401, "getMe", nil, nil)
	c.call(s.admin, 404, "getTable", []string{"lake", s.schema, "none"}, nil)
	c.call(s.admin, 409, "createTable", nil, s.newTable(s.schema, "orders", nil, col("id", "long")))
	c.call(s.admin, 422, "listRows", []string{"lake", s.schema, "orders", "?page_size=0"}, nil)
	c.call(s.member("vic@acme.example", "viewer", nil), 403, "createPolicy", []string{s.boot.OrganisationID}, object{"kind": "rls"})
}
