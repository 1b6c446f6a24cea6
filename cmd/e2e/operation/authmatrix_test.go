package operation_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
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
	"updateOrganisation":       {"org:update", `{"name":""}`}, // never valid
	"updateOrganisationConfig": {"org:update", `{}`},
	"listAudit":                {"org:update", ""},
	"createOrganisation":       {"", `{"name":""}`}, // never valid: the matrix makes nothing
	"listOrganisations":        {"", ""},
	"deleteOrganisation":       {"org:update", ""},
	"undeleteOrganisation":     {"", ""},
	"transferOrganisation":     {"org:update", `{"userId":"` + harness.MissingID + `"}`},

	"inviteUser":       {"users:write", `{"email":"x","role":"viewer"}`},
	"listInvitations":  {"users:write", ""},
	"getInvitation":    {"users:write", ""},
	"deleteInvitation": {"users:write", ""},
	"acceptInvitation": {"", `{"token":"x"}`},

	"createUser":                {"users:write", `{"email":"x","role":"viewer"}`},
	"deleteUser":                {"users:write", ""},
	"updateMe":                  {"", `{"displayName":"x"}`},
	"deleteMe":                  {"", ""},
	"listUsers":                 {"org:read", ""},
	"getUser":                   {"org:read", ""},
	"getUserAttributes":         {"rls_policies:read", ""},
	"replaceUserAttributes":     {"rls_policies:write", `{}`},
	"updateUserRole":            {"users:write", `{"role":"viewer"}`},
	"getMe":                     {"", ""},
	"changeMyPassword":          {"", `{"current":"x","new":"y"}`},
	"recoverUser":               {"users:write", `{"email":"nobody@acme.example"}`},
	"recover":                   {"", `{"email":"nobody@acme.example"}`},
	"getMyAttributes":           {"", ""},
	"listUserEffectivePolicies": {"rls_policies:write", ""},

	"listMySessions":   {"", ""},
	"endMySession":     {"", ""},
	"listUserSessions": {"users:write", ""},
	"endUserSession":   {"users:write", ""},

	"createClient":       {"users:write", `{"name":"x","redirectUris":["x"],"scopes":["users:write"]}`}, // never valid
	"listClients":        {"users:write", ""},
	"getClient":          {"users:write", ""},
	"updateClient":       {"users:write", `{}`},
	"deleteClient":       {"users:write", ""},
	"rotateClientSecret": {"users:write", ""},

	"createServiceAccount":       {"users:write", `{"name":" ","role":"viewer","scopes":["users:write"]}`}, // never valid
	"listServiceAccounts":        {"users:write", ""},
	"getServiceAccount":          {"users:write", ""},
	"updateServiceAccount":       {"users:write", `{}`},
	"deleteServiceAccount":       {"users:write", ""},
	"rotateServiceAccountSecret": {"users:write", ""},
	"createServiceAccountApiKey": {"users:write", `{"name":"x"}`},

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
	"takeOverStorageConfig": {"storage:configure", ""},
	"validateStorageConfig": {"storage:configure", ""},
	"discoverTables":        {"storage:configure", ""},

	"attachStorageConfig":     {"storage_configs:share", `{"workspaceId":"` + harness.MissingID + `"}`},
	"undoAttachStorageConfig": {"storage_configs:share", ""},
	"moveObjects": {"storage:write", `{"sourceConfigId":"` + harness.MissingID + `","sourcePath":"a","destinationConfigId":"` +
		harness.MissingID + `","destinationPath":"b"}`},

	"rotateS3Credential":    {"storage:configure", `{"accessKeyId":"x","secretAccessKey":"y"}`},
	"rotateGCSCredential":   {"storage:configure", `{"serviceAccountKey":"x"}`},
	"rotateKindACredential": {"storage:configure", `{"serviceAccountKey":"x"}`},
	"rotateAzureCredential": {"storage:configure", `{"accountKey":"x"}`},
	"rotateKindBCredential": {"storage:configure", `{"accountKey":"x"}`},

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

	"putProviderApp":       {"provider_apps:write", `{"clientId":"x","clientSecret":"x"}`},
	"listProviderApps":     {"provider_apps:write", ""},
	"getProviderApp":       {"provider_apps:write", ""},
	"deleteProviderApp":    {"provider_apps:write", ""},
	"beginProviderLink":    {"", ""},
	"deleteProviderLink":   {"", ""},
	"listProviderLinks":    {"", ""},
	"providerLinkCallback": {"", ""},

	"putAnalysisProvider":    {"org:update", `{"key":"x"}`},
	"listAnalysisProviders":  {"org:update", ""},
	"getAnalysisProvider":    {"org:update", ""},
	"deleteAnalysisProvider": {"org:update", ""},
	"listAnalysisModels":     {"", ""},

	"listUserIdentities":  {"users:write", ""},
	"bindUserIdentity":    {"users:write", `{"issuer":"https://id.example","subject":"x"}`},
	"releaseUserIdentity": {"users:write", ""},
	"releaseIdentities":   {"users:write", ""},

	"putSso":               {"org:update", `{"issuer":"x","clientId":"x","domains":[],"defaultRole":"viewer"}`}, // never valid
	"getSso":               {"org:update", ""},
	"deleteSso":            {"org:update", ""},
	"verifyDomain":         {"org:update", ""},
	"ssoLogin":             {"", `{"email":"a@b.example"}`},
	"ssoCallback":          {"", ""},
	"ssoBackchannelLogout": {"", ""},
	"logout":               {"", ""},

	"startQuery":           {"tables:query", `{"sql":"SELECT 1"}`},
	"listOperations":       {"", ""},
	"getOperation":         {"", ""},
	"cancelOperation":      {"", ""},
	"getOperationResult":   {"tables:query", ""},
	"analyzeTable":         {"tables:query", `{"action":"summary"}`},
	"explainRows":          {"tables:query", `{"where":"id = 1"}`},
	"getOperationAnalysis": {"tables:query", ""},
}

// openOperations are those that need no credential.
var openOperations = []string{"providerLinkCallback", "recover", "ssoLogin", "ssoCallback", "ssoBackchannelLogout"}

// orglessOperations are those that serve people whose token names no organisation.
var orglessOperations = []string{"getMe", "updateMe", "deleteMe", "createOrganisation", "listOrganisations", "undeleteOrganisation",
	"acceptInvitation", "changeMyPassword", "logout", "listMySessions", "endMySession"}

// peopleOnly are those that no API key may call, whatever its scopes.
var peopleOnly = []string{"updateMe", "deleteMe", "transferOrganisation", "deleteOrganisation", "undeleteOrganisation", "acceptInvitation",
	"changeMyPassword", "beginProviderLink", "deleteProviderLink", "listMySessions", "endMySession"}

// grantingOperations are those that give somebody a role, or change who decides who somebody
// is, which a credential with fewer scopes may not.
var grantingOperations = []string{"inviteUser", "createUser", "updateUserRole", "setWorkspaceMember", "deleteSso"}

// hiddenInstead are operations on workspaces that a caller without the scope finds
// missing, because it is not a member; callers who manage workspaces see all of them.
var hiddenInstead = []string{"updateWorkspace", "deleteWorkspace", "setWorkspaceMember", "removeWorkspaceMember"}

// credentialCase is a caller without the rights of a member, with the status and the code
// of the replies to it.
type credentialCase struct {
	c      *harness.Client
	served []string // the operations that it may call
	status int
	code   string
}

// TestOperationsByCredential calls every operation without a credential, and as a person
// in no organisation.
func TestOperationsByCredential(t *testing.T) {
	t.Parallel()
	issuer := harness.NewSigner(t)
	s := harness.Start(t, func(c *harness.Settings) {
		c.Issuers = []config.Issuer{{URL: "https://issuer.example", JWKSFile: issuer.File}}
	})
	token := issuer.Token(map[string]any{"iss": "https://issuer.example", "aud": "lakewarden", "sub": s.Boot.UserID,
		"exp": time.Now().Add(time.Hour).Unix(), "scope": strings.Join(harness.AdminScopes, " ")})
	for name, who := range map[string]credentialCase{
		"nobody": {s.Client("", ""), openOperations, http.StatusUnauthorized, "unauthenticated"},
		"a person": {s.Client(token, s.Boot.UserID), slices.Concat(orglessOperations, openOperations), http.StatusForbidden,
			"organisation_required"},
	} {
		for _, op := range readDescription(t).operations() {
			r := op.request(who.c, s.Boot.OrganisationID)
			if slices.Contains(who.served, op.OperationID) {
				require.NotContains(t, []int{401, 500}, r.Status, "%s: %s: %s", name, op.OperationID, r.Body)
				continue
			}
			code, _ := r.Problem(t, who.status)
			require.Equal(t, who.code, code, "%s: %s", name, op.OperationID)
		}
	}
}

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
	case "releaseIdentities":
		path += "?issuer=x"
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
				case op.OperationID == "createTable" && slices.Contains(who.scopes, "rows:insert"):
					allowed = true // in a sandbox; elsewhere the operation refuses
				case op.OperationID == "createWorkspace" && !allowed:
					require.Contains(t, []int{403, 422}, r.Status, op.OperationID)
					continue
				}
				if allowed && slices.Contains(peopleOnly, op.OperationID) {
					code, _ := r.Problem(t, http.StatusForbidden)
					require.Contains(t, []string{"sign_in_required", "not_owner"}, code, op.OperationID)
					continue
				}
				if allowed && r.Status == http.StatusForbidden && slices.Contains(grantingOperations, op.OperationID) {
					code, _ := r.Problem(t, http.StatusForbidden)
					require.Equal(t, "role_escalation", code, op.OperationID)
					require.NotSubset(t, who.scopes, harness.ViewerScopes, op.OperationID)
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
