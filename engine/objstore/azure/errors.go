package azure

import (
	"bytes"
	"context"
	"errors"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/remote"
)

// translate maps an error of the SDK to those of objstore. It drops the SDK's text, which contains
// addresses and the store's message. status is that of the last reply; it decides if the code was
// lost.
func translate(ctx context.Context, err error, status int) error {
	var response *azcore.ResponseError
	if !errors.As(err, &response) {
		return remote.Classify(ctx, err, "", nil, status)
	}
	code := bloberror.Code(response.ErrorCode)
	if code == bloberror.AuthorizationFailure && unauthenticated(response.RawResponse) {
		code = bloberror.AuthenticationFailed
	}
	return remote.Classify(ctx, err, string(code), familyOf(code), status)
}

// unauthenticated distinguishes a wrong signature from a missing permission by the store's message:
// some services send the same code for both.
func unauthenticated(reply *http.Response) bool {
	body, err := runtime.Payload(reply)
	return err == nil && bytes.Contains(body, []byte("Server failed to authenticate the request"))
}

// familyOf maps an error code. It returns nil if the code is unknown.
func familyOf(code bloberror.Code) error {
	switch code {
	case bloberror.BlobNotFound, bloberror.ResourceNotFound:
		return objstore.ErrNotFound
	case bloberror.ContainerNotFound, bloberror.ContainerBeingDeleted, bloberror.ContainerDisabled:
		return objstore.ErrNoBucket
	case bloberror.BlobAlreadyExists:
		return objstore.ErrExists
	case bloberror.InvalidResourceName, bloberror.InvalidURI, bloberror.RequestURLFailedToParse,
		"PathConflict", "ResourceTypeMismatch": // a folder has the name, in an account with folders
		return objstore.ErrInvalidName
	case bloberror.AuthenticationFailed, bloberror.InvalidAuthenticationInfo, bloberror.NoAuthenticationInformation:
		return objstore.ErrCredential
	case bloberror.AuthorizationFailure, bloberror.AuthorizationPermissionMismatch, bloberror.AuthorizationProtocolMismatch,
		bloberror.AuthorizationResourceTypeMismatch, bloberror.AuthorizationServiceMismatch, bloberror.AuthorizationSourceIPMismatch,
		bloberror.InsufficientAccountPermissions, bloberror.AccountIsDisabled, bloberror.BlobImmutableDueToPolicy,
		bloberror.LeaseIDMissing:
		return objstore.ErrDenied
	case bloberror.ServerBusy:
		return objstore.ErrUnavailable
	}
	return nil
}
