package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// Failed adds the operation and the name to an error.
func Failed(op objstore.Op, name string, err error) error {
	return fmt.Errorf("%s %q: %w", op, name, err)
}

// Check is called first in every operation on an object. It refuses invalid names and contexts that
// have ended.
func Check(ctx context.Context, op objstore.Op, name string) error {
	if err := objstore.ValidName(name); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return Failed(op, name, err)
	}
	return nil
}

// Classify maps a failed request to the errors of objstore, in this order: the end of the context,
// a failure of the credential's own requests, family, the family of the status, and a failure of
// the network. It drops the text of err, which can contain addresses and the store's message. code
// is the store's error code, for the text; it may be empty. family is that of the code, or nil.
func Classify(ctx context.Context, err error, code string, family error, status int) error {
	if ctxErr := ctx.Err(); ctxErr != nil {
		return ctxErr
	}
	var token *tokenError
	if errors.As(err, &token) {
		return token.err
	}
	if family == nil {
		family = familyOf(status)
	}
	if family != nil {
		return fmt.Errorf("%w (%d%s)", family, status, suffix(code))
	}
	return fmt.Errorf("%w: %s", objstore.ErrUnavailable, network(err))
}

// familyOf returns the error that a status stands for if the store sent no known code. It is nil if
// the status is not that of an error.
func familyOf(status int) error {
	switch {
	case status == http.StatusNotFound:
		return objstore.ErrNotFound
	case status == http.StatusPreconditionFailed:
		return objstore.ErrExists
	case status == http.StatusUnauthorized:
		return objstore.ErrCredential
	case status == http.StatusForbidden, status == http.StatusMethodNotAllowed:
		return objstore.ErrDenied
	case status >= 300:
		return objstore.ErrUnavailable
	}
	return nil
}

// suffix returns a code for an error text if it consists of letters and underscores only, because a
// store can send anything.
func suffix(code string) string {
	if code == "" || len(code) > 40 {
		return ""
	}
	for _, c := range code {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '_' {
			return ""
		}
	}
	return " " + code
}

// network describes a connection failure in this package's own words.
func network(err error) string {
	var dial *net.OpError
	switch {
	case IsTimeout(err):
		return "no answer in time"
	case errors.As(err, &dial) && dial.Op == "dial":
		return "cannot connect"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection lost"
	}
	return "unreadable answer"
}

// IsTimeout reports whether a request ended because the store did not reply in time. Such a request
// is not repeated, so that a store that hangs does not block its caller several times as long.
func IsTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// Pause waits before the next attempt, for a random time. Its maximum doubles with every attempt, up to
// most.
func Pause(ctx context.Context, attempt int, most time.Duration) error {
	wait := min(most, 5*time.Millisecond<<attempt)
	timer := time.NewTimer(rand.N(wait))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Repeatable reports whether a request that failed without a reply may be sent again: not after a
// timeout, and not if its credential failed.
func Repeatable(err error) bool {
	var token *tokenError
	return !IsTimeout(err) && !errors.As(err, &token)
}
