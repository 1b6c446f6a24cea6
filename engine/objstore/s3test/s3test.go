package s3test

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/engine/oracletest"
)

// ProgramVariable names the environment variable with the path of versitygw.
const ProgramVariable = "LAKEWARDEN_TEST_VERSITYGW"

// The key and the region that the server accepts.
const (
	AccessKeyID     = "lakewardentest"
	SecretAccessKey = "lakewarden-test-secret-key"
	Region          = "us-east-1"
)

// Server is a running S3 server.
type Server struct {
	// Endpoint is its URL. Buckets are in the path.
	Endpoint string
	// Address is its host and port.
	Address string
	dir     string
	program string
}

var running struct {
	once   sync.Once
	server Server
	// process is stored because the server ends with it.
	process *oracletest.Server
	err     error
}

// Start returns the server of this test binary. If there is no server program, the test is skipped,
// or fails if the environment variable CI is set.
func Start(tb testing.TB) Server {
	tb.Helper()
	running.once.Do(func() { running.server, running.process, running.err = start() })
	oracletest.Need(tb, running.err)
	return running.server
}

// Bucket makes an empty bucket and removes it at the end of the test.
func (s Server) Bucket(tb testing.TB) string {
	tb.Helper()
	name := "test-" + uuid.NewString()
	if err := os.Mkdir(s.Folder(name), 0o755); err != nil {
		tb.Fatalf("make a bucket: %v", err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(s.Folder(name)) })
	return name
}

// Folder returns the directory that holds the objects of a bucket as files, so that other programs
// can write to it.
func (s Server) Folder(bucket string) string { return filepath.Join(s.dir, "buckets", bucket) }

// Roles of [Server.User].
const (
	RoleAdmin = "admin" // may do everything in every bucket
	RoleUser  = "user"  // has no permissions in buckets of others
)

// User makes an account and returns its secret key.
func (s Server) User(tb testing.TB, accessKey, role string) (secretKey string) {
	tb.Helper()
	secretKey = "secret-of-" + accessKey
	s.admin(tb, "create-user", "--access", accessKey, "--secret", secretKey, "--role", role)
	return secretKey
}

// RemoveUser deletes an account: its key becomes unknown.
func (s Server) RemoveUser(tb testing.TB, accessKey string) {
	tb.Helper()
	s.admin(tb, "delete-user", "--access", accessKey)
}

func (s Server) admin(tb testing.TB, args ...string) {
	tb.Helper()
	common := []string{"admin", "--access", AccessKeyID, "--secret", SecretAccessKey, "--endpoint-url", s.Endpoint}
	if out, err := exec.Command(s.program, append(common, args...)...).CombinedOutput(); err != nil {
		tb.Fatalf("versitygw %v: %v: %s", args[0], err, out)
	}
}
