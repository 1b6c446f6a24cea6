package operation_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth/apikey"
	"github.com/lakewarden/lakewarden/catalog"
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
// missing, because it is no member; who manages workspaces sees them all.
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

func TestCredentialsThatProveNothing(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	store, err := s.OpenCatalog(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	revoked, record := s.Admin.NewKey(map[string]any{"scopes": []string{"admin"}})
	s.Admin.OK("DELETE", "/v1/api-keys/"+record["id"].(string), nil)
	expired, record := s.Admin.NewKey(map[string]any{"scopes": []string{"admin"}})
	s.Admin.OK("POST", "/v1/api-keys/"+record["id"].(string)+"/rotate", map[string]any{"grace_seconds": 1})
	require.Eventually(t, func() bool { return expired.Call("GET", "/v1/me", nil).Status == 401 }, 3*time.Second, 50*time.Millisecond)
	code, _ := expired.Call("GET", "/v1/me", nil).Problem(t, 401)
	require.Equal(t, "credential_expired", code)
	removed := s.Member("removed@acme.example", "admin", nil)
	require.NoError(t, store.RemoveMember(t.Context(), catalog.OrgID(s.Boot.OrganisationID), catalog.UserID(removed.User)))
	require.Eventually(t, func() bool { return removed.Call("GET", "/v1/me", nil).Status == 401 }, time.Second, 10*time.Millisecond)
	unknown := apikey.Generate().Reveal()
	flipped := []byte(s.Admin.Key)
	flipped[len(flipped)-1] ^= 1

	operations := readDescription(t).operations()
	// The chain in front of operations is one, and so many refused credentials in a
	// row would be too many requests.
	every := len(operations)/5 + 1
	for name, header := range map[string]string{
		"none": "", "garbage": "Bearer garbage", "empty": "Bearer ", "basic": "Basic " + s.Admin.Key, "no scheme": s.Admin.Key,
		"token scheme": "Token " + s.Admin.Key, "unknown key": "Bearer " + unknown, "flipped": "Bearer " + string(flipped), "cut": "Bearer " +
			s.Admin.Key[:30],
		"revoked": "Bearer " + revoked.Key, "expired": "Bearer " + expired.Key, "removed member": "Bearer " + removed.Key,
		"two tokens":    "Bearer " + s.Admin.Key + " " + s.Admin.Key,
		"jwt of nobody": "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.", "quoted": `Bearer "` + s.Admin.Key + `"`,
	} {
		for i, op := range operations {
			if name != "none" && i%every != 0 {
				continue
			}
			c := s.Client("", "")
			var body any
			if op.RequestBody != nil {
				body = `{"not":"even valid"}`
			}
			var r harness.Reply
			if header == "" {
				r = c.Call(op.method, op.fill("", ""), body)
			} else {
				r = c.Call(op.method, op.fill("", ""), body, "Authorization", header)
			}
			require.Equal(t, http.StatusUnauthorized, r.Status, "%s %s: %s", name, op.OperationID, r.Body)
			code, fields := r.Problem(t, http.StatusUnauthorized)
			require.Contains(t, []string{"unauthenticated", "credential_revoked", "credential_expired"}, code)
			require.Empty(t, fields)
			require.Contains(t, r.Header.Get("WWW-Authenticate"), "Bearer")
		}
	}
	r := s.Client("", "").Call("GET", "/v1/me?access_token="+s.Admin.Key, nil)
	r.Problem(t, http.StatusUnauthorized)
}

// TestAnotherOrganisationLooksLikeNone compares, for every operation on a thing,
// what an administrator of another organisation gets for things that exist with
// what it gets for things that do not: byte for byte the same.
func TestAnotherOrganisationLooksLikeNone(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("t", `SELECT 1 AS id, 'a' AS p`, nil, column{"id", "long"}, column{"p", "string"})
	policy := s.Policy("t", "id", harness.Everyone)["id"].(string)
	config := s.Admin.OK("GET", harness.ConfigsPath, nil)["configs"].([]any)[0].(map[string]any)["configId"].(string)
	_, key := s.Admin.NewKey(map[string]any{})
	tableID := s.Admin.OK("GET", s.TablePath("t"), nil)["tableId"].(string)
	kept := s.Admin.Await(s.Admin.Start("SELECT 1"))["id"].(string)
	domain := s.Admin.OK("PUT", s.TablePath("t")+"/columns/id/domain/hierarchical/inline", map[string]any{"parent_column": "p",
		"parents": []any{map[string]any{"value": "a", "children": []any{"1"}}}})["domain"].(map[string]any)
	value := domain["allowed_values"].([]any)[0].(map[string]any)["id"].(string)
	shared := s.Admin.Call("POST", "/v1/organisations/"+s.Boot.OrganisationID+"/domains", `{"name":"d","type":"fixed","values":["a"]}`).JSON(t)
	stranger, boot := s.Organisation("globex")

	// ids by operation and parameter; the organisation is one time the stranger's
	// own and one time the other one.
	real := func(op operation, name string) string {
		switch name {
		case "user_id":
			return s.Admin.User
		case "config_id":
			return config
		case "catalog":
			return "lake"
		case "schema":
			return s.Schema
		case "table_name":
			return "t"
		case "column", "column_name":
			return "id"
		case "domain_id":
			return shared["id"].(string)
		case "child_id":
			return value
		case "name":
			return "c"
		case "table_id":
			return tableID
		case "operation_id":
			return kept
		case "id":
			switch {
			case strings.Contains(op.path, "/domain"):
				return value
			case strings.Contains(op.path, "policies"):
				return policy
			case strings.Contains(op.path, "workspaces"):
				return s.Boot.WorkspaceID
			}
			return key["id"].(string)
		}
		t.Fatalf("%s: what is %s?", op.OperationID, name)
		return ""
	}
	compared := 0
	for _, op := range readDescription(t).operations() {
		if !strings.Contains(op.path, "{") {
			continue
		}
		for _, org := range []string{s.Boot.OrganisationID, boot.OrganisationID} {
			there, nowhere := op.path, op.path
			for _, p := range op.Parameters {
				if p.In != "path" {
					continue
				}
				a, b := "", "nothing"
				if p.Schema.Format == "uuid" || p.Name == "table_id" {
					b = harness.MissingID
				}
				if p.Name == "org_id" || p.Name == "organisation_id" {
					a = org
					if org == boot.OrganisationID {
						b = org
					}
				} else {
					a = real(op, p.Name)
				}
				there, nowhere = strings.ReplaceAll(there, "{"+p.Name+"}", a), strings.ReplaceAll(nowhere, "{"+p.Name+"}", b)
			}
			switch op.OperationID {
			case "listUserEffectivePolicies":
				there, nowhere = there+"?tableFqn=lake."+s.Schema+".t", nowhere+"?tableFqn=lake."+s.Schema+".t"
			case "deletePolicy":
				there, nowhere = there+"?expectedVersion=1", nowhere+"?expectedVersion=1"
			case "checkValueInUse":
				there, nowhere = there+"?value=1", nowhere+"?value=1"
			}
			if there == nowhere || (org == boot.OrganisationID && !strings.Contains(strings.ReplaceAll(strings.ReplaceAll(op.path, "{org_id}", ""),
				"{organisation_id}", ""), "{")) {
				continue
			}
			var body any
			if text := operationAccess[op.OperationID].body; text != "" {
				body = text
			}
			a := stranger.Call(op.method, there, body, "X-Request-Id", "same")
			b := stranger.Call(op.method, nowhere, body, "X-Request-Id", "same")
			require.Equal(t, b.Status, a.Status, "%s: %s", op.OperationID, a.Body)
			require.Equal(t, string(b.Body), string(a.Body), op.OperationID)
			require.Contains(t, []int{404, 422}, a.Status, "%s: %s", op.OperationID, a.Body)
			for name := range b.Header {
				require.True(t, name == "Date" || strings.HasPrefix(name, "Ratelimit") || b.Header.Get(name) == a.Header.Get(name), "%s: header %s",
					op.OperationID, name)
			}
			compared++
		}
	}
	require.Greater(t, compared, 40)
	for _, sql := range []string{"SELECT * FROM %s.t", "DESCRIBE %s.t", "SUMMARIZE %s.t", "SELECT 1 WHERE EXISTS (FROM %s.t)"} {
		a := stranger.Call("POST", "/v1/query", map[string]any{"sql": strings.ReplaceAll(sql, "%s", s.Schema)}, "X-Request-Id", "same")
		b := stranger.Call("POST", "/v1/query", map[string]any{"sql": strings.ReplaceAll(sql, "%s", "cfg_"+
			strings.ReplaceAll(harness.MissingID, "-", ""))}, "X-Request-Id", "same")
		require.Equal(t, 400, a.Status)
		require.Equal(t, string(b.Body), string(a.Body))
	}
	require.Equal(t, 1.0, s.Admin.Count(s.Schema+".t"))
}
