package storage_test

import (
	"net/http"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog/secret"
	"github.com/lakewarden/lakewarden/catalog/secret/awskms/kmstest"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// TestKeyServiceThatFails runs a server whose key file a KMS encrypts, and lets the KMS fail: opened
// keys are used for five minutes, requests that need them get 503 then, and nothing has to be restarted
// when the KMS answers again. No hash changes when the file is decrypted, or encrypted by another key.
func TestKeyServiceThatFails(t *testing.T) {
	kmstest.Credentials(t)
	kms := kmstest.Start(t)
	proxy := kms.Proxy()
	store := s3test.Start(t)
	bucket := store.Bucket(t)
	begin := time.Now()
	var later atomic.Int64 // nanoseconds
	s := harness.Start(t, func(c *harness.Settings) {
		c.AllowPrivateEndpoints = true
		c.KeyKMSURI, c.KeyKMSEndpoint = kms.Key(), proxy.Endpoint
		c.KeyClock = func() time.Time { return begin.Add(time.Duration(later.Load())) }
	})
	inClear := func() bool {
		t.Helper()
		content, err := os.ReadFile(s.Config.KeyFile)
		require.NoError(t, err)
		return len(content) == 0 || string(content[:8]) == `{"keys":`
	}
	require.False(t, inClear())
	user := func() object {
		key := "key" + uuid.NewString()[:8]
		return object{"accessKeyId": key, "secretAccessKey": store.User(t, key, s3test.RoleAdmin)}
	}
	made := s.Admin.OK("POST", harness.ConfigsPath, with(harness.S3Body(store, bucket, object{"workspaceId": s.Boot.WorkspaceID}), user()))
	path := harness.ConfigsPath + "/" + made["configId"].(string)
	remote := made["schema"].(string) + ".t"
	s.Admin.Call("POST", "/v1/tables", s.NewTable(made["schema"].(string), "t", nil, harness.Col("id", "long"))).JSON(t)
	s.Table("people", `SELECT 'Ana' AS name`, nil, column{"name", "string"})
	s.Rule("mask", "people", "name", `{"effect":"forbid","subject":{"role":"viewer"},"mask":"hash"}`)
	reader := s.Member("reader@acme.example", "viewer", nil)
	hash := func() harness.Reply { return reader.Query("SELECT name FROM " + s.Schema + ".people") }
	before := hash().JSON(t)["rows"]
	works := func(what string) {
		t.Helper()
		require.Equal(t, 1.0, s.Metric(t, "lakewarden_keys_usable"), what)
		require.Equal(t, before, hash().JSON(t)["rows"], what)
		s.Admin.OK("PUT", path+"/credentials/s3", user())
		require.Equal(t, 0.0, s.Admin.Count(remote), what)
	}
	works("the KMS answers")

	proxy.Answer(kmstest.Down)
	later.Store(int64(secret.OpenedFor - time.Minute))
	works("opened keys are used")
	later.Store(int64(secret.OpenedFor + time.Minute))
	require.Zero(t, s.Metric(t, "lakewarden_keys_usable"))
	for what, r := range map[string]harness.Reply{
		"rotation": s.Admin.Call("PUT", path+"/credentials/s3", user()), "hash": hash(),
		"validation": s.Admin.Call("POST", path+"/validate", nil),
		"creation":   s.Admin.Call("POST", harness.ConfigsPath, with(harness.S3Body(store, store.Bucket(t), nil), user())),
	} {
		code, _ := r.Problem(t, http.StatusServiceUnavailable)
		require.Equal(t, "key_service_unavailable", code, what)
		require.NotContains(t, string(r.Body), s.Config.KeyKMSURI, what)
	}
	require.Equal(t, "Ana", s.Admin.Rows("SELECT name FROM " + s.Schema + ".people")[0].([]any)[0], "what needs no key works")
	require.Eventually(t, func() bool { return s.Metric(t, `lakewarden_keys_confirmations_total{outcome="failed"}`) > 0 },
		time.Minute, 50*time.Millisecond)
	require.Contains(t, s.Log.String(), "keys not confirmed")
	proxy.Answer(nil)
	require.Eventually(t, func() bool { return s.Metric(t, "lakewarden_keys_usable") == 1 }, time.Minute, 50*time.Millisecond)
	works("the KMS answers again")

	// A start needs the KMS, and the key of the file.
	s.Stop()
	proxy.Answer(kmstest.Down)
	err := s.Refuses()
	for _, part := range []string{"key_file: key service unavailable", s.Config.KeyKMSURI, "EOF"} {
		require.ErrorContains(t, err, part)
	}
	proxy.Answer(nil)
	uri := s.Config.KeyKMSURI
	s.Config.KeyKMSURI = ""
	require.ErrorContains(t, s.Refuses(), "it is encrypted by "+uri+", and the setting key_kms_uri is empty")
	s.Config.KeyKMSURI = kms.Key()
	require.ErrorContains(t, s.Refuses(), "run `lakewarden keys wrap`")

	// The commands move the file to another key, and out of the KMS.
	run := func(command, uri string) {
		t.Helper()
		p := harness.NewProgram(t)
		p.Env = append(p.Env, "LAKEWARDEN_DATA_DIR="+s.Config.DataDir, "LAKEWARDEN_KEY_KMS_URI="+uri,
			"LAKEWARDEN_KEY_KMS_ENDPOINT="+proxy.Endpoint, "LAKEWARDEN_ALLOW_PRIVATE_ENDPOINTS=true")
		_, stderr, err := p.Run("keys", command)
		require.NoError(t, err, "%s", stderr)
	}
	for _, step := range []struct{ command, uri string }{{"wrap", s.Config.KeyKMSURI}, {"unwrap", ""}, {"wrap", uri}} {
		run(step.command, step.uri)
		require.Equal(t, step.command == "unwrap", inClear())
		s.Config.KeyKMSURI = step.uri
		s.Start()
		s.Admin, reader = s.Client(s.Admin.Key, s.Admin.User), s.Client(reader.Key, reader.User)
		works("after keys " + step.command)
		s.Stop()
	}
	require.NotContains(t, s.Log.String(), kmstest.SecretAccessKey)
}
