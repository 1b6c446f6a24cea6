// Package azuretest gives tests an empty container on a real server of Azure Blob Storage, and an
// identity service that issues the tokens which it accepts.
//
// The server is Azurite over a temporary directory, on a free loopback port. The first caller in a
// test binary starts it and it ends with the binary, even after a crash. Its program is named by
// LAKEWARDEN_TEST_AZURITE, or is the one that `make test-deps` installed in bin; it needs Node.js.
//
// Start is a server without TLS, and StartTLS one with a certificate of Trust, which accepts tokens
// as well. The client programs must call Trust before they verify a certificate.
//
// For tests only.
package azuretest
