package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// Check is one step of a probe.
type Check struct {
	// Name is list, put, get, put_if_absent or delete.
	Name string
	OK   bool
	// Millis is its duration in milliseconds.
	Millis int64
	// Reason describes the failure in words suitable for a client; empty if OK.
	Reason string
	// Err is the cause, for errors.Is and the server's log; nil if OK.
	Err error
}

// Report is the outcome of a probe: the checks in the order of their execution.
type Report struct {
	Checks []Check
}

// OK reports whether every check passed.
func (r Report) OK() bool {
	return !slices.ContainsFunc(r.Checks, func(c Check) bool { return !c.OK })
}

// Err joins the causes of the failed checks; it returns nil if all passed.
func (r Report) Err() error {
	var errs []error
	for _, check := range r.Checks {
		if !check.OK {
			errs = append(errs, fmt.Errorf("probe %s: %w", check.Name, check.Err))
		}
	}
	return errors.Join(errs...)
}

// reason returns the safe text of a cause.
func reason(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, ErrSkipped):
		return "not tried, because an earlier check failed"
	case errors.Is(err, ErrNotAtomic):
		return "the store does not honour put-if-absent: concurrent commits could overwrite each other"
	case errors.Is(err, ErrContent):
		return "the store does not return what was written to it"
	case errors.Is(err, objstore.ErrCredential):
		return "the credential is not accepted"
	case errors.Is(err, objstore.ErrDenied):
		return "access denied"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.Is(err, objstore.ErrNoBucket):
		return "the bucket does not exist"
	case errors.Is(err, objstore.ErrUnavailable):
		return "the store cannot be reached or is not ready"
	case errors.Is(err, objstore.ErrNotFound):
		return "the location does not exist"
	case errors.Is(err, objstore.ErrUnknown):
		return "the store did not confirm a write"
	}
	return "unexpected answer of the store"
}
