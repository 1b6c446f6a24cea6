package s3

import (
	"context"
	"errors"

	"github.com/aws/smithy-go"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/remote"
)

// translate maps an error of the SDK to those of objstore. It drops the SDK's text, which contains
// addresses and the store's message. status is that of the last reply; it decides if the body with
// the error code was lost.
func translate(ctx context.Context, err error, status int) error {
	code := ""
	var api smithy.APIError
	if errors.As(err, &api) {
		code = api.ErrorCode()
	}
	return remote.Classify(ctx, err, code, familyOf(code), status)
}

// familyOf maps an error code. It returns nil if the code is unknown.
func familyOf(code string) error {
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
	return nil
}
