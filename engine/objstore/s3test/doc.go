// Package s3test gives tests an empty bucket on a real S3 server.
//
// The server is versitygw over a temporary directory, on a free loopback port. The first caller in
// a test binary starts it and it ends with the binary, even after a crash. Its program is named by
// LAKEWARDEN_TEST_VERSITYGW, or is the one that `make test-deps` installed in bin.
//
// For tests only.
package s3test
