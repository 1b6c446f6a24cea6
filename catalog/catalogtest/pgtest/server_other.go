//go:build !unix

package pgtest

import (
	"errors"
	"io"
)

func launch() (url string, leash io.Closer, err error) {
	return "", nil, errors.New("a server can be started on Unix only; set " + URLVariable)
}
