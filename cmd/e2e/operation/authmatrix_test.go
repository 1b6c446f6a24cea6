package operation_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// accessNeeds is what an operation asks of its caller, written down here and not
// read from the description, and a body that passes the framework's checks.
// Paths name things that do not exist, so that an allowed caller gets a 404 or
// a harmless 2xx.
type accessNeeds struct{ scope, body string }

var operationAccess = map[string]accessNeeds{
	"createApiKey": {"apikeys:create", `{"name":"x","scopes":["%s"]}`},
	"listApiKeys":  {"apikeys:create", ""},
	"getApiKey":    {"apikeys:create", ""},
	"revokeApiKey": {"apikeys:create", ""},
	"rotateApiKey": {"apikeys:create", ""},

	"getOrganisation":          {"org:read", ""},
	"updateOrganisationConfig": {"org:update", `{}`},
	"listAudit":                {"org:update", ""},

	"listUsers":                 {"org:read", ""},
	"getUser":                   {"org:read", ""},
	"getUserAttributes":         {"rls_policies:read", ""},
	"replaceUserAttributes":     {"rls_policies:write", `{}`},
	"updateUserRole":            {"users:write", `{"role":"viewer"}`},
	"getMe":                     {"", ""},
	"getMyAttributes":           {"", ""},
	"listUserEffectivePolicies": {"rls_policies:write", ""},

	"listWorkspaces":        {"org:read", ""},
	"createWorkspace":       {"org:update", `{"name":""}`}, // never valid: the matrix makes nothing
	"getWorkspace":          {"org:read", ""},
	"updateWorkspace":       {"org:update", `{"name":"x"}`},
	"deleteWorkspace":       {"org:update", ""},
	"listWorkspaceMembers":  {"org:read", ""},
	"setWorkspaceMember":    {"users:write", `{"role":"viewer"}`},
	"removeWorkspaceMember": {"users:write", ""},

	"createStorageConfig":   {"storage:configure", `{"configName":"x","kind":"s3"}`},
	"listStorageConfigs":    {"storage:read", ""},
	"getStorageConfig":      {"storage:read", ""},
	"updateStorageConfig":   {"storage:configure", `{}`},
	"deleteStorageConfig":   {"storage:configure", ""},
	"validateStorageConfig": {"storage:configure", ""},
	"discoverTables":        {"storage:configure", ""},

	"rotateS3Credential": {"storage:configure", `{"accessKeyId":"x","secretAccessKey":"y"}`},

	"listTables":            {"tables:read", ""},
	"resolveTable":          {"tables:read", ""},
	"getTable":              {"tables:read", ""},
	"getTableDetails":       {"tables:read", ""},
	"listColumns":           {"tables:read", ""},
	"listVersions":          {"tables:read", ""},
	"listEffectivePolicies": {"tables:read", ""},
	"createTable":           {"tables:create", `{"catalog":"lake","schema":"x","name":"x","columns":[{"name":"a","type":"long"}]}`},
	"renameTable":           {"tables:modify", `{"name":"x"}`},
	"dropTable":             {"tables:modify", ""},
	"addColumn":             {"tables:modify", `{"name":"x","type":"long"}`},
	"changeColumn":          {"tables:modify", `{"comment":"x"}`},
	"dropColumn":            {"tables:modify", ""},
	"changeProperties":      {"tables:modify", `{"set":{"delta.appendOnly":"false"}}`},
	"restoreTable":          {"tables:modify", `{"version":0}`},
	"updateColumnSettings":  {"tables:modify", `{"isUnique":false}`},
	"replacePrimaryKey":     {"tables:modify", `{"columns":[]}`},
	"addConstraints":        {"tables:modify", `{"constraints":[{"name":"c","expr":"id > 0"}]}`},
	"listViolations":        {"tables:modify", ""},
	"listConstraints":       {"tables:read", ""},
	"getConstraint":         {"tables:read", ""},
	"deleteConstraint":      {"tables:modify", ""},
	"validateConstraint":    {"tables:modify", ""},
	"vacuumTable":           {"tables:modify", ""},
	"optimizeTable":         {"tables:modify", ""},
	"adoptIdentity":         {"rls_policies:write", `{"keep_rules":true}`},

	"getDomain":          {"domains:read", ""},
	"deleteDomain":       {"domains:write", ""},
	"setFixedDomain":     {"domains:write", `{"values":["a"]}`},
	"setInlineDomain":    {"domains:write", `{"parent_column":"x","parents":[]}`},
	"setLookupDomain":    {"domains:write", `{"parent_column":"x","table_path":"x","parent_key":"x","child_key":"y"}`},
	"setReferenceDomain": {"domains:write", `{"table_path":"x","column":"x"}`},
	"setRangeDomain":     {"domains:write", `{"min":"1"}`},
	"setSharedDomain":    {"domains:write", `{"domain_id":"` + harness.MissingID + `"}`},
	"checkValueInUse":    {"tables:read", ""},
	"listAllowedValues":  {"domains:read", ""},
	"addValue":           {"domains:write", `{"value":"x"}`},
	"addParent":          {"domains:write", `{"value":"x"}`},
	"addChild":           {"domains:write", `{"value":"x"}`},
	"changeValue":        {"domains:write", `{"value":"x"}`},
	"deleteValue":        {"domains:write", ""},
	"deleteParent":       {"domains:write", ""},
	"deleteChild":        {"domains:write", ""},

	"createSharedDomain":  {"domains:write", `{"name":"x","type":"range"}`}, // never valid: the matrix makes nothing
	"listSharedDomains":   {"domains:read", ""},
	"getSharedDomain":     {"domains:read", ""},
	"replaceSharedDomain": {"domains:write", `{"name":"x","type":"fixed","values":[],"expected_version":1}`},
	"deleteSharedDomain":  {"domains:write", ""},
	"addSharedValue":      {"domains:write", `{"value":"x"}`},
	"addSharedParent":     {"domains:write", `{"value":"x"}`},
	"addSharedChild":      {"domains:write", `{"value":"x"}`},
	"changeSharedValue":   {"domains:write", `{"value":"x"}`},
	"deleteSharedValue":   {"domains:write", ""},
	"deleteSharedParent":  {"domains:write", ""},
	"deleteSharedChild":   {"domains:write", ""},

	"createPolicy":      {"rls_policies:write", `{"kind":"cls"}`},
	"listPolicies":      {"rls_policies:read", ""},
	"getPolicy":         {"rls_policies:read", ""},
	"replacePolicy":     {"rls_policies:write", `{"expectedVersion":1,"definition":{"effect":"permit","subject":{"everyone":true}}}`},
	"updatePolicy":      {"rls_policies:write", `{"expectedVersion":1,"enabled":true}`},
	"deletePolicy":      {"rls_policies:write", ""},
	"listPolicyHistory": {"rls_policies:read", ""},
	"simulatePolicies":  {"rls_policies:write", `{"tableFqn":"lake.x.y","role":"viewer"}`},

	"inferSchema": {"tables:modify", ""},

	"insertRows": {"rows:insert", `{"rows":[]}`},
	"mergeRows":  {"", `{"rows":[]}`},
	"updateRows": {"rows:update", `{"where":"true","set":{"a":"1"}}`},
	"deleteRows": {"rows:delete", `{"where":"true"}`},

	"query":     {"tables:query", `{"sql":"SELECT 1"}`},
	"listRows":  {"tables:query", ""},
	"getLimits": {"", ""},

	"startQuery":         {"tables:query", `{"sql":"SELECT 1"}`},
	"listOperations":     {"", ""},
	"getOperation":       {"", ""},
	"cancelOperation":    {"", ""},
	"getOperationResult": {"tables:query", ""},
}

// hiddenInstead are operations on workspaces that a caller without the scope finds
// missing, because it is not a member; callers who manage workspaces see all of them.
var hiddenInstead = []string{"updateWorkspace", "deleteWorkspace", "setWorkspaceMember", "removeWorkspaceMember"}

// request makes the call of an operation for the matrix, in an organisation.
func (op operation) request(c *harness.Client, org string) harness.Reply {
	path := op.path
	for _, p := range op.Parameters {
		value := "nothing"
		switch {
		case p.In != "path":
			continue
		case p.Name == "org_id" || p.Name == "organisation_id":
			value = org
		case p.Schema.Format == "uuid":
			value = harness.MissingID
		}
		path = strings.ReplaceAll(path, "{"+p.Name+"}", value)
	}
	switch op.OperationID {
	case "listUserEffectivePolicies":
		path += "?tableFqn=lake.x.y"
	case "deletePolicy":
		path += "?expectedVersion=1"
	case "checkValueInUse":
		path += "?value=x"
	}
	var body any
	if text := operationAccess[op.OperationID].body; text != "" {
		body = strings.ReplaceAll(text, "%s", "no_such_scope")
	}
	return c.Call(op.method, path, body, "X-Request-Id", "matrix")
}

func TestEveryOperationAsksForItsScope(t *testing.T) {
	s := harness.Start(t, nil)
	operations := readDescription(t).operations()
	for _, op := range operations {
		require.Contains(t, operationAccess, op.OperationID, "say here what the operation asks for")
	}
	require.Len(t, operationAccess, len(operations))

	roles := map[string][]string{"viewer": harness.ViewerScopes, "editor": harness.EditorScopes, "builder": harness.BuilderScopes,
		"admin": harness.AdminScopes}
	type caller struct {
		c      *harness.Client
		scopes []string
	}
	callers := map[string]caller{}
	for role, scopes := range roles {
		callers[role] = caller{s.Member("the."+role+"@acme.example", role, nil), scopes}
	}
	for _, scope := range harness.AdminScopes {
		key, _ := s.Admin.NewKey(map[string]any{"scopes": []string{scope}})
		callers["key with "+scope] = caller{key, []string{scope}}
	}
	for name, who := range callers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := *who.c
			c.T = t
			for _, op := range operations {
				need := operationAccess[op.OperationID].scope
				r := op.request(&c, s.Boot.OrganisationID)
				allowed := need == "" || slices.Contains(who.scopes, need)
				switch {
				case need == "apikeys:create" && strings.Contains("getApiKey revokeApiKey rotateApiKey", op.OperationID) &&
					slices.Contains(who.scopes, "users:write"):
					allowed = true // keys of others are theirs to end
				case op.OperationID == "createWorkspace" && !allowed:
					require.Contains(t, []int{403, 422}, r.Status, op.OperationID)
					continue
				}
				if allowed {
					require.Less(t, r.Status, 500, "%s: %s", op.OperationID, r.Body)
					require.NotContains(t, []int{401, 403}, r.Status, "%s: %s", op.OperationID, r.Body)
					continue
				}
				want := http.StatusForbidden
				if slices.Contains(hiddenInstead, op.OperationID) && !slices.Contains(who.scopes, "org:update") &&
					!slices.Contains(who.scopes, "users:write") {
					want = http.StatusNotFound
				}
				require.Equal(t, want, r.Status, "%s: %s", op.OperationID, r.Body)
				if want == http.StatusForbidden {
					code, fields := r.Problem(t, want)
					require.Equal(t, "insufficient_scope", code, op.OperationID)
					require.Equal(t, []string{"scope"}, fields)
				}
			}
		})
	}
}
