package harness

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/lakewarden/command"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// RemoteBucket is the name of a bucket as sessions of an engine know it.
const RemoteBucket = "cfg-remote"

// SumOf returns a statement that reads the whole column id of a table.
func SumOf(src engine.Source) engine.Statement {
	return engine.Statement{SQL: "SELECT sum(id)::BIGINT FROM " + src.Relation(), Sources: []engine.Source{src}}
}

// KeepInS3 has a server keep results in a bucket.
func KeepInS3(store s3test.Server, bucket string) func(*Settings) {
	return func(c *Settings) {
		c.ResultsURL = "s3://" + bucket + "/kept/rows?path_style=true&region=" + s3test.Region + "&endpoint=" + url.QueryEscape(store.Endpoint)
		c.ResultsAccessKeyID, c.ResultsSecretAccessKey = s3test.AccessKeyID, s3test.SecretAccessKey
	}
}

// StartS3Server serves with leave to reach loopback, where the store is.
func StartS3Server(t *testing.T) *Server {
	return Start(t, func(c *Settings) { c.AllowPrivateEndpoints = true })
}

// StartImpatientS3Server is like [StartS3Server] for a store that hangs on purpose: the server
// waits for it for a short time.
func StartImpatientS3Server(t *testing.T) *Server {
	return Start(t, func(c *Settings) { c.AllowPrivateEndpoints, c.StoreTimeout = true, 2*time.Second })
}

// S3Body is a request for a configuration of kind s3.
func S3Body(server s3test.Server, bucket string, change map[string]any) map[string]any {
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

// WriteRemote writes a table of three commits with delta-rs.
func WriteRemote(t *testing.T, server s3test.Server, uri string) {
	t.Helper()
	DeltaPython(t)(`
import sys, pyarrow as pa, deltalake
uri, endpoint, key, secret = sys.argv[1:]
options = {"AWS_ENDPOINT_URL": endpoint, "AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret, "AWS_REGION": "us-east-1",
           "AWS_ALLOW_HTTP": "true", "aws_conditional_put": "etag"}
for n in range(3):
    deltalake.write_deltalake(uri, pa.table({"id": pa.array([n], pa.int64()), "region": pa.array(["eu"])}), mode="append", storage_options=options)
`, uri, server.Endpoint, s3test.AccessKeyID, s3test.SecretAccessKey)
}

// Leaked looks for a secret in the log and in every file of the server.
func Leaked(t *testing.T, s *Server, secret string) []string {
	t.Helper()
	var found []string
	if strings.Contains(s.Log.String(), secret) {
		found = append(found, "the log")
	}
	require.NoError(t, filepath.WalkDir(s.Config.DataDir, func(path string, entry os.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // a running server removes files
			return nil
		}
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if strings.Contains(string(content), secret) {
			found = append(found, path)
		}
		return err
	}))
	return found
}

// ConfigsPath is the path of the storage configurations.
const ConfigsPath = "/v1/storages/configs"

// Organisation makes another organisation on the same server.
func (s *Server) Organisation(name string) (*Client, command.Bootstrapped) {
	s.T.Helper()
	users.Lock()
	defer users.Unlock()
	store, err := s.OpenCatalog(s.T.Context())
	require.NoError(s.T, err)
	defer func() { require.NoError(s.T, store.Close()) }()
	boot, err := command.Bootstrap(s.T.Context(), store, name, "admin@"+name+".example")
	require.NoError(s.T, err)
	return s.Client(boot.APIKey, boot.UserID), boot
}

// LocalConfig is the body of a request for a configuration of local storage.
func LocalConfig(name, root string) map[string]any {
	return map[string]any{"configName": name, "kind": "local", "root": root}
}
