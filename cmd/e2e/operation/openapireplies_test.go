package operation_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
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

// Call asks and returns the JSON object of the reply, if it is one. The
// operation is the described one, its path filled with arguments in their order.
func (c *describedCalls) Call(by *harness.Client, status int, id string, arguments []string, body any, header ...string) object {
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
	schema, err := c.compiler.Compile("openapi.json#" + strings.Join([]string{"", "paths", pointed(op.path), strings.ToLower(op.method),
		"responses", strconv.Itoa(status), "content", pointed(media), "schema"}, "/"))
	require.NoError(c.t, err, id)
	require.NoError(c.t, schema.Validate(value), "%s %d: %s", id, status, text)
	var out object
	require.NoError(c.t, json.Unmarshal(text, &out))
	return out
}

func (c *describedCalls) send(by *harness.Client, method, target string, body any, header []string) *http.Response {
	c.t.Helper()
	var reader io.Reader
	if text, ok := body.(string); ok {
		reader = strings.NewReader(text)
	} else if body != nil {
		raw, err := json.Marshal(body)
		require.NoError(c.t, err)
		reader = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(c.t.Context(), method, by.URL+target, reader)
	require.NoError(c.t, err)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if by.Key != "" {
		req.Header.Set("Authorization", "Bearer "+by.Key)
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

// elsewhere are the operations whose success takes more than a server with people:
// an object store, a provider, a password, or another table in the place of a governed one.
var elsewhere = []string{
	"adoptIdentity", "rotateS3Credential", "rotateGCSCredential", "rotateKindACredential", "rotateAzureCredential", "rotateKindBCredential",
	"putSso", "getSso", "deleteSso", "verifyDomain", "ssoCallback", "ssoBackchannelLogout",
	"providerLinkCallback", "deleteProviderLink", "takeOverStorageConfig", "changeMyPassword",
}

// TestRepliesMatchTheDescription has every operation succeed, and some of
// them in more than one way.
func TestRepliesMatchTheDescription(t *testing.T) {
	t.Parallel()
	issuer := harness.NewSigner(t)
	s := harness.Start(t, issuer.Trust)
	c := newDescribedCalls(t)
	org := s.Boot.OrganisationID
	member := s.Member("ana@acme.example", "viewer", map[string]string{"team": "a"})

	describedService(c, s, member)
	describedOrganisation(c, s.Admin, org, member.User, s.Boot.WorkspaceID)
	describedPeople(c, s, issuer)
	describedClients(c, s, issuer)
	describedStorage(c, s)
	describedTables(c, s)
	describedAnalyses(c, s)
	describedDomains(c, s)
	describedRules(c, s)
	describedPolicies(c, s, org, member.User)
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

func describedService(c *describedCalls, s *harness.Server, member *harness.Client) {
	c.Call(s.Admin, 200, "getMe", nil, nil)
	c.Call(member, 200, "getMyAttributes", nil, nil)
	c.Call(s.Admin, 200, "getLimits", nil, nil)
	c.Call(s.Client("", ""), 200, "ssoLogin", nil, object{"email": "ana@acme.example"})
	c.Call(s.Admin, 200, "logout", nil, nil)
	made := c.Call(s.Admin, 201, "createApiKey", nil, object{"name": "one"})["api_key"].(object)["id"].(string)
	c.Call(s.Admin, 200, "listApiKeys", []string{"?page_size=1"}, nil)
	c.Call(s.Admin, 200, "getApiKey", []string{made}, nil)
	next := c.Call(s.Admin, 201, "rotateApiKey", []string{made}, object{})["api_key"].(object)["id"].(string)
	c.Call(s.Admin, 200, "revokeApiKey", []string{next}, nil)
}

func describedOrganisation(c *describedCalls, admin *harness.Client, org, member, workspace string) {
	c.Call(admin, 200, "getOrganisation", []string{org}, nil)
	c.Call(admin, 200, "updateOrganisationConfig", []string{org}, object{"table_constraints": object{"max_columns": 100}})
	c.Call(admin, 200, "getOrganisation", []string{org}, nil)
	c.Call(admin, 200, "updateOrganisationConfig", []string{org}, object{"table_constraints": nil})
	c.Call(admin, 200, "listAudit", []string{org}, nil)
	c.Call(admin, 200, "listUsers", []string{org}, nil)
	c.Call(admin, 200, "getUser", []string{org, member}, nil)
	c.Call(admin, 200, "getUserAttributes", []string{org, member}, nil)
	c.Call(admin, 200, "replaceUserAttributes", []string{org, member}, object{"team": "b"})
	c.Call(admin, 200, "updateUserRole", []string{org, member}, object{"role": "editor"})
	c.Call(admin, 200, "listWorkspaces", []string{org}, nil)
	c.Call(admin, 200, "getWorkspace", []string{org, workspace}, nil)
	made := c.Call(admin, 201, "createWorkspace", []string{org}, object{"name": "Second"})["id"].(string)
	c.Call(admin, 200, "updateWorkspace", []string{org, made}, object{"name": "Other"})
	c.Call(admin, 200, "setWorkspaceMember", []string{org, made, member}, object{"role": "viewer"})
	c.Call(admin, 200, "listWorkspaceMembers", []string{org, made}, nil)
	c.Call(admin, 200, "removeWorkspaceMember", []string{org, made, member}, nil)
	c.Call(admin, 200, "deleteWorkspace", []string{org, made}, nil)
}

func describedStorage(c *describedCalls, s *harness.Server) {
	made := c.Call(s.Admin, 201, "createStorageConfig", nil, object{"configName": "mine", "kind": "local", "root": s.Config.LocalRoots[0] +
		"/mine"})["configId"].(string)
	c.Call(s.Admin, 200, "listStorageConfigs", nil, nil)
	c.Call(s.Admin, 200, "getStorageConfig", []string{made}, nil)
	c.Call(s.Admin, 200, "updateStorageConfig", []string{made}, object{"configName": "yours"})
	c.Call(s.Admin, 200, "validateStorageConfig", []string{made}, nil)
	c.Call(s.Admin, 200, "discoverTables", []string{made}, nil)
	o := c.Call(s.Admin, 202, "discoverTables", []string{made}, nil, "Prefer", "respond-async")
	s.Admin.Await(o)
	c.Call(s.Admin, 200, "attachStorageConfig", []string{made}, object{"workspaceId": s.Boot.WorkspaceID})
	c.Call(s.Admin, 200, "undoAttachStorageConfig", []string{made}, nil)
	describedMove(c, s, made, "/mine")
	c.Call(s.Admin, 200, "deleteStorageConfig", []string{made}, nil)
}

func describedMove(c *describedCalls, s *harness.Server, config, root string) {
	folder := filepath.Join(s.Config.LocalRoots[0], root, "raw")
	require.NoError(c.t, os.MkdirAll(folder, 0o700))
	require.NoError(c.t, os.WriteFile(filepath.Join(folder, "notes.txt"), []byte("text"), 0o600))
	places := object{"sourceConfigId": config, "sourcePath": "raw", "destinationConfigId": config, "destinationPath": "old", "dry_run": true}
	c.Call(s.Admin, 200, "moveObjects", nil, places)
	delete(places, "dry_run")
	done := c.Call(s.Admin, 200, "moveObjects", nil, places)
	require.EqualValues(c.t, 1, done["objectsMoved"])
	c.Call(s.Admin, 409, "moveObjects", nil, places)
	places["sourcePath"], places["destinationPath"] = "old", "raw"
	s.Admin.Await(c.Call(s.Admin, 202, "moveObjects", nil, places, "Prefer", "respond-async"))
}

func describedTables(c *describedCalls, s *harness.Server) {
	made := c.Call(s.Admin, 201, "createTable", nil, s.NewTable(s.Schema, "first", object{"partition_by": list{"day"}},
		harness.Col("id", "long", "isPrimaryKey", true), harness.Col("day", "date"), harness.Col("text", "string", "comment", "of a person")))
	table := []string{"lake", s.Schema, "orders"}
	c.Call(s.Admin, 200, "renameTable", []string{"lake", s.Schema, "first"}, object{"name": "orders"})
	c.Call(s.Admin, 200, "listTables", []string{"?page_size=1"}, nil)
	c.Call(s.Admin, 200, "resolveTable", []string{made["tableId"].(string)}, nil)
	c.Call(s.Admin, 200, "insertRows", table, harness.RowsOf(object{"id": 1, "day": "2024-01-02"}, object{"id": 2, "text": "b"}))
	c.Call(s.Admin, 200, "mergeRows", table, harness.RowsOf(object{"id": 2, "text": "c"}))
	c.Call(s.Admin, 200, "updateRows", table, object{"where": "id = 1", "set": object{"text": "'a'"}})
	c.Call(s.Admin, 200, "deleteRows", table, object{"where": "id = 7"})
	c.Call(s.Admin, 200, "getTable", table, nil)
	c.Call(s.Admin, 200, "getTableDetails", table, nil)
	c.Call(s.Admin, 200, "listColumns", table, nil)
	c.Call(s.Admin, 200, "listVersions", table, nil)
	c.Call(s.Admin, 200, "addColumn", table, object{"name": "more", "type": "integer"})
	c.Call(s.Admin, 200, "changeColumn", append(table, "more"), object{"type": "long", "comment": "wider"})
	c.Call(s.Admin, 200, "changeProperties", table, object{"set": object{"delta.appendOnly": "false"}})
	c.Call(s.Admin, 200, "restoreTable", table, object{"version": 2})
	c.Call(s.Admin, 200, "optimizeTable", table, nil)
	c.Call(s.Admin, 200, "vacuumTable", table, object{"dry_run": true})
	s.Admin.Await(c.Call(s.Admin, 202, "vacuumTable", table, nil, "Prefer", "respond-async"))
}

func describedRules(c *describedCalls, s *harness.Server) {
	table := []string{"lake", s.Schema, "orders"}
	c.Call(s.Admin, 200, "addConstraints", table, object{"constraints": list{object{"name": "positive", "expr": "id > 0"},
		object{"name": "half", "expr": "id / 2 > 0"}}})
	c.Call(s.Admin, 200, "listConstraints", table, nil)
	c.Call(s.Admin, 200, "getConstraint", append(table, "positive"), nil)
	c.Call(s.Admin, 200, "validateConstraint", append(table, "half"), nil)
	c.Call(s.Admin, 200, "listViolations", table, nil)
	c.Call(s.Admin, 200, "deleteConstraint", append(table, "half"), nil)
	c.Call(s.Admin, 200, "updateColumnSettings", append(table, "id"), object{"isNullable": false})
	c.Call(s.Admin, 200, "replacePrimaryKey", table, object{"columns": list{}})
	s.Admin.Await(c.Call(s.Admin, 202, "replacePrimaryKey", table, object{"columns": list{"id"}}, "Prefer", "respond-async"))
	// Dropping names columns anew in files, so it comes last.
	s.Admin.OK("PATCH", s.TablePath("orders")+"/columns/text", object{"name": "words"})
	c.Call(s.Admin, 200, "dropColumn", append(table, "words"), nil)
	s.Create("gone", nil, harness.Col("id", "long"))
	c.Call(s.Admin, 200, "dropTable", []string{"lake", s.Schema, "gone"}, nil)
}

func describedPolicies(c *describedCalls, s *harness.Server, org, member string) {
	fqn := "lake." + s.Schema + ".orders"
	made := c.Call(s.Admin, 201, "createPolicy", []string{org}, object{"tableFqn": fqn, "kind": "rls", "columnName": "id",
		"definition": harness.Definition(`{"effect":"permit","subject":{"everyone":true},"condition":{"op":"gt","value":0}}`)})
	one := []string{org, made["id"].(string)}
	c.Call(s.Admin, 201, "createPolicy", []string{org}, object{"kind": "rls",
		"policyText": `permit (principal, action, resource) when { resource.id > 0 };`})
	c.Call(s.Admin, 200, "listPolicies", []string{org}, nil)
	c.Call(s.Admin, 200, "getPolicy", one, nil)
	c.Call(s.Admin, 200, "updatePolicy", one, object{"enabled": false, "expectedVersion": 1})
	c.Call(s.Admin, 200, "replacePolicy", one, object{"tableFqn": fqn, "kind": "mask", "columnName": "day", "expectedVersion": 2,
		"definition": harness.Definition(`{"effect":"permit","subject":{"role":"admin"},"condition":null,"mask":"null"}`)})
	c.Call(s.Admin, 200, "listPolicyHistory", one, nil)
	c.Call(s.Admin, 200, "listEffectivePolicies", []string{"lake", s.Schema, "orders"}, nil)
	c.Call(s.Admin, 200, "listUserEffectivePolicies", []string{org, member, "?tableFqn=" + fqn}, nil)
	c.Call(s.Admin, 200, "simulatePolicies", []string{org}, object{"tableFqn": fqn, "role": "viewer", "attributes": object{"team": "a"}})
	c.Call(s.Admin, 200, "deletePolicy", append(one, "?expectedVersion=3"), nil)
}

func describedQueries(c *describedCalls, s *harness.Server) {
	everything := object{"sql": "SELECT 1 AS a, 'x' AS b, NULL AS c, [1, 2] AS d, {'e': 1.5} AS f, DATE '2024-01-02' AS g"}
	result := c.Call(s.Admin, 200, "query", nil, everything)
	require.Len(c.t, result["rows"].(list)[0], 6)
	c.Call(s.Admin, 200, "query", nil, object{"sql": "SELECT 1 AS a WHERE false"})
	cut := c.Call(s.Admin, 200, "query", nil, object{"sql": "SELECT * FROM range(5)", "row_limit": 2})
	require.Equal(c.t, true, cut["truncated"])
	for _, accept := range []string{harness.Ndjson, harness.CSVType, harness.ArrowType, harness.ParquetType} {
		c.Call(s.Admin, 200, "query", nil, everything, "Accept", accept)
	}
	table := []string{"lake", s.Schema, "orders"}
	page := c.Call(s.Admin, 200, "listRows", append(table, "?page_size=1"), nil)
	c.Call(s.Admin, 200, "listRows", append(table, "?page_size=1"), nil, "Accept", harness.CSVType)
	last := c.Call(s.Admin, 200, "listRows", append(table, "?page_size=1&page_token="+page["next_page_token"].(string)), nil)
	require.NotContains(c.t, last, "next_page_token")

	c.Call(s.Admin, 202, "query", nil, everything, "Prefer", "respond-async")
	done := s.Admin.Await(c.Call(s.Admin, 202, "startQuery", nil, everything))["id"].(string)
	c.Call(s.Admin, 200, "getOperation", []string{done}, nil)
	c.Call(s.Admin, 200, "getOperationResult", []string{done}, nil)
	c.Call(s.Admin, 200, "getOperationResult", []string{done}, nil, "Accept", harness.ArrowType)
	failed := s.Admin.Await(c.Call(s.Admin, 202, "startQuery", nil, object{"sql": "SELECT nope"}))["id"].(string)
	require.NotNil(c.t, c.Call(s.Admin, 200, "getOperation", []string{failed}, nil)["error"])
	c.Call(s.Admin, 200, "listOperations", nil, nil)
	c.Call(s.Admin, 200, "cancelOperation", []string{done}, nil)
}

func describedRefusals(c *describedCalls, s *harness.Server) {
	c.Call(s.Admin, 400, "query", nil, object{"sql": "SELEC"})
	c.Call(s.Admin, 400, "query", nil, "no JSON")
	c.Call(s.Client("", ""), 401, "getMe", nil, nil)
	c.Call(s.Admin, 404, "getTable", []string{"lake", s.Schema, "none"}, nil)
	c.Call(s.Admin, 409, "createTable", nil, s.NewTable(s.Schema, "orders", nil, harness.Col("id", "long")))
	c.Call(s.Admin, 422, "listRows", []string{"lake", s.Schema, "orders", "?page_size=0"}, nil)
	c.Call(s.Member("vic@acme.example", "viewer", nil), 403, "createPolicy", []string{s.Boot.OrganisationID}, object{"kind": "rls"})
}
