package objstore

import (
	"errors"
	"fmt"
)

// Errors of a Bucket; test with errors.Is. An error that matches neither these nor a context error
// is a defect of the body that was passed in, or of this module.
var (
	// ErrNotFound: the object does not exist. Not retried.
	ErrNotFound = errors.New("object not found")
	// ErrExists: PutIfAbsent lost; the object existed before. Not retried.
	ErrExists = errors.New("object exists")
	// ErrUnknown: the outcome of a write is not known; it may have landed. The
	// caller reads the object back before it does anything else.
	ErrUnknown = errors.New("outcome of write unknown")
	// ErrDenied: the credential, the file mode or a link that leads outside the
	// root refuses the operation. Not retried.
	ErrDenied = errors.New("access to object denied")
	// ErrCredential is the ErrDenied for a credential that the store does not accept at all:
	// unknown, expired or wrongly signed. Not retried.
	ErrCredential = fmt.Errorf("%w: credential not accepted", ErrDenied)
	// ErrUnavailable: the store cannot be reached, is full or is throttling;
	// nothing was written. Retry later.
	ErrUnavailable = errors.New("object store unavailable")
	// ErrNoBucket is the ErrUnavailable for a store that has no such bucket: its objects are
	// unavailable, not missing.
	ErrNoBucket = fmt.Errorf("%w: no such bucket", ErrUnavailable)
	// ErrInvalidName: ValidName refuses the name, or the store cannot hold it (it is too long, or
	// an object exists where a real folder is needed). Not retried.
	ErrInvalidName = errors.New("invalid object name")
	// ErrSize: the body of a Put was shorter or longer than announced; nothing
	// was written. Not retried.
	ErrSize = errors.New("body does not have the announced size")
)
