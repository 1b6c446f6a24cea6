package storage_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/objstore/azuretest"
	"github.com/lakewarden/lakewarden/engine/objstore/gcstest"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// machine is a store that the server may open with its own identity.
type machine struct {
	kind string
	// settings are those of a root that the operator allows, below the folder of an
	// organisation if it is given one.
	settings object
	// pattern is that of the bucket, without a folder, and query its end.
	pattern, query string
	// elsewhere is another bucket of the same store.
	elsewhere object
	// stored is a credential that the store accepts, and broken ends it, or the store.
	stored object
	broken func()
	// issued returns how often the identity was used.
	issued func() int
	// secrets may be seen nowhere.
	secrets []string
}

func s3Machine(t *testing.T) machine {
	store, platform := s3test.Start(t), s3test.NewPlatform(t)
	t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", platform.TokenFile)
	t.Setenv("AWS_ROLE_ARN", s3test.PlatformRole)
	t.Setenv("AWS_ENDPOINT_URL_STS", platform.URL)
	bucket := store.Bucket(t)
	settings := object{"bucket": bucket, "region": s3test.Region, "endpoint": store.Endpoint}
	secret := store.User(t, bucket, s3test.RoleAdmin)
	return machine{
		kind: "s3", settings: settings, pattern: "s3://" + bucket, query: "?endpoint=" + store.Endpoint,
		elsewhere: object{"bucket": store.Bucket(t)}, issued: platform.Issued, secrets: []string{s3test.SecretAccessKey},
		stored: object{"accessKeyId": bucket, "secretAccessKey": secret}, broken: func() { store.RemoveUser(t, bucket) },
	}
}

func gcsMachine(t *testing.T) machine {
	store := gcstest.Start(t)
	guard := store.Guard(t)
	t.Setenv("GCE_METADATA_HOST", guard.Metadata)
	bucket := store.Bucket(t)
	return machine{
		kind: "gcs", settings: object{"bucket": bucket, "endpoint": guard.Endpoint},
		pattern: "gs://" + bucket, query: "?endpoint=" + guard.Endpoint,
		elsewhere: object{"bucket": store.Bucket(t)}, issued: guard.MachineTokens,
		stored: object{"serviceAccountKey": guard.Key(t, "stored")}, broken: func() { guard.Revoke("stored") },
	}
}

func azureMachine(t *testing.T) machine {
	store := azuretest.StartTLS(t)
	const secret = "the-secret-of-the-service-principal"
	authority, principals := azuretest.NewAuthority(t, ""), azuretest.NewAuthority(t, secret)
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte(azuretest.WorkloadToken), 0o600))
	for name, value := range map[string]string{
		"AZURE_FEDERATED_TOKEN_FILE": file, "AZURE_TENANT_ID": azuretest.TenantID, "AZURE_CLIENT_ID": azuretest.ClientID,
		"AZURE_AUTHORITY_HOST": authority.URL, "LAKEWARDEN_AZURE_AUTHORITY": principals.URL, "LAKEWARDEN_ALLOW_PRIVATE_ENDPOINTS": "true",
	} {
		t.Setenv(name, value)
	}
	name := store.Container(t)
	return machine{
		kind: "azure", settings: object{"account": azuretest.Account, "container": name, "endpoint": store.Endpoint},
		pattern: "az://" + azuretest.Account + "/" + name, query: "?endpoint=" + store.Endpoint,
		elsewhere: object{"container": store.Container(t)}, issued: authority.Issued, secrets: []string{azuretest.WorkloadToken, secret},
		stored: object{"servicePrincipal": object{
			"tenantId": azuretest.TenantID, "clientId": azuretest.ClientID, "clientSecret": secret,
		}},
		broken: func() { principals.SetSecret("another") },
	}
}

// TestIdentityOfTheServer opens stores with the server's own identity, where the operator allows it
// and nowhere else.
func TestIdentityOfTheServer(t *testing.T) {
	for name, start := range map[string]func(*testing.T) machine{"s3": s3Machine, "gcs": gcsMachine, "azure": azureMachine} {
		t.Run(name, func(t *testing.T) { identityOfTheServer(t, start(t)) })
	}
}

func identityOfTheServer(t *testing.T, m machine) {
	var stolen atomic.Int64
	thief := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		stolen.Add(1)
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(thief.Close)
	s := harness.Start(t, func(c *harness.Settings) {
		c.AllowPrivateEndpoints = true
		c.AmbientStorage = []string{m.pattern + "/first" + m.query, m.pattern + "/{org}" + m.query}
	})
	ambient := object{"credential": "ambient"}
	body := func(change ...object) object {
		return with(append([]object{{"configName": "own", "kind": m.kind}, m.settings, ambient}, change...)...)
	}
	other, boot := s.Organisation("other-" + m.kind)

	// Nothing is sent to anybody when the operator has not named the root.
	endpoint := "endpoint"
	for name, test := range map[string]struct {
		by    *harness.Client
		body  object
		field string
	}{
		"the whole bucket":       {s.Admin, body(), "credential"},
		"another folder":         {s.Admin, body(object{"prefix": "second"}), "credential"},
		"a longer name":          {s.Admin, body(object{"prefix": "first2"}), "credential"},
		"another bucket":         {s.Admin, body(m.elsewhere, object{"prefix": "first"}), "credential"},
		"another host":           {s.Admin, body(object{"prefix": "first", endpoint: thief.URL}), "credential"},
		"the public host":        {s.Admin, body(object{"prefix": "first", endpoint: nil}), "credential"},
		"parents":                {s.Admin, body(object{"prefix": "first/../second"}), "prefix"},
		"two credentials":        {s.Admin, body(m.stored, object{"prefix": "first"}), "credential"},
		"another source":         {s.Admin, body(object{"prefix": "first", "credential": "none"}), "credential"},
		"an end":                 {s.Admin, body(object{"prefix": "first", "expiresAt": "2099-01-01T00:00:00Z"}), "expiresAt"},
		"first organisation's":   {other, body(object{"prefix": "first"}), "credential"},
		"another organisation's": {other, body(object{"prefix": s.Boot.OrganisationID}), "credential"},
	} {
		if test.body[endpoint] == nil {
			delete(test.body, endpoint)
		}
		r := test.by.Call("POST", harness.ConfigsPath, test.body)
		_, fields := r.Problem(t, 422)
		require.Contains(t, fields, test.field, "%s: %s", name, r.Body)
	}
	require.Zero(t, m.issued(), "no identity was proved")
	require.Zero(t, stolen.Load())

	made := s.Admin.OK("POST", harness.ConfigsPath, body(object{"prefix": "first", "workspaceId": s.Boot.WorkspaceID}))
	require.Equal(t, []any{"ambient", nil}, []any{made["authMode"], made["credentialExpiresAt"]})
	require.NotNil(t, made["discoveredAt"])
	path, schema := harness.ConfigsPath+"/"+made["configId"].(string), made["schema"].(string)
	s.Admin.Call("POST", "/v1/tables", s.NewTable(schema, "orders", nil, harness.Col("id", "long"))).JSON(t)
	rows := "/v1/tables/lake/" + schema + "/orders/rows"
	s.Admin.Write(rows, harness.RowsOf(object{"id": 1}))
	require.Equal(t, 1.0, s.Admin.Count(schema+".orders"))
	require.Positive(t, m.issued())
	theirs := other.OK("POST", harness.ConfigsPath, body(object{"prefix": boot.OrganisationID + "/lake"}))
	require.Equal(t, "ambient", theirs["authMode"])

	// A stored credential replaces the identity, and is not replaced by it when it fails.
	end := time.Now().Add(time.Hour).UTC().Truncate(time.Second).Format(time.RFC3339)
	rotated := s.Admin.OK("PUT", path+"/credentials/"+m.kind, with(m.stored, object{"expiresAt": end}))
	require.NotEqual(t, "ambient", rotated["authMode"])
	stored := s.Admin.OK("POST", harness.ConfigsPath,
		with(object{"configName": "stored", "kind": m.kind}, m.settings, m.stored, object{"prefix": "second", "expiresAt": end}))
	require.Equal(t, end, stored["credentialExpiresAt"])
	kept := harness.ConfigsPath + "/" + stored["configId"].(string) + "/credentials/" + m.kind
	_, fields := s.Admin.Call("PUT", kept, ambient).Problem(t, 422)
	require.Equal(t, []string{"credential"}, fields, "the operator has not allowed this folder")
	s.Admin.Write(rows, harness.RowsOf(object{"id": 2}))
	require.Equal(t, 2.0, s.Admin.Count(schema+".orders"))
	m.broken()
	before := m.issued()
	s.Restart()
	for range 2 {
		code, _ := s.Admin.Query("SELECT * FROM "+schema+".orders").Problem(t, 503)
		require.Equal(t, "storage_unavailable", code)
	}
	require.Equal(t, before, m.issued(), "the identity does not stand in")
	s.Admin.OK("PUT", path+"/credentials/"+m.kind, ambient)
	require.Equal(t, 2.0, s.Admin.Count(schema+".orders"))

	// The operator changes their mind.
	s.Config.AmbientStorage = nil
	s.Restart()
	before = m.issued()
	code, _ := s.Admin.Query("SELECT * FROM "+schema+".orders").Problem(t, 503)
	require.Equal(t, "storage_unavailable", code)
	require.Equal(t, before, m.issued())
	for _, secret := range m.secrets {
		require.Empty(t, harness.Leaked(t, s, secret))
	}
}
