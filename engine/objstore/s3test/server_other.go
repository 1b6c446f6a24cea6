//go:build !unix

package s3test

import (
	"errors"
	"io"
)

func start() (server Server, leash io.Closer, err error) {
	return Server{}, nil, errors.New("a server can be started on Unix only")
}
