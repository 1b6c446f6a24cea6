package s3test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/uuid"
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
	// leash is stored because the garbage collector would close an unreferenced pipe, which would
	// end the server.
	leash io.Closer
	err   error
}

// Start returns the server of this test binary. If there is no server program, the test is skipped,
// or fails if the environment variable CI is "true".
func Start(tb testing.TB) Server {
	tb.Helper()
	running.once.Do(func() { running.server, running.leash, running.err = start() })
	if running.err != nil {
		if os.Getenv("CI") == "true" {
			tb.Fatalf("no S3 server for this test: %v", running.err)
		}
		tb.Skipf("no S3 server for this test (make test-deps, or set %s): %v", ProgramVariable, running.err)
	}
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
