// Package pgtest gives tests an empty database on a real Postgres.
//
// The server is the one of LAKEWARDEN_TEST_POSTGRES_URL, whose user must be allowed to
// create databases. Without that variable the first caller in a test binary starts a
// server from the installed Postgres programs, on a free loopback port and with its
// data in a temporary directory. It ends with the binary, even if that is killed.
//
// For tests only.
package pgtest
