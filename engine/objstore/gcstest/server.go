package gcstest

import (
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/engine/oracletest"
)

// ProgramVariable names the environment variable with the path of fake-gcs-server.
const ProgramVariable = "LAKEWARDEN_TEST_FAKE_GCS"

// Server is a running server. It accepts every token, and none.
type Server struct {
	// Endpoint is its URL.
	Endpoint string
	// Address is its host and port.
	Address string
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

func start() (Server, *oracletest.Server, error) {
	program, err := oracletest.Path(ProgramVariable, "fake-gcs-server")
	if err != nil {
		return Server{}, nil, err
	}
	process, err := oracletest.Serve(func(dir, address string) ([]string, error) {
		host, port, err := net.SplitHostPort(address)
		return []string{program, "-scheme", "http", "-host", host, "-port", port, "-backend", "memory", "-log-level", "error",
			"-external-url", "http://" + address, "-data", filepath.Join(dir, "none")}, err
	})
	if err != nil {
		return Server{}, nil, err
	}
	return Server{Endpoint: "http://" + process.Address, Address: process.Address}, process, nil
}

// Bucket makes an empty bucket. It stays until the server ends.
func (s Server) Bucket(tb testing.TB) string {
	tb.Helper()
	name := "test-" + uuid.NewString()
	reply, err := http.Post(s.Endpoint+"/storage/v1/b?project=test", "application/json", strings.NewReader(`{"name":"`+name+`"}`))
	if err != nil {
		tb.Fatalf("make a bucket: %v", err)
	}
	reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		tb.Fatalf("make a bucket: %s", reply.Status)
	}
	return name
}

// Through returns the same server at another address, such as that of a proxy.
func (s Server) Through(address string) Server {
	return Server{Endpoint: "http://" + address, Address: address}
}
