package kmstest

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/kms"

	"github.com/lakewarden/lakewarden/engine/oracletest"
)

// Region is the region of the server.
const Region = "eu-central-1"

// The credential that clients should use. The server accepts any.
const (
	AccessKeyID     = "AKIALAKEWARDENTEST"
	SecretAccessKey = "a-secret-access-key-of-the-kms"
)

// Server is a running KMS.
type Server struct {
	tb       testing.TB
	Endpoint string
	client   *kms.Client
}

// Start starts a server. If moto is missing, the test is skipped, or fails in CI.
func Start(tb testing.TB) *Server {
	tb.Helper()
	python := oracletest.Python(tb)
	oracletest.Need(tb, exec.CommandContext(tb.Context(), python, "-c", "import moto.server").Run())
	process, err := oracletest.Serve(func(_, address string) ([]string, error) {
		host, port, _ := strings.Cut(address, ":")
		return []string{python, "-m", "moto.server", "-H", host, "-p", port}, nil
	}, "MOTO_NO_COLOR=1")
	if err != nil {
		tb.Fatalf("start a KMS: %v", err)
	}
	tb.Cleanup(func() { _ = process.Close() })
	s := &Server{tb: tb, Endpoint: "http://" + process.Address}
	s.client = kms.New(kms.Options{
		Region: Region, BaseEndpoint: &s.Endpoint,
		Credentials: credentials.NewStaticCredentialsProvider(AccessKeyID, SecretAccessKey, ""),
	})
	return s
}

// Key creates a key and returns its URI.
func (s *Server) Key() string {
	s.tb.Helper()
	created, err := s.client.CreateKey(context.Background(), &kms.CreateKeyInput{})
	if err != nil {
		s.tb.Fatalf("create a key: %v", err)
	}
	return "aws-kms://" + aws.ToString(created.KeyMetadata.Arn)
}
