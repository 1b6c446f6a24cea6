//go:build !unix

package oracletest

import "errors"

// Server is a running server program.
type Server struct{ Address, Dir string }

// Close ends the program.
func (*Server) Close() error { return nil }

// Serve fails: server programs can be started on Unix only.
func Serve(func(dir, address string) (command []string, err error), ...string) (*Server, error) {
	return nil, errors.New("a server can be started on Unix only")
}
