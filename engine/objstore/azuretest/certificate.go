package azuretest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// authority is the certificate authority of this test binary, with one certificate for loopback.
var authority = sync.OnceValues(makeAuthority)

type files struct{ root, certificate, key string }

// Trust makes this process, and those that it starts with its environment, accept the certificates
// of StartTLS. It must run before the process verifies a certificate: call it in TestMain. remove
// removes the certificates at the end.
func Trust() (remove func(), err error) {
	made, err := authority()
	if err != nil {
		return nil, err
	}
	return func() { _ = os.RemoveAll(filepath.Dir(made.root)) }, os.Setenv("SSL_CERT_FILE", made.root)
}

func certificateFiles(tb testing.TB) (certificate, key string) {
	tb.Helper()
	made, err := authority()
	if err != nil {
		tb.Fatalf("make a certificate: %v", err)
	}
	return made.certificate, made.key
}

// transport trusts the authority whatever the process trusts.
func transport() *http.Client {
	pool := x509.NewCertPool()
	if made, err := authority(); err == nil {
		if root, err := os.ReadFile(made.root); err == nil {
			pool.AppendCertsFromPEM(root)
		}
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}}
}

func makeAuthority() (files, error) {
	dir, err := os.MkdirTemp("", "lakewarden-certificates-")
	if err != nil {
		return files{}, err
	}
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Lakewarden test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "127.0.0.1"},
		NotBefore: root.NotBefore, NotAfter: root.NotAfter,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return files{}, err
	}
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return files{}, err
	}
	made := files{filepath.Join(dir, "root.pem"), filepath.Join(dir, "certificate.pem"), filepath.Join(dir, "key.pem")}
	for _, c := range []struct {
		path              string
		template, parent  *x509.Certificate
		subject, signedBy *ecdsa.PrivateKey
	}{{made.root, root, root, rootKey, rootKey}, {made.certificate, leaf, root, leafKey, rootKey}} {
		der, err := x509.CreateCertificate(rand.Reader, c.template, c.parent, c.subject.Public(), c.signedBy)
		if err == nil {
			err = writePEM(c.path, "CERTIFICATE", der)
		}
		if err != nil {
			return files{}, err
		}
	}
	der, err := x509.MarshalPKCS8PrivateKey(leafKey)
	if err != nil {
		return files{}, err
	}
	return made, writePEM(made.key, "PRIVATE KEY", der)
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

func split(address string) (host, port string) {
	host, port, _ = net.SplitHostPort(address)
	return host, port
}
