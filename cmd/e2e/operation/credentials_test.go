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

func TestInvalidCredentials(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	store, err := s.OpenCatalog(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	revoked, record := s.Admin.NewKey(map[string]any{"scopes": []string{"admin"}})
	s.Admin.OK("DELETE", "/v1/api-keys/"+record["id"].(string), nil)
	expired, record := s.Admin.NewKey(map[string]any{"scopes": []string{"admin"}})
	s.Admin.OK("POST", "/v1/api-keys/"+record["id"].(string)+"/rotate", map[string]any{"grace_seconds": 1})
	require.Eventually(t, func() bool { return expired.Call("GET", "/v1/me", nil).Status == 401 }, time.Minute, 50*time.Millisecond)
	code, _ := expired.Call("GET", "/v1/me", nil).Problem(t, 401)
	require.Equal(t, "credential_expired", code)
	removed := s.Member("removed@acme.example", "admin", nil)
	require.NoError(t, store.RemoveMember(t.Context(), catalog.OrgID(s.Boot.OrganisationID), catalog.UserID(removed.User)))
	harness.Within(t, "a removed member", func() bool { return removed.Call("GET", "/v1/me", nil).Status == 401 })
	unknown := apikey.Generate().Reveal()
	flipped := []byte(s.Admin.Key)
	flipped[len(flipped)-1] ^= 1

	operations := readDescription(t).operations()
	operations = slices.DeleteFunc(operations, func(op operation) bool { return slices.Contains(openOperations, op.OperationID) })
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

// TestAnotherOrganisationLooksMissing compares, for every operation on a thing,
// what an administrator of another organisation gets for things that exist with
// what it gets for things that do not: byte for byte the same.
func TestAnotherOrganisationLooksMissing(t *testing.T) {
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
	base := "/v1/organisations/" + s.Boot.OrganisationID
	program := s.Admin.Call("POST", base+"/clients", `{"name":"p","redirectUris":["https://p.example/"]}`).JSON(t)
	account := s.Admin.Call("POST", base+"/service-accounts", `{"name":"a","role":"viewer"}`).JSON(t)
	s.Admin.OK("POST", base+"/provider-apps/provider_one", `{"clientId":"x","clientSecret":"x"}`)
	s.Admin.OK("PUT", base+"/analysis-providers/familyA", `{"key":"x"}`)
	s.Admin.OK("POST", base+"/invite", `{"email":"guest@acme.example","role":"viewer"}`)
	invitation := s.Admin.OK("GET", base+"/invitations", nil)["invitations"].([]any)[0].(map[string]any)["id"].(string)
	bound := s.Admin.Call("POST", base+"/users/"+s.Admin.User+"/identities", `{"issuer":"https://id.example","subject":"x"}`).JSON(t)
	opened := newSession(s, s.Admin.User)
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
		case "client_id":
			return program["client"].(map[string]any)["id"].(string)
		case "account_id":
			return account["serviceAccount"].(map[string]any)["id"].(string)
		case "provider":
			return "provider_one"
		case "family":
			return "familyA"
		case "session_id":
			return opened
		case "identity_id":
			return bound["id"].(string)
		case "domain":
			return "acme.example" // compared although it does not exist
		case "id":
			switch {
			case strings.Contains(op.path, "/domain"):
				return value
			case strings.Contains(op.path, "policies"):
				return policy
			case strings.Contains(op.path, "workspaces"):
				return s.Boot.WorkspaceID
			case strings.Contains(op.path, "invitations"):
				return invitation
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
			case "releaseIdentities":
				there, nowhere = there+"?issuer=https://id.example", nowhere+"?issuer=https://id.example"
			}
			// Every organisation has the same providers and families of models.
			named := strings.NewReplacer("{org_id}", "", "{organisation_id}", "", "{provider}", "", "{family}", "").Replace(op.path)
			if there == nowhere || (org == boot.OrganisationID && !strings.Contains(named, "{")) {
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
			refusals := []int{404, 422}
			if slices.Contains(peopleOnly, op.OperationID) { // the stranger has a key
				refusals = append(refusals, 403)
			}
			require.Contains(t, refusals, a.Status, "%s: %s", op.OperationID, a.Body)
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
