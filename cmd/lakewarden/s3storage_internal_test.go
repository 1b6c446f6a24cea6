package main

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
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// startS3Server serves with leave to reach loopback, where the store is.
func startS3Server(t *testing.T) *testServer {
	return startServer(t, func(c *settings) {
		c.AllowPrivateEndpoints = true
		c.StoreTimeout = time.Second
	})
}

// s3Body is a request for a configuration of kind s3.
func s3Body(server s3test.Server, bucket string, change map[string]any) map[string]any {
	body := map[string]any{
		"configName": "remote", "kind": "s3", "bucket": bucket, "region": s3test.Region, "endpoint": server.Endpoint,
		"accessKeyId": s3test.AccessKeyID, "secretAccessKey": s3test.SecretAccessKey,
	}
	for key, value := range change {
		if value == nil {
			delete(body, key)
		} else {
			body[key] = value
		}
	}
	return body
}

// writeRemote writes a table of three commits with delta-rs.
func writeRemote(t *testing.T, server s3test.Server, uri string) {
	t.Helper()
	deltaPython(t)(`
import sys, pyarrow as pa, deltalake
uri, endpoint, key, secret = sys.argv[1:]
options = {"AWS_ENDPOINT_URL": endpoint, "AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret, "AWS_REGION": "us-east-1",
           "AWS_ALLOW_HTTP": "true", "aws_conditional_put": "etag"}
for n in range(3):
    deltalake.write_deltalake(uri, pa.table({"id": pa.array([n], pa.int64()), "region": pa.array(["eu"])}), mode="append", storage_options=options)
`, uri, server.Endpoint, s3test.AccessKeyID, s3test.SecretAccessKey)
}

func tableNames(c *client, schema string) []string {
	c.t.Helper()
	var names []string
	for _, table := range c.ok("GET", "/v1/tables?schema="+schema, nil)["tables"].([]any) {
		names = append(names, table.(map[string]any)["table"].(string))
	}
	return names
}

func TestS3TablesAreDiscoveredAndDescribed(t *testing.T) {
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	writeRemote(t, store, "s3://"+bucket+"/lake/sales/orders")
	writeRemote(t, store, "s3://"+bucket+"/elsewhere/hidden")
	s := startS3Server(t)

	made := s.admin.ok("POST", configsPath, s3Body(store, bucket, map[string]any{"prefix": "/lake/", "configName": "Remote Lake", "workspaceId": s.boot.WorkspaceID}))
	require.Equal(t, "s3", made["kind"])
	require.Equal(t, "access_key", made["authMode"])
	require.Nil(t, made["credentialExpiresAt"])
	require.Equal(t, map[string]any{"bucket": bucket, "prefix": "lake", "region": s3test.Region, "endpoint": store.Endpoint, "pathStyle": true}, made["settings"])
	path := configsPath + "/" + made["configId"].(string)
	schema := made["schema"].(string)

	require.Equal(t, []string{"sales__orders"}, tableNames(s.admin, schema), "what lies below the prefix, at once")
	table := "/v1/tables/lake/" + schema + "/sales__orders"
	columns := s.admin.ok("GET", table+"/columns", nil)["columns"].([]any)
	require.Len(t, columns, 2)
	require.Equal(t, "id", columns[0].(map[string]any)["name"])
	require.Len(t, s.admin.ok("GET", table+"/history", nil)["versions"], 3)

	valid := s.admin.ok("POST", path+"/validate", nil)
	require.Equal(t, true, valid["valid"], "%v", valid)
	writeRemote(t, store, "s3://"+bucket+"/lake/sales/orders")
	writeRemote(t, store, "s3://"+bucket+"/lake/x")
	found := s.admin.ok("POST", path+"/discover", nil)
	require.Equal(t, []any{2.0, 1.0, 0.0}, []any{found["tablesFound"], found["tablesAdded"], found["tablesVanished"]})
	require.Len(t, s.admin.ok("GET", table+"/history", nil)["versions"], 6, "commits of others are seen")

	// The table is gone, the bucket is not.
	require.NoError(t, os.RemoveAll(filepath.Join(store.Folder(bucket), "lake", "x")))
	require.Equal(t, 1.0, s.admin.ok("POST", path+"/discover", nil)["tablesVanished"])
	// The bucket is gone: nothing is known of the tables.
	require.NoError(t, os.Rename(store.Folder(bucket), store.Folder(bucket)+"-away"))
	code, _ := s.admin.call("POST", path+"/discover", nil).problem(t, 503)
	require.Equal(t, "storage_unavailable", code)
	require.NoError(t, os.Rename(store.Folder(bucket)+"-away", store.Folder(bucket)))

	restyled := s.admin.ok("PATCH", path, map[string]any{"pathStyle": true, "configName": "Renamed"})
	require.Equal(t, "renamed", restyled["slug"])
	s.restart()
	require.Len(t, s.admin.ok("GET", table+"/history", nil)["versions"], 6, "the key file opens the credential after a start")
	require.Empty(t, leaked(t, s, s3test.SecretAccessKey))
	s.admin.ok("DELETE", path, nil)
	require.DirExists(t, filepath.Join(store.Folder(bucket), "lake", "sales"), "data stays")
}

// leaked looks for a secret in the log and in every file of the server.
func leaked(t *testing.T, s *testServer, secret string) []string {
	t.Helper()
	var found []string
	if strings.Contains(s.log.String(), secret) {
		found = append(found, "the log")
	}
	require.NoError(t, filepath.WalkDir(s.config.DataDir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if strings.Contains(string(content), secret) {
			found = append(found, path)
		}
		return err
	}))
	return found
}

func TestS3CredentialsRotate(t *testing.T) {
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	writeRemote(t, store, "s3://"+bucket+"/orders")
	oldKey, newKey, weakKey := "old"+uuid.NewString()[:8], "new"+uuid.NewString()[:8], "weak"+uuid.NewString()[:8]
	oldSecret, newSecret := store.User(t, oldKey, s3test.RoleAdmin), store.User(t, newKey, s3test.RoleAdmin)
	weakSecret := store.User(t, weakKey, s3test.RoleUser)
	s := startS3Server(t)
	made := s.admin.ok("POST", configsPath, s3Body(store, bucket, map[string]any{"accessKeyId": oldKey, "secretAccessKey": oldSecret}))
	path := configsPath + "/" + made["configId"].(string)
	made = s.admin.ok("GET", path, nil)
	history := func() reply {
		return s.admin.call("GET", "/v1/tables/lake/"+made["schema"].(string)+"/orders/history", nil)
	}
	rotate := path + "/credentials/s3"
	good := map[string]any{"accessKeyId": newKey, "secretAccessKey": newSecret, "expiresAt": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)}

	// Refused: nothing changes.
	for name, test := range map[string]struct {
		body   any
		code   string
		fields []string
	}{
		"wrong secret":  {map[string]any{"accessKeyId": newKey, "secretAccessKey": "wrong"}, "credential_rejected", []string{"list", "put", "get", "put_if_absent", "delete"}},
		"unknown key":   {map[string]any{"accessKeyId": "nobody", "secretAccessKey": "wrong"}, "credential_rejected", []string{"list", "put", "get", "put_if_absent", "delete"}},
		"too weak":      {map[string]any{"accessKeyId": weakKey, "secretAccessKey": weakSecret}, "credential_rejected", []string{"list", "put", "get", "put_if_absent", "delete"}},
		"no body":       {nil, "invalid_field", []string{"accessKeyId"}},
		"empty body":    {map[string]any{}, "invalid_field", []string{"accessKeyId"}},
		"no secret":     {map[string]any{"accessKeyId": newKey}, "invalid_field", []string{"secretAccessKey"}},
		"role":          {map[string]any{"accessKeyId": newKey, "secretAccessKey": newSecret, "roleArn": "x"}, "invalid_field", []string{"roleArn"}},
		"expired":       {map[string]any{"accessKeyId": newKey, "secretAccessKey": newSecret, "expiresAt": "2020-01-01T00:00:00Z"}, "invalid_field", []string{"expiresAt"}},
		"unknown field": {map[string]any{"accessKeyId": newKey, "secretAccessKey": newSecret, "bucket": "other"}, "invalid_field", []string{"bucket"}},
	} {
		r := s.admin.call("PUT", rotate, test.body)
		code, fields := r.problem(t, 422)
		require.Equal(t, test.code, code, name)
		require.Equal(t, test.fields, fields, name)
		require.NotContains(t, string(r.body), newSecret)
		require.NotContains(t, string(r.body), store.Address)
	}
	require.Equal(t, made, s.admin.ok("GET", path, nil), "the record is as it was")
	require.Equal(t, 200, history().status)

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
		tried := s.admin.ok("PUT", rotate+try.query, try.body)
		require.Equal(t, try.valid, tried["valid"])
		require.Len(t, tried["checks"], 5)
	}
	require.Equal(t, made, s.admin.ok("GET", path, nil))

	// Readers go on while the credential changes below them.
	stop, failures := make(chan struct{}), make(chan int, 1)
	go func() {
		failed := 0
		for {
			select {
			case <-stop:
				failures <- failed
				return
			default:
				if history().status != 200 {
					failed++
				}
			}
		}
	}()
	r := s.admin.ok("PUT", rotate, good)
	require.Equal(t, made["configId"], r["configId"])
	require.Equal(t, "remote", r["configName"])
	require.NotEmpty(t, r["message"])
	require.Equal(t, good["expiresAt"], r["credentialExpiresAt"])
	store.RemoveUser(t, oldKey)
	require.Equal(t, 200, history().status, "with the new key")
	close(stop)
	require.Zero(t, <-failures)
	require.Equal(t, good["expiresAt"], s.admin.ok("GET", path, nil)["credentialExpiresAt"])
	s.restart()
	require.Equal(t, 200, history().status)

	// And when the store stops accepting it, that is said in time.
	store.RemoveUser(t, newKey)
	code, _ := history().problem(t, 503)
	require.Equal(t, "storage_unavailable", code)
	for _, secret := range []string{oldSecret, newSecret, weakSecret} {
		require.Empty(t, leaked(t, s, secret))
	}
}

func TestS3RotationIsForThoseWhoConfigure(t *testing.T) {
	store := s3test.Start(t)
	s := startS3Server(t)
	shared := s.admin.ok("POST", configsPath, s3Body(store, store.Bucket(t), map[string]any{"workspaceId": s.boot.WorkspaceID}))
	personal := s.admin.ok("POST", configsPath, s3Body(store, store.Bucket(t), nil))
	body := map[string]any{"accessKeyId": s3test.AccessKeyID, "secretAccessKey": s3test.SecretAccessKey}
	rotate := func(c *client, config map[string]any) reply {
		return c.call("PUT", configsPath+"/"+config["configId"].(string)+"/credentials/s3", body)
	}
	require.Equal(t, 200, rotate(s.member("b@acme.example", "builder", nil), shared).status)
	for _, role := range []string{"viewer", "editor"} {
		code, _ := rotate(s.member(role+"@acme.example", role, nil), shared).problem(t, 403)
		require.Equal(t, "insufficient_scope", code)
	}
	rotate(s.member("c@acme.example", "admin", nil), personal).problem(t, 404)
	other, _ := s.organisation("other")
	rotate(other, shared).problem(t, 404)

	local := s.admin.ok("POST", configsPath, local("local", "somewhere"))
	code, _ := rotate(s.admin, local).problem(t, 422)
	require.Equal(t, "wrong_kind", code)
	code, _ = rotate(s.admin, map[string]any{"configId": string(s.delegated("delegated"))}).problem(t, 422)
	require.Equal(t, "oauth_config_has_no_secret", code)
	code, _ = s.admin.call("PATCH", configsPath+"/"+local["configId"].(string), map[string]any{"pathStyle": true}).problem(t, 422)
	require.Equal(t, "wrong_kind", code)
}

// delegated makes a configuration without a stored credential.
func (s *testServer) delegated(name string) catalog.ConfigID {
	s.t.Helper()
	store, err := s.openCatalog(s.t.Context())
	require.NoError(s.t, err)
	defer func() { require.NoError(s.t, store.Close()) }()
	made, err := store.CreateStorageConfig(s.t.Context(), catalog.NewStorageConfig{
		Org: catalog.OrgID(s.boot.OrganisationID), Owner: catalog.UserID(s.boot.UserID), Name: name, Kind: catalog.KindDelegated,
		Location: catalog.NewLocation("gs", "storage.googleapis.com", name),
	})
	require.NoError(s.t, err)
	return made.ID
}

func TestS3ConfigurationsThatAreRefused(t *testing.T) {
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	s := startS3Server(t)
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
		r := s.admin.call("POST", configsPath, s3Body(store, bucket, test.change))
		code, fields := r.problem(t, 422)
		require.Equal(t, test.code, code, name)
		if test.fields != nil {
			require.Equal(t, test.fields, fields, name)
		}
		require.NotContains(t, string(r.body), secret, name)
		require.NotContains(t, string(r.body), s3test.SecretAccessKey, name)
	}
	require.Len(t, s.admin.ok("GET", configsPath, nil)["configs"], 1, "nothing is half-registered")
	require.Empty(t, leaked(t, s, secret))

	// Another organisation cannot lay its hands on the place, nor around it.
	s.admin.ok("POST", configsPath, s3Body(store, bucket, map[string]any{"prefix": "a/b"}))
	s.admin.ok("POST", configsPath, s3Body(store, bucket, map[string]any{"prefix": "a", "configName": "around"}))
	other, _ := s.organisation("other")
	for prefix, free := range map[string]bool{"a/b": false, "a/b/c": false, "a": false, "": false, "/a/b/": false, "b": true, "a-b": true} {
		r := other.call("POST", configsPath, s3Body(store, bucket, map[string]any{"prefix": prefix, "endpoint": strings.ToUpper(store.Endpoint[:4]) + store.Endpoint[4:] + "/"}))
		if free {
			require.Equal(t, 201, r.status, "%s %s", prefix, r.body)
			continue
		}
		code, _ := r.problem(t, 409)
		require.Equal(t, "location_taken", code, prefix)
	}
}

// TestEndpointsAreGuarded: without leave the server does not talk to its own
// network, whatever the name.
func TestEndpointsAreGuarded(t *testing.T) {
	asked := make(chan string, 100)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	inner := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.Path })}}
	inner.Start()
	t.Cleanup(inner.Close)
	s := startServer(t, nil)
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	for _, endpoint := range []string{
		inner.URL, "https://127.0.0.1:" + port, "https://localhost:" + port, "https://[::1]:" + port, "https://[::ffff:127.0.0.1]:" + port,
		"https://2130706433:" + port, "https://0x7f.1:" + port, "https://169.254.169.254", "https://[fd00:ec2::254]", "https://10.0.0.1",
		"http://s3.example.com", "https://user:pass@s3.example.com",
	} {
		body := s3Body(s3test.Server{Endpoint: endpoint}, "bucket", nil)
		r := s.admin.call("POST", configsPath, body)
		_, fields := r.problem(t, 422)
		require.Equal(t, []string{"endpoint"}, fields, endpoint)
	}
	require.Empty(t, asked, "nothing was sent")
}

// TestAStoreThatHangs: it takes connections and requests, and never answers.
func TestAStoreThatHangs(t *testing.T) {
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
	s := startS3Server(t)
	start := time.Now()
	code, _ := s.admin.call("POST", configsPath, s3Body(s3test.Server{Endpoint: hanging.URL}, "bucket", nil)).problem(t, 503)
	require.Equal(t, "storage_unavailable", code)
	require.Less(t, time.Since(start), 5*s.config.StoreTimeout)
	require.Len(t, s.admin.ok("GET", configsPath, nil)["configs"], 1)

	// One that begins to hang later holds nobody up either, and is found again.
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	writeRemote(t, store, "s3://"+bucket+"/orders")
	proxy := store.Proxy(t)
	made := s.admin.ok("POST", configsPath, s3Body(proxy.Server, bucket, nil))
	path := configsPath + "/" + made["configId"].(string)
	history := "/v1/tables/lake/" + made["schema"].(string) + "/orders/history"
	s.admin.ok("GET", history, nil)
	proxy.Disturb("timeout", false, map[string]any{"timeout": 0})
	for _, request := range [][2]string{{"GET", history}, {"POST", path + "/discover"}} {
		start := time.Now()
		r := s.admin.call(request[0], request[1], nil)
		code, _ := r.problem(t, 503)
		require.Equal(t, "storage_unavailable", code)
		require.NotEmpty(t, r.header.Get("Retry-After"))
		require.Less(t, time.Since(start), 5*s.config.StoreTimeout, request)
	}
	start = time.Now()
	require.Equal(t, false, s.admin.ok("POST", path+"/validate", nil)["valid"])
	require.Less(t, time.Since(start), 5*s.config.StoreTimeout)
	proxy.Heal()
	s.admin.ok("GET", history, nil)
}
