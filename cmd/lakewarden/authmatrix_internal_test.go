package main

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth/apikey"
	"github.com/lakewarden/lakewarden/catalog"
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

	"createPolicy":      {"rls_policies:write", `{"kind":"cls"}`},
	"listPolicies":      {"rls_policies:read", ""},
	"getPolicy":         {"rls_policies:read", ""},
	"replacePolicy":     {"rls_policies:write", `{"expectedVersion":1,"definition":{"effect":"permit","subject":{"everyone":true}}}`},
	"updatePolicy":      {"rls_policies:write", `{"expectedVersion":1,"enabled":true}`},
	"deletePolicy":      {"rls_policies:write", ""},
	"listPolicyHistory": {"rls_policies:read", ""},
	"simulatePolicies":  {"rls_policies:write", `{"tableFqn":"lake.x.y","role":"viewer"}`},

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
func (op operation) request(c *client, org string) reply {
	path := op.path
	for _, p := range op.Parameters {
		value := "nothing"
		switch {
		case p.In != "path":
			continue
		case p.Name == "org_id" || p.Name == "organisation_id":
			value = org
		case p.Schema.Format == "uuid":
			value = missingID
		}
		path = strings.ReplaceAll(path, "{"+p.Name+"}", value)
	}
	switch op.OperationID {
	case "listUserEffectivePolicies":
		path += "?tableFqn=lake.x.y"
	case "deletePolicy":
		path += "?expectedVersion=1"
	}
	var body any
	if text := operationAccess[op.OperationID].body; text != "" {
		body = strings.ReplaceAll(text, "%s", "no_such_scope")
	}
	return c.call(op.method, path, body, "X-Request-Id", "matrix")
}

// missingID is the id of nothing.
var missingID = uuid.NewString()

func TestEveryOperationAsksForItsScope(t *testing.T) {
	s := startServer(t, nil)
	operations := readDescription(t).operations()
	for _, op := range operations {
		require.Contains(t, operationAccess, op.OperationID, "say here what the operation asks for")
	}
	require.Len(t, operationAccess, len(operations))

	roles := map[string][]string{"viewer": viewerScopes, "editor": editorScopes, "builder": builderScopes, "admin": adminScopes}
	type caller struct {
		c      *client
		scopes []string
	}
	callers := map[string]caller{}
	for role, scopes := range roles {
		callers[role] = caller{s.member("the."+role+"@acme.example", role, nil), scopes}
	}
	for _, scope := range adminScopes {
		key, _ := s.admin.newKey(map[string]any{"scopes": []string{scope}})
		callers["key with "+scope] = caller{key, []string{scope}}
	}
	for name, who := range callers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := *who.c
			c.t = t
			for _, op := range operations {
				need := operationAccess[op.OperationID].scope
				r := op.request(&c, s.boot.OrganisationID)
				allowed := need == "" || slices.Contains(who.scopes, need)
				switch {
				case need == "apikeys:create" && strings.Contains("getApiKey revokeApiKey rotateApiKey", op.OperationID) && slices.Contains(who.scopes, "users:write"):
					allowed = true // keys of others are theirs to end
				case op.OperationID == "createWorkspace" && !allowed:
					require.Contains(t, []int{403, 422}, r.status, op.OperationID)
					continue
				}
				if allowed {
					require.Less(t, r.status, 500, "%s: %s", op.OperationID, r.body)
					require.NotContains(t, []int{401, 403}, r.status, "%s: %s", op.OperationID, r.body)
					continue
				}
				want := http.StatusForbidden
				if slices.Contains(hiddenInstead, op.OperationID) && !slices.Contains(who.scopes, "org:update") && !slices.Contains(who.scopes, "users:write") {
					want = http.StatusNotFound
				}
				require.Equal(t, want, r.status, "%s: %s", op.OperationID, r.body)
				if want == http.StatusForbidden {
					code, fields := r.problem(t, want)
					require.Equal(t, "insufficient_scope", code, op.OperationID)
					require.Equal(t, []string{"scope"}, fields)
				}
			}
		})
	}
}

func TestCredentialsThatProveNothing(t *testing.T) {
	s := startServer(t, nil)
	store, err := s.openCatalog(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	revoked, record := s.admin.newKey(map[string]any{"scopes": []string{"admin"}})
	s.admin.ok("DELETE", "/v1/api-keys/"+record["id"].(string), nil)
	expired, record := s.admin.newKey(map[string]any{"scopes": []string{"admin"}})
	s.admin.ok("POST", "/v1/api-keys/"+record["id"].(string)+"/rotate", map[string]any{"grace_seconds": 1})
	require.Eventually(t, func() bool { return expired.call("GET", "/v1/me", nil).status == 401 }, 3*time.Second, 50*time.Millisecond)
	code, _ := expired.call("GET", "/v1/me", nil).problem(t, 401)
	require.Equal(t, "credential_expired", code)
	removed := s.member("removed@acme.example", "admin", nil)
	require.NoError(t, store.RemoveMember(t.Context(), catalog.OrgID(s.boot.OrganisationID), catalog.UserID(removed.user)))
	require.Eventually(t, func() bool { return removed.call("GET", "/v1/me", nil).status == 401 }, time.Second, 10*time.Millisecond)
	unknown := apikey.Generate().Reveal()
	flipped := []byte(s.admin.key)
	flipped[len(flipped)-1] ^= 1

	operations := readDescription(t).operations()
	// The chain in front of operations is one, and so many refused credentials in a
	// row would be too many requests.
	every := len(operations)/5 + 1
	for name, header := range map[string]string{
		"none": "", "garbage": "Bearer garbage", "empty": "Bearer ", "basic": "Basic " + s.admin.key, "no scheme": s.admin.key,
		"token scheme": "Token " + s.admin.key, "unknown key": "Bearer " + unknown, "flipped": "Bearer " + string(flipped), "cut": "Bearer " + s.admin.key[:30],
		"revoked": "Bearer " + revoked.key, "expired": "Bearer " + expired.key, "removed member": "Bearer " + removed.key, "two tokens": "Bearer " + s.admin.key + " " + s.admin.key,
		"jwt of nobody": "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.", "quoted": `Bearer "` + s.admin.key + `"`,
	} {
		for i, op := range operations {
			if name != "none" && i%every != 0 {
				continue
			}
			c := s.client("", "")
			var body any
			if op.RequestBody != nil {
				body = `{"not":"even valid"}`
			}
			var r reply
			if header == "" {
				r = c.call(op.method, op.fill("", ""), body)
			} else {
				r = c.call(op.method, op.fill("", ""), body, "Authorization", header)
			}
			require.Equal(t, http.StatusUnauthorized, r.status, "%s %s: %s", name, op.OperationID, r.body)
			code, fields := r.problem(t, http.StatusUnauthorized)
			require.Contains(t, []string{"unauthenticated", "credential_revoked", "credential_expired"}, code)
			require.Empty(t, fields)
			require.Contains(t, r.header.Get("WWW-Authenticate"), "Bearer")
		}
	}
	r := s.client("", "").call("GET", "/v1/me?access_token="+s.admin.key, nil)
	r.problem(t, http.StatusUnauthorized)
}

// TestAnotherOrganisationLooksLikeNone compares, for every operation on a thing,
// what an administrator of another organisation gets for things that exist with
// what it gets for things that do not: byte for byte the same.
func TestAnotherOrganisationLooksLikeNone(t *testing.T) {
	s := startServer(t, nil)
	s.table("t", `SELECT 1 AS id`, nil, column{"id", "long"})
	policy := s.policy("t", "id", everyone)["id"].(string)
	config := s.admin.ok("GET", configsPath, nil)["configs"].([]any)[0].(map[string]any)["configId"].(string)
	_, key := s.admin.newKey(map[string]any{})
	tableID := s.admin.ok("GET", s.tablePath("t"), nil)["tableId"].(string)
	kept := s.admin.await(s.admin.start("SELECT 1"))["id"].(string)
	stranger, boot := s.organisation("globex")

	// ids by operation and parameter; the organisation is one time the stranger's
	// own and one time the other one.
	real := func(op operation, name string) string {
		switch name {
		case "user_id":
			return s.admin.user
		case "config_id":
			return config
		case "catalog":
			return "lake"
		case "schema":
			return s.schema
		case "table_name":
			return "t"
		case "column":
			return "id"
		case "name":
			return "c"
		case "table_id":
			return tableID
		case "operation_id":
			return kept
		case "id":
			switch {
			case strings.Contains(op.path, "policies"):
				return policy
			case strings.Contains(op.path, "workspaces"):
				return s.boot.WorkspaceID
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
		for _, org := range []string{s.boot.OrganisationID, boot.OrganisationID} {
			there, nowhere := op.path, op.path
			for _, p := range op.Parameters {
				if p.In != "path" {
					continue
				}
				a, b := "", "nothing"
				if p.Schema.Format == "uuid" || p.Name == "table_id" {
					b = missingID
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
				there, nowhere = there+"?tableFqn=lake."+s.schema+".t", nowhere+"?tableFqn=lake."+s.schema+".t"
			case "deletePolicy":
				there, nowhere = there+"?expectedVersion=1", nowhere+"?expectedVersion=1"
			}
			if there == nowhere || (org == boot.OrganisationID && !strings.Contains(strings.ReplaceAll(strings.ReplaceAll(op.path, "{org_id}", ""), "{organisation_id}", ""), "{")) {
				continue
			}
			var body any
			if text := operationAccess[op.OperationID].body; text != "" {
				body = text
			}
			a := stranger.call(op.method, there, body, "X-Request-Id", "same")
			b := stranger.call(op.method, nowhere, body, "X-Request-Id", "same")
			require.Equal(t, b.status, a.status, "%s: %s", op.OperationID, a.body)
			require.Equal(t, string(b.body), string(a.body), op.OperationID)
			require.Contains(t, []int{404, 422}, a.status, "%s: %s", op.OperationID, a.body)
			for name := range b.header {
				require.True(t, name == "Date" || strings.HasPrefix(name, "Ratelimit") || b.header.Get(name) == a.header.Get(name), "%s: header %s", op.OperationID, name)
			}
			compared++
		}
	}
	require.Greater(t, compared, 40)
	for _, sql := range []string{"SELECT * FROM %s.t", "DESCRIBE %s.t", "SUMMARIZE %s.t", "SELECT 1 WHERE EXISTS (FROM %s.t)"} {
		a := stranger.call("POST", "/v1/query", map[string]any{"sql": strings.ReplaceAll(sql, "%s", s.schema)}, "X-Request-Id", "same")
		b := stranger.call("POST", "/v1/query", map[string]any{"sql": strings.ReplaceAll(sql, "%s", "cfg_"+strings.ReplaceAll(missingID, "-", ""))}, "X-Request-Id", "same")
		require.Equal(t, 400, a.status)
		require.Equal(t, string(b.body), string(a.body))
	}
	require.Equal(t, 1.0, s.admin.count(s.schema+".t"))
}
