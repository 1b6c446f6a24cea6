// Package gcstest gives tests an empty bucket on a real server with the JSON API of Google Cloud
// Storage, and an authority that issues its tokens.
//
// The server is fake-gcs-server over a temporary directory, on a free loopback port. The first caller
// in a test binary starts it and it ends with the binary, even after a crash. Its program is named by
// LAKEWARDEN_TEST_FAKE_GCS, or is the one that `make test-deps` installed in bin.
//
// The server accepts every request. A Guard is a proxy in front of it that refuses tokens which its
// authority did not issue, or which have expired or were revoked.
//
// For tests only.
package gcstest
