package storage_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// withoutWrites is a way to the store on which writes can be denied, as a store
// does it for a credential that may read only.
func withoutWrites(t *testing.T, store s3test.Server) (endpoint string, deny *atomic.Bool) {
	t.Helper()
	target, err := url.Parse(store.Endpoint)
	require.NoError(t, err)
	deny = new(atomic.Bool)
	// The header Host stays as it was signed.
	onwards := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Host = r.In.Host }}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if deny.Load() && r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>no</Message></Error>`))
			return
		}
		onwards.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	return front.URL, deny
}

func TestACredentialThatMayReadOnly(t *testing.T) {
	t.Parallel()
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	harness.WriteRemote(t, store, "s3://"+bucket+"/orders")
	endpoint, deny := withoutWrites(t, store)
	s := harness.StartImpatientS3Server(t)
	body := harness.S3Body(store, bucket, map[string]any{"endpoint": endpoint, "configName": "archive", "workspaceId": s.Boot.WorkspaceID})
	made := s.Admin.OK("POST", harness.ConfigsPath, body)
	schema, path := made["schema"].(string), harness.ConfigsPath+"/"+made["configId"].(string)
	table := "/v1/tables/lake/" + schema + "/orders"
	rows := map[string]any{"rows": []any{map[string]any{"id": 7, "region": "eu"}}}
	s.Admin.OK("POST", table+"/rows", rows)

	deny.Store(true)
	tried := s.Admin.OK("POST", path+"/validate", nil)
	require.Equal(t, false, tried["valid"])
	outcomes := map[string]bool{}
	for _, check := range tried["checks"].([]any) {
		outcomes[check.(map[string]any)["name"].(string)] = check.(map[string]any)["ok"].(bool)
	}
	require.True(t, outcomes["list"])
	require.False(t, outcomes["put"])
	require.Equal(t, 4.0, s.Admin.Count(schema+".orders"), "reading goes on")
	for name, write := range map[string]func() harness.Reply{
		"insert": func() harness.Reply { return s.Admin.Call("POST", table+"/rows", rows) },
		"update": func() harness.Reply {
			return s.Admin.Call("POST", table+"/rows/update", map[string]any{"where": "id = 7", "set": map[string]any{"region": "'us'"}})
		},
		"delete": func() harness.Reply {
			return s.Admin.Call("POST", table+"/rows/delete", map[string]any{"where": "id = 7"})
		},
		"optimize": func() harness.Reply { return s.Admin.Call("POST", table+"/optimize", nil) },
		"add column": func() harness.Reply {
			return s.Admin.Call("POST", table+"/columns", map[string]any{"name": "late", "type": "long"})
		},
		"create": func() harness.Reply {
			return s.Admin.Call("POST", "/v1/tables", map[string]any{"catalog": "lake", "schema": schema, "name": "made",
				"columns": []any{map[string]any{"name": "id", "type": "long"}}})
		},
	} {
		r := write()
		code, fields := r.Problem(t, 409)
		require.Equal(t, "storage_read_only", code, name)
		require.Len(t, fields, 1, name)
		require.Contains(t, []string{"configName", "config_name"}, fields[0], name)
		require.Contains(t, string(r.Body), `\"archive\" does not let its credential write`, name)
		require.NotContains(t, string(r.Body), bucket, name)
	}
	// Nobody registers such a credential in the first place.
	code, fields := s.Admin.Call("POST", harness.ConfigsPath, harness.S3Body(store, bucket,
		map[string]any{"endpoint": endpoint, "prefix": "elsewhere"})).Problem(t, 422)
	require.Equal(t, "credential_rejected", code)
	require.Contains(t, fields, "put")
	require.NotContains(t, fields, "list")

	deny.Store(false)
	s.Admin.OK("POST", table+"/rows", rows)
	require.Equal(t, 5.0, s.Admin.Count(schema+".orders"))
}

func TestAStoreThatFailsIsNamed(t *testing.T) {
	t.Parallel()
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	harness.WriteRemote(t, store, "s3://"+bucket+"/orders")
	key := "key" + uuid.NewString()[:8]
	secret := store.User(t, key, s3test.RoleAdmin)
	s := harness.StartImpatientS3Server(t)
	made := s.Admin.OK("POST", harness.ConfigsPath, harness.S3Body(store, bucket,
		map[string]any{"accessKeyId": key, "secretAccessKey": secret, "configName": "Sales lake", "workspaceId": s.Boot.WorkspaceID}))
	schema := made["schema"].(string)
	named := func(r harness.Reply, what string) {
		t.Helper()
		code, fields := r.Problem(t, 503)
		require.Equal(t, "storage_unavailable", code)
		require.Len(t, fields, 1)
		require.Contains(t, string(r.Body), `\"Sales lake\" `+what)
		require.NotContains(t, string(r.Body), secret)
		require.NotContains(t, string(r.Body), key)
		require.NotContains(t, string(r.Body), store.Address)
		require.NotContains(t, string(r.Body), bucket)
	}
	query := func(staleness int) harness.Reply {
		return s.Admin.Call("POST", "/v1/query", map[string]any{"sql": "SELECT max(region) FROM " + schema + ".orders",
			"max_staleness_ms": staleness})
	}
	// The log is known, its files have not been read.
	s.Admin.OK("GET", "/v1/tables/lake/"+schema+"/orders/history", nil)
	store.RemoveUser(t, key)
	named(query(3_600_000), "does not accept its credential")
	named(query(0), "does not accept its credential")
	named(s.Admin.Call("GET", "/v1/tables/lake/"+schema+"/orders/history", nil), "does not accept its credential")
	named(s.Admin.Call("POST", harness.ConfigsPath+"/"+made["configId"].(string)+"/discover", nil), "does not accept its credential")
	named(s.Admin.Call("POST", "/v1/tables/lake/"+schema+"/orders/rows", map[string]any{"rows": []any{map[string]any{"id": 7,
		"region": "eu"}}}), "does not accept its credential")
	require.Empty(t, harness.Leaked(t, s, secret))
}

func TestATakenLocationNamesItsField(t *testing.T) {
	t.Parallel()
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	s := harness.StartImpatientS3Server(t)
	s.Admin.OK("POST", harness.ConfigsPath, harness.S3Body(store, bucket, map[string]any{"prefix": "a"}))
	other, _ := s.Organisation("other")
	for field, change := range map[string]map[string]any{"prefix": {"prefix": "a/b"}, "bucket": nil} {
		code, fields := other.Call("POST", harness.ConfigsPath, harness.S3Body(store, bucket, change)).Problem(t, 409)
		require.Equal(t, "location_taken", code)
		require.Equal(t, []string{field}, fields)
	}
	code, fields := s.Admin.Call("POST", harness.ConfigsPath, harness.LocalConfig("again", "main/below")).Problem(t, 409)
	require.Equal(t, "location_taken", code)
	require.Equal(t, []string{"root"}, fields)

	// Where a configuration points is fixed.
	mine := s.Admin.OK("POST", harness.ConfigsPath, harness.S3Body(store, bucket, map[string]any{"prefix": "mine", "configName": "mine"}))
	for _, field := range []string{"endpoint", "region", "bucket", "prefix", "root"} {
		_, fields := s.Admin.Call("PATCH", harness.ConfigsPath+"/"+mine["configId"].(string), map[string]any{field: "x"}).Problem(t, 422)
		require.Equal(t, []string{field}, fields)
	}
}
