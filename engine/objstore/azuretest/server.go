package azuretest

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/engine/oracletest"
)

// ProgramVariable names the environment variable with the path of Azurite's blob service.
const ProgramVariable = "LAKEWARDEN_TEST_AZURITE"

// The account that the server has, with its two keys.
const (
	Account   = "lakewardentest"
	Key       = "bGFrZXdhcmRlbi10ZXN0LWtleS1vbmU="
	SecondKey = "bGFrZXdhcmRlbi10ZXN0LWtleS10d28="
)

// Server is a running server of Azure Blob Storage.
type Server struct {
	// Endpoint is the URL of the account's blob service.
	Endpoint string
	// Address is its host and port.
	Address string
}

// instance is a server of this test binary.
type instance struct {
	once   sync.Once
	server Server
	// process is stored because the server ends with it.
	process *oracletest.Server
	err     error
}

var plain, secure instance

// Start returns the server of this test binary without TLS. If there is no server program, the test
// is skipped, or fails if the environment variable CI is set.
func Start(tb testing.TB) Server {
	tb.Helper()
	return plain.get(tb, "http")
}

// StartTLS returns the server of this test binary with TLS, which also accepts tokens of an
// [Authority].
func StartTLS(tb testing.TB) Server {
	tb.Helper()
	certificate, key := certificateFiles(tb)
	return secure.get(tb, "https", "--oauth", "basic", "--cert", certificate, "--key", key)
}

func (i *instance) get(tb testing.TB, scheme string, arguments ...string) Server {
	tb.Helper()
	i.once.Do(func() { i.server, i.process, i.err = start(scheme, arguments) })
	oracletest.Need(tb, i.err)
	return i.server
}

func start(scheme string, arguments []string) (Server, *oracletest.Server, error) {
	program, err := oracletest.Path(ProgramVariable, "azurite/node_modules/azurite/dist/src/blob/main.js")
	if err != nil {
		return Server{}, nil, err
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return Server{}, nil, err
	}
	process, err := oracletest.Serve(func(dir, address string) ([]string, error) {
		host, port := split(address)
		return append([]string{node, program, "--silent", "--disableTelemetry", "--skipApiVersionCheck",
			"--blobHost", host, "--blobPort", port, "--location", dir}, arguments...), nil
	}, "AZURITE_ACCOUNTS="+Account+":"+Key+":"+SecondKey, "HOME="+os.TempDir())
	if err != nil {
		return Server{}, nil, err
	}
	return Server{Endpoint: scheme + "://" + process.Address + "/" + Account, Address: process.Address}, process, nil
}

// Container makes an empty container and removes it at the end of the test.
func (s Server) Container(tb testing.TB) string {
	tb.Helper()
	name := "test-" + uuid.NewString()
	client := s.client(tb, name)
	if _, err := client.Create(context.Background(), nil); err != nil {
		tb.Fatalf("make a container: %v", err)
	}
	tb.Cleanup(func() { _, _ = client.Delete(context.Background(), nil) })
	return name
}

func (s Server) client(tb testing.TB, name string) *container.Client {
	tb.Helper()
	key, err := blob.NewSharedKeyCredential(Account, Key)
	if err != nil {
		tb.Fatalf("make a credential: %v", err)
	}
	options := &container.ClientOptions{}
	options.Transport = transport()
	client, err := container.NewClientWithSharedKeyCredential(s.Endpoint+"/"+name, key, options)
	if err != nil {
		tb.Fatalf("make a client: %v", err)
	}
	return client
}

// Signature returns a shared access signature for a container, without a question mark.
func (s Server) Signature(tb testing.TB, name string, rights sas.ContainerPermissions, end time.Time) string {
	tb.Helper()
	signed, err := s.client(tb, name).GetSASURL(rights, end, nil)
	if err != nil {
		tb.Fatalf("sign: %v", err)
	}
	_, query, _ := strings.Cut(signed, "?")
	return query
}

// Through returns the same account at another address, such as that of a proxy.
func (s Server) Through(address string) Server {
	s.Endpoint = s.Endpoint[:len(s.Endpoint)-len(s.Address)-len("/"+Account)] + address + "/" + Account
	s.Address = address
	return s
}
