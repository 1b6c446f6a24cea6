// Package s3test gives tests an empty bucket on a real S3 server.
//
// The server is versitygw over a temporary directory, on a free loopback port.
// The first caller in a test binary starts it and it ends with the binary,
// however that ends. Its program is the one that LAKEWARDEN_TEST_VERSITYGW
// names, or the one that `make test-deps` put into bin.
//
// For tests only.
package s3test
