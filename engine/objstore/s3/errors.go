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

// failed adds what was done and on what.
func failed(op objstore.Op, name string, err error) error {
	return fmt.Errorf("%s %q: %w", op, name, err)
}

// translate maps an error of the SDK to those of objstore. The SDK's text is
// dropped: it holds addresses and what the store said. status is that of the
// last reply; it counts where the body that names the code was lost.
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

// familyOf decides by code first, by status where the code is unknown. Nil
// means that no reply says anything.
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

// suffix is a code fit for an error text: a word of letters, nothing else that
// a store may have put there.
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

// network says in our words what happened to a connection.
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
