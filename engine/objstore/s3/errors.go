package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/aws/smithy-go"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// failed adds the operation and the name to an error.
func failed(op objstore.Op, name string, err error) error {
	return fmt.Errorf("%s %q: %w", op, name, err)
}

// translate maps an error of the SDK to those of objstore. It drops the SDK's text, which contains
// addresses and the store's message. status is that of the last reply; it decides if the body with
// the error code was lost.
func translate(ctx context.Context, err error, status int) error {
	if ctxErr := ctx.Err(); ctxErr != nil {
		return ctxErr
	}
	code := ""
	var api smithy.APIError
	if errors.As(err, &api) {
		code = api.ErrorCode()
	}
	if family := familyOf(code, status); family != nil {
		return fmt.Errorf("%w (%d%s)", family, status, suffix(code))
	}
	return fmt.Errorf("%w: %s", objstore.ErrUnavailable, network(err))
}

// familyOf maps an error code or, if the code is unknown, a status. It returns nil if neither is
// known.
func familyOf(code string, status int) error {
	switch code {
	case "NoSuchKey", "NotFound":
		return objstore.ErrNotFound
	case "NoSuchBucket":
		return objstore.ErrNoBucket
	case "NoSuchUpload", "SlowDown", "PermanentRedirect", "RequestTimeTooSkewed":
		return objstore.ErrUnavailable
	case "PreconditionFailed":
		return objstore.ErrExists
	case "KeyTooLongError", "InvalidURI", "ObjectParentIsFile", "ExistingObjectIsDirectory", "DirectoryObjectContainsData":
		return objstore.ErrInvalidName
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "TokenRefreshRequired",
		"InvalidSecurity", "InvalidClientTokenId", "UnrecognizedClientException", "ExpiredTokenException", "AuthorizationHeaderMalformed":
		return objstore.ErrCredential
	case "AccessDenied", "AllAccessDisabled", "AccountProblem", "MethodNotAllowed", "ObjectLocked":
		return objstore.ErrDenied
	}
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

// suffix returns a code for an error text if it consists of letters only, because a store can send
// anything.
func suffix(code string) string {
	if code == "" || len(code) > 40 {
		return ""
	}
	for _, c := range code {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return ""
		}
	}
	return " " + code
}

// network describes a connection failure in this package's own words.
func network(err error) string {
	var dial *net.OpError
	switch {
	case isTimeout(err):
		return "no answer in time"
	case errors.As(err, &dial) && dial.Op == "dial":
		return "cannot connect"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection lost"
	}
	return "unreadable answer"
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
