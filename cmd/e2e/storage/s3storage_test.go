package storage_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

func tableNames(c *harness.Client, schema string) []string {
	c.T.Helper()
	var names []string
	for _, table := range c.OK("GET", "/v1/tables?schema="+schema, nil)["tables"].([]any) {
		names = append(names, table.(map[string]any)["table"].(string))
	}
	return names
}

func TestS3TablesAreDiscoveredAndDescribed(t *testing.T) {
	t.Parallel()
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	harness.WriteRemote(t, store, "s3://"+bucket+"/lake/sales/orders")
	harness.WriteRemote(t, store, "s3://"+bucket+"/elsewhere/hidden")
	s := harness.StartS3Server(t)

	made := s.Admin.OK("POST", harness.ConfigsPath, harness.S3Body(store, bucket,
		map[string]any{"prefix": "/lake/", "configName": "Remote Lake", "workspaceId": s.Boot.WorkspaceID}))
	require.Equal(t, "s3", made["kind"])
	require.Equal(t, "access_key", made["authMode"])
	require.Nil(t, made["credentialExpiresAt"])
	require.Equal(t, map[string]any{"bucket": bucket, "prefix": "lake", "region": s3test.Region, "endpoint": store.Endpoint,
		"pathStyle": true}, made["settings"])
	path := harness.ConfigsPath + "/" + made["configId"].(string)
	schema := made["schema"].(string)

	require.Equal(t, []string{"sales__orders"}, tableNames(s.Admin, schema), "what lies below the prefix, at once")
	table := "/v1/tables/lake/" + schema + "/sales__orders"
	columns := s.Admin.OK("GET", table+"/columns", nil)["columns"].([]any)
	require.Len(t, columns, 2)
	require.Equal(t, "id", columns[0].(map[string]any)["name"])
	require.Len(t, s.Admin.OK("GET", table+"/history", nil)["versions"], 3)

	valid := s.Admin.OK("POST", path+"/validate", nil)
	require.Equal(t, true, valid["valid"], "%v", valid)
	harness.WriteRemote(t, store, "s3://"+bucket+"/lake/sales/orders")
	harness.WriteRemote(t, store, "s3://"+bucket+"/lake/x")
	found := s.Admin.OK("POST", path+"/discover", nil)
	require.Equal(t, []any{2.0, 1.0, 0.0}, []any{found["tablesFound"], found["tablesAdded"], found["tablesVanished"]})
	require.Len(t, s.Admin.OK("GET", table+"/history", nil)["versions"], 6, "commits of others are seen")

	// The table is gone, the bucket is not.
	require.NoError(t, os.RemoveAll(filepath.Join(store.Folder(bucket), "lake", "x")))
	for _, tables := range [][2]float64{{1, 0}, {0, 1}, {0, 0}} { // a listing can be wrong: the second one confirms
		found := s.Admin.OK("POST", path+"/discover", nil)
		require.Equal(t, tables, [2]float64{found["tablesMissing"].(float64), found["tablesVanished"].(float64)})
	}
	// The bucket is gone: nothing is known of the tables.
	require.NoError(t, os.Rename(store.Folder(bucket), store.Folder(bucket)+"-away"))
	code, _ := s.Admin.Call("POST", path+"/discover", nil).Problem(t, 503)
	require.Equal(t, "storage_unavailable", code)
	require.NoError(t, os.Rename(store.Folder(bucket)+"-away", store.Folder(bucket)))

	restyled := s.Admin.OK("PATCH", path, map[string]any{"pathStyle": true, "configName": "Renamed"})
	require.Equal(t, "renamed", restyled["slug"])
	s.Restart()
	require.Len(t, s.Admin.OK("GET", table+"/history", nil)["versions"], 6, "the key file opens the credential after a start")
	require.Empty(t, harness.Leaked(t, s, s3test.SecretAccessKey))
	s.Admin.OK("DELETE", path, nil)
	require.DirExists(t, filepath.Join(store.Folder(bucket), "lake", "sales"), "data stays")
}

func TestS3CredentialsRotate(t *testing.T) {
	t.Parallel()
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	harness.WriteRemote(t, store, "s3://"+bucket+"/orders")
	oldKey, newKey, weakKey := "old"+uuid.NewString()[:8], "new"+uuid.NewString()[:8], "weak"+uuid.NewString()[:8]
	oldSecret, newSecret := store.User(t, oldKey, s3test.RoleAdmin), store.User(t, newKey, s3test.RoleAdmin)
	weakSecret := store.User(t, weakKey, s3test.RoleUser)
	s := harness.StartS3Server(t)
	made := s.Admin.OK("POST", harness.ConfigsPath, harness.S3Body(store, bucket,
		map[string]any{"accessKeyId": oldKey, "secretAccessKey": oldSecret}))
	path := harness.ConfigsPath + "/" + made["configId"].(string)
	made = s.Admin.OK("GET", path, nil)
	history := func() harness.Reply {
		return s.Admin.Call("GET", "/v1/tables/lake/"+made["schema"].(string)+"/orders/history", nil)
	}
	rotate := path + "/credentials/s3"
	good := map[string]any{"accessKeyId": newKey, "secretAccessKey": newSecret,
		"expiresAt": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)}

	// Refused: nothing changes.
	for name, test := range map[string]struct {
		body   any
		code   string
		fields []string
	}{
		"wrong secret": {map[string]any{"accessKeyId": newKey, "secretAccessKey": "wrong"}, "credential_rejected",
			[]string{"list", "put", "get", "put_if_absent", "delete"}},
		"unknown key": {map[string]any{"accessKeyId": "nobody", "secretAccessKey": "wrong"}, "credential_rejected",
			[]string{"list", "put", "get", "put_if_absent", "delete"}},
		"too weak": {map[string]any{"accessKeyId": weakKey, "secretAccessKey": weakSecret}, "credential_rejected",
			[]string{"list", "put", "get", "put_if_absent", "delete"}},
		"no body":    {nil, "invalid_field", []string{"accessKeyId"}},
		"empty body": {map[string]any{}, "invalid_field", []string{"accessKeyId"}},
		"no secret":  {map[string]any{"accessKeyId": newKey}, "invalid_field", []string{"secretAccessKey"}},
		"role": {map[string]any{"accessKeyId": newKey, "secretAccessKey": newSecret, "roleArn": "x"}, "invalid_field",
			[]string{"roleArn"}},
		"expired": {map[string]any{"accessKeyId": newKey, "secretAccessKey": newSecret, "expiresAt": "2020-01-01T00:00:00Z"},
			"invalid_field", []string{"expiresAt"}},
		"unknown field": {map[string]any{"accessKeyId": newKey, "secretAccessKey": newSecret, "bucket": "other"}, "invalid_field",
			[]string{"bucket"}},
	} {
		r := s.Admin.Call("PUT", rotate, test.body)
		code, fields := r.Problem(t, 422)
		require.Equal(t, test.code, code, name)
		require.Equal(t, test.fields, fields, name)
		require.NotContains(t, string(r.Body), newSecret)
		require.NotContains(t, string(r.Body), store.Address)
	}
	require.Equal(t, made, s.Admin.OK("GET", path, nil), "the record is as it was")
	require.Equal(t, 200, history().Status)

	// A dry run in both spellings.
	for _, try := range []struct {
		query string
		body  map[string]any
		valid bool
	}{
		{"?dry_run=true", good, true},
		{"", map[string]any{"accessKeyId": newKey, "secretAccessKey": newSecret, "dry_run": true}, true},
		{"?dry_run=true", map[string]any{"accessKeyId": weakKey, "secretAccessKey": weakSecret}, false},
	} {
		tried := s.Admin.OK("PUT", rotate+try.query, try.body)
		require.Equal(t, try.valid, tried["valid"])
		require.Len(t, tried["checks"], 5)
	}
	require.Equal(t, made, s.Admin.OK("GET", path, nil))

	// Readers continue while the credential changes.
	stop, failures := make(chan struct{}), make(chan int, 1)
	go func() {
		failed := 0
		for {
			select {
			case <-stop:
				failures <- failed
				return
			default:
				if history().Status != 200 {
					failed++
				}
			}
		}
	}()
	r := s.Admin.OK("PUT", rotate, good)
	require.Equal(t, made["configId"], r["configId"])
	require.Equal(t, "remote", r["configName"])
	require.NotEmpty(t, r["message"])
	require.Equal(t, good["expiresAt"], r["credentialExpiresAt"])
	store.RemoveUser(t, oldKey)
	require.Equal(t, 200, history().Status, "with the new key")
	close(stop)
	require.Zero(t, <-failures)
	require.Equal(t, good["expiresAt"], s.Admin.OK("GET", path, nil)["credentialExpiresAt"])
	s.Restart()
	require.Equal(t, 200, history().Status)

	// When the store stops accepting it, that is reported in time.
	store.RemoveUser(t, newKey)
	code, _ := history().Problem(t, 503)
	require.Equal(t, "storage_unavailable", code)
	for _, secret := range []string{oldSecret, newSecret, weakSecret} {
		require.Empty(t, harness.Leaked(t, s, secret))
	}
}

func TestS3RotationIsForThoseWhoConfigure(t *testing.T) {
	t.Parallel()
	store := s3test.Start(t)
	s := harness.StartS3Server(t)
	shared := s.Admin.OK("POST", harness.ConfigsPath, harness.S3Body(store, store.Bucket(t),
		map[string]any{"workspaceId": s.Boot.WorkspaceID}))
	personal := s.Admin.OK("POST", harness.ConfigsPath, harness.S3Body(store, store.Bucket(t), nil))
	body := map[string]any{"accessKeyId": s3test.AccessKeyID, "secretAccessKey": s3test.SecretAccessKey}
	rotate := func(c *harness.Client, config map[string]any) harness.Reply {
		return c.Call("PUT", harness.ConfigsPath+"/"+config["configId"].(string)+"/credentials/s3", body)
	}
	require.Equal(t, 200, rotate(s.Member("b@acme.example", "builder", nil), shared).Status)
	for _, role := range []string{"viewer", "editor"} {
		code, _ := rotate(s.Member(role+"@acme.example", role, nil), shared).Problem(t, 403)
		require.Equal(t, "insufficient_scope", code)
	}
	rotate(s.Member("c@acme.example", "admin", nil), personal).Problem(t, 404)
	other, _ := s.Organisation("other")
	rotate(other, shared).Problem(t, 404)

	local := s.Admin.OK("POST", harness.ConfigsPath, harness.LocalConfig("local", "somewhere"))
	code, _ := rotate(s.Admin, local).Problem(t, 422)
	require.Equal(t, "wrong_kind", code)
	code, _ = rotate(s.Admin, map[string]any{"configId": string(delegated(s, "delegated"))}).Problem(t, 422)
	require.Equal(t, "oauth_config_has_no_secret", code)
	code, _ = s.Admin.Call("PATCH", harness.ConfigsPath+"/"+local["configId"].(string), map[string]any{"pathStyle": true}).Problem(t, 422)
	require.Equal(t, "wrong_kind", code)
}

// delegated makes a configuration without a stored credential.
func delegated(s *harness.Server, name string) catalog.ConfigID {
	s.T.Helper()
	store, err := s.OpenCatalog(s.T.Context())
	require.NoError(s.T, err)
	defer func() { require.NoError(s.T, store.Close()) }()
	made, err := store.CreateStorageConfig(s.T.Context(), catalog.NewStorageConfig{
		Org: catalog.OrgID(s.Boot.OrganisationID), Owner: catalog.UserID(s.Boot.UserID), Name: name, Kind: catalog.KindDelegated,
		Location: catalog.NewLocation("gs", "storage.googleapis.com", name),
	})
	require.NoError(s.T, err)
	return made.ID
}

func TestS3ConfigurationsThatAreRefused(t *testing.T) {
	t.Parallel()
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	s := harness.StartS3Server(t)
	secret := "never-to-be-seen-" + uuid.NewString()
	for name, test := range map[string]struct {
		change map[string]any
		code   string
		fields []string
	}{
		"wrong secret":     {map[string]any{"secretAccessKey": secret}, "credential_rejected", nil},
		"no such bucket":   {map[string]any{"bucket": "no-such-bucket"}, "invalid_field", []string{"bucket"}},
		"no bucket":        {map[string]any{"bucket": nil}, "invalid_field", []string{"bucket"}},
		"bucket is an ARN": {map[string]any{"bucket": "arn:aws:s3:::x"}, "invalid_field", []string{"bucket"}},
		"no region":        {map[string]any{"region": nil}, "invalid_field", []string{"region"}},
		"region":           {map[string]any{"region": "evil.example/"}, "invalid_field", []string{"region"}},
		"prefix":           {map[string]any{"prefix": "a/../b"}, "invalid_field", []string{"prefix"}},
		"no credential":    {map[string]any{"accessKeyId": nil}, "invalid_field", []string{"accessKeyId"}},
		"no secret":        {map[string]any{"secretAccessKey": nil}, "invalid_field", []string{"secretAccessKey"}},
		"role":             {map[string]any{"roleArn": "arn:x"}, "invalid_field", []string{"roleArn"}},
		"endpoint":         {map[string]any{"endpoint": "file:///etc"}, "invalid_field", []string{"endpoint"}},
		"an alias":         {map[string]any{"endpoint": "https://name.s3.amazonaws.com"}, "invalid_field", []string{"endpoint"}},
		"unknown host":     {map[string]any{"endpoint": "https://no-such-host.invalid"}, "invalid_field", []string{"endpoint"}},
		"a root":           {map[string]any{"root": "x"}, "invalid_field", []string{"root"}},
		"local with more":  {map[string]any{"kind": "local", "root": "x"}, "invalid_field", []string{"kind"}},
		"long secret":      {map[string]any{"secretAccessKey": strings.Repeat(secret, 100)}, "invalid_field", []string{"secretAccessKey"}},
		"secret of a type": {map[string]any{"secretAccessKey": []string{secret}}, "invalid_field", []string{"secretAccessKey"}},
		"workspace":        {map[string]any{"workspaceId": uuid.NewString()}, "invalid_field", []string{"workspaceId"}},
	} {
		r := s.Admin.Call("POST", harness.ConfigsPath, harness.S3Body(store, bucket, test.change))
		code, fields := r.Problem(t, 422)
		require.Equal(t, test.code, code, name)
		if test.fields != nil {
			require.Equal(t, test.fields, fields, name)
		}
		require.NotContains(t, string(r.Body), secret, name)
		require.NotContains(t, string(r.Body), s3test.SecretAccessKey, name)
	}
	require.Len(t, s.Admin.OK("GET", harness.ConfigsPath, nil)["configs"], 1, "nothing is half-registered")
	require.Empty(t, harness.Leaked(t, s, secret))

	// Another organisation cannot lay its hands on the place, nor around it.
	s.Admin.OK("POST", harness.ConfigsPath, harness.S3Body(store, bucket, map[string]any{"prefix": "a/b"}))
	s.Admin.OK("POST", harness.ConfigsPath, harness.S3Body(store, bucket, map[string]any{"prefix": "a", "configName": "around"}))
	other, _ := s.Organisation("other")
	for prefix, free := range map[string]bool{"a/b": false, "a/b/c": false, "a": false, "": false, "/a/b/": false, "b": true, "a-b": true} {
		r := other.Call("POST", harness.ConfigsPath, harness.S3Body(store, bucket,
			map[string]any{"prefix": prefix, "endpoint": strings.ToUpper(store.Endpoint[:4]) + store.Endpoint[4:] + "/"}))
		if free {
			require.Equal(t, 201, r.Status, "%s %s", prefix, r.Body)
			continue
		}
		code, _ := r.Problem(t, 409)
		require.Equal(t, "location_taken", code, prefix)
	}
}

// TestEndpointsAreGuarded checks that the server does not connect to private networks
// unless that is allowed, whatever the name of the endpoint.
func TestEndpointsAreGuarded(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 100)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	inner := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter,
		r *http.Request) {
		asked <- r.URL.Path
	})}}
	inner.Start()
	t.Cleanup(inner.Close)
	s := harness.Start(t, nil)
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	for _, endpoint := range []string{
		inner.URL, "https://127.0.0.1:" + port, "https://localhost:" + port, "https://[::1]:" + port, "https://[::ffff:127.0.0.1]:" + port,
		"https://2130706433:" + port, "https://0x7f.1:" + port, "https://169.254.169.254", "https://[fd00:ec2::254]", "https://10.0.0.1",
		"http://s3.example.com", "https://user:pass@s3.example.com",
	} {
		body := harness.S3Body(s3test.Server{Endpoint: endpoint}, "bucket", nil)
		r := s.Admin.Call("POST", harness.ConfigsPath, body)
		_, fields := r.Problem(t, 422)
		require.Equal(t, []string{"endpoint"}, fields, endpoint)
	}
	require.Empty(t, asked, "nothing was sent")
}

// TestStoreThatHangs checks a store that accepts connections and requests and never
// answers.
func TestStoreThatHangs(t *testing.T) {
	gone := make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-gone:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(hanging.Close)
	t.Cleanup(func() { close(gone) })
	s := harness.StartImpatientS3Server(t)
	start := time.Now()
	code, _ := s.Admin.Call("POST", harness.ConfigsPath, harness.S3Body(s3test.Server{Endpoint: hanging.URL}, "bucket", nil)).Problem(t, 503)
	require.Equal(t, "storage_unavailable", code)
	require.Less(t, time.Since(start), 15*s.Config.StoreTimeout)
	require.Len(t, s.Admin.OK("GET", harness.ConfigsPath, nil)["configs"], 1)

	// One that begins to hang later holds nobody up either, and is found again.
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	harness.WriteRemote(t, store, "s3://"+bucket+"/orders")
	proxy := store.Proxy(t)
	made := s.Admin.OK("POST", harness.ConfigsPath, harness.S3Body(proxy.Server, bucket, nil))
	path := harness.ConfigsPath + "/" + made["configId"].(string)
	history := "/v1/tables/lake/" + made["schema"].(string) + "/orders/history"
	s.Admin.OK("GET", history, nil)
	proxy.Disturb("timeout", false, map[string]any{"timeout": 0})
	for _, request := range [][2]string{{"GET", history}, {"POST", path + "/discover"}} {
		start := time.Now()
		r := s.Admin.Call(request[0], request[1], nil)
		code, _ := r.Problem(t, 503)
		require.Equal(t, "storage_unavailable", code)
		require.NotEmpty(t, r.Header.Get("Retry-After"))
		require.Less(t, time.Since(start), 15*s.Config.StoreTimeout, request)
	}
	start = time.Now()
	require.Equal(t, false, s.Admin.OK("POST", path+"/validate", nil)["valid"])
	require.Less(t, time.Since(start), 15*s.Config.StoreTimeout)
	proxy.Heal()
	s.Admin.OK("GET", history, nil)
}
