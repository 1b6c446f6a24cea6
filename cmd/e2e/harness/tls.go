package harness

import (
	"encoding/pem"
	"errors"
	"net/http/httptest"
	"os"
)

// TrustTestServers makes the process trust the certificate of the TLS servers of package httptest, which
// is the same for all of them. It is for [Main], because the roots are read once.
func TrustTestServers() (tearDown func(), err error) {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	file, err := os.CreateTemp("", "certificate-*.pem")
	if err != nil {
		return nil, err
	}
	err = errors.Join(pem.Encode(file, &pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), file.Close(),
		os.Setenv("SSL_CERT_FILE", file.Name()))
	return func() { _ = os.Remove(file.Name()) }, err
}
