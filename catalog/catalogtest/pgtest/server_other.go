//go:build !unix

package pgtest

import "errors"

func start() (string, error) {
	return "", errors.New("a server can be started on Unix only; set " + URLVariable)
}
