package gcs

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"google.golang.org/api/googleapi"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/remote"
)

// translate maps an error of the SDK to those of objstore. It drops the SDK's text, which contains
// addresses and the store's message. status is that of the last reply; it decides if the body with
// the reason was lost.
func translate(ctx context.Context, err error, status int) error {
	reason := reasonOf(err)
	return remote.Classify(ctx, err, reason, familyOf(reason), status)
}

// inBucket is translate for requests that cannot miss an object.
func inBucket(ctx context.Context, err error, status int) error {
	if err = translate(ctx, err, status); errors.Is(err, objstore.ErrNotFound) {
		return objstore.ErrNoBucket
	}
	return err
}

func reasonOf(err error) string {
	var reply *googleapi.Error
	if errors.As(err, &reply) && len(reply.Errors) > 0 {
		return reply.Errors[0].Reason
	}
	return ""
}

// familyOf maps a reason. It returns nil if the status decides.
func familyOf(reason string) error {
	switch reason {
	case "rateLimitExceeded", "userRateLimitExceeded", "quotaExceeded", "backendError":
		return objstore.ErrUnavailable
	case "authError", "expired":
		return objstore.ErrCredential
	}
	return nil
}

// missing distinguishes an object that does not exist from a bucket: both have the same status and
// reason. The store's message decides only that it is the object; else the bucket is listed.
func (b *Bucket) missing(ctx context.Context, cause, err error) error {
	var reply *googleapi.Error
	if !errors.Is(err, objstore.ErrNotFound) || errors.As(cause, &reply) && strings.HasPrefix(reply.Message, "No such object") {
		return err
	}
	if _, failure := b.page(ctx, "", objstore.ListOptions{}, "", 1); failure != nil {
		return failure
	}
	return err
}

// checkResponse returns the error of a reply that was requested without the SDK, and closes it then.
func checkResponse(reply *http.Response) error {
	err := googleapi.CheckResponse(reply)
	if err == nil && reply.StatusCode >= 300 {
		err = &googleapi.Error{Code: reply.StatusCode}
	}
	if err != nil {
		reply.Body.Close()
	}
	return err
}
