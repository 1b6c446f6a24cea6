package azure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/remote"
)

// Get implements objstore.Bucket.
func (b *Bucket) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	return b.read(ctx, objstore.OpGet, name, 0, -1, nil)
}

// GetRange implements objstore.Bucket. The protocol has no ranges that count from the end: for those
// the size is requested first.
func (b *Bucket) GetRange(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	if offset >= 0 && length != 0 {
		return b.read(ctx, objstore.OpGetRange, name, offset, length, nil)
	}
	for attempt := 1; ; attempt++ {
		found, err := b.properties(ctx, objstore.OpGetRange, name)
		if err != nil {
			return nil, err
		}
		start, end := objstore.Range(*found.ContentLength, offset, length)
		if start == end {
			return io.NopCloser(bytes.NewReader(nil)), nil
		}
		body, err := b.read(ctx, objstore.OpGetRange, name, start, end-start, found.ETag)
		if !errors.Is(err, objstore.ErrExists) {
			return body, err
		}
		// The object has been replaced since its size was requested.
		if attempt == b.limits.Attempts {
			return nil, remote.Failed(objstore.OpGetRange, name, errReplaced)
		}
	}
}

// Stat implements objstore.Bucket.
func (b *Bucket) Stat(ctx context.Context, name string) (objstore.Object, error) {
	found, err := b.properties(ctx, objstore.OpStat, name)
	if err != nil {
		return objstore.Object{}, err
	}
	return objstore.Object{Name: name, Size: *found.ContentLength, ModTime: seconds(found.LastModified)}, nil
}

// properties describes an object. The reply has a length.
func (b *Bucket) properties(ctx context.Context, op objstore.Op, name string) (blob.GetPropertiesResponse, error) {
	if err := check(ctx, op, name); err != nil {
		return blob.GetPropertiesResponse{}, err
	}
	watch, fate := remote.WithFate(ctx)
	found, err := b.client.NewBlobClient(name).GetProperties(watch, nil)
	switch {
	case err != nil:
		err = translate(ctx, err, fate.LastStatus())
	case found.ContentLength == nil:
		err = remote.ErrNoLength
	case folder(found.Metadata):
		err = objstore.ErrNotFound
	default:
		return found, nil
	}
	return blob.GetPropertiesResponse{}, remote.Failed(op, name, err)
}

// read opens a part of an object. If tag is not nil, the object must have it, else the error is
// ErrExists.
func (b *Bucket) read(ctx context.Context, op objstore.Op, name string, offset, length int64, tag *azcore.ETag) (io.ReadCloser, error) {
	if err := check(ctx, op, name); err != nil {
		return nil, err
	}
	watch, fate := remote.WithFate(ctx)
	out, part, err := b.download(watch, name, offset, length, tag)
	switch {
	case err == nil:
	case fate.LastStatus() == http.StatusRequestedRangeNotSatisfiable && ctx.Err() == nil:
		return io.NopCloser(bytes.NewReader(nil)), nil
	case errors.Is(err, objstore.ErrUnavailable):
		return nil, remote.Failed(op, name, err)
	default:
		return nil, remote.Failed(op, name, translate(ctx, err, fate.LastStatus()))
	}
	body := remote.Body{Op: op, Name: name, Inner: out.Body, Rest: part, Tries: b.limits.Attempts - 1, Translate: translate}
	if out.ETag != nil {
		body.Reopen = func(ctx context.Context, rest remote.Span) (io.ReadCloser, remote.Span, error) {
			again, part, err := b.download(ctx, name, rest.Start, rest.Length, out.ETag)
			return again.Body, part, err
		}
	}
	return body.Open(ctx), nil
}

// download requests a part of an object and returns which part the reply has. On error the reply is
// closed.
func (b *Bucket) download(ctx context.Context, name string, offset, length int64, tag *azcore.ETag) (
	out blob.DownloadStreamResponse, part remote.Span, err error) {
	options := &blob.DownloadStreamOptions{}
	if offset > 0 || length >= 0 {
		options.Range = blob.HTTPRange{Offset: offset}
		// A count that leads beyond the largest offset means the same as none, which is 0.
		if length >= 0 && offset+length > 0 {
			options.Range.Count = length
		}
	}
	if tag != nil {
		options.AccessConditions = &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfMatch: tag}}
	}
	if out, err = b.client.NewBlobClient(name).DownloadStream(ctx, options); err != nil {
		return out, remote.Span{}, err
	}
	size := int64(-1)
	if out.ContentLength != nil {
		size = *out.ContentLength
	}
	span := ""
	if out.ContentRange != nil {
		span = *out.ContentRange
	}
	switch {
	case size < 0 && span == "" && offset == 0 && length < 0:
		return out, remote.Span{Length: -1}, nil // a whole object of unknown length
	case size == 0 && beyond(span, offset):
		return out, remote.Span{}, nil
	}
	if part, err = remote.Wanted(span, size, offset, length); err != nil {
		out.Body.Close()
	}
	return out, part, err
}

// beyond reports whether a reply's range says that the object ends before the offset. Some services
// answer so instead of refusing the range.
func beyond(span string, offset int64) bool {
	_, total, _ := strings.Cut(span, "/")
	size, err := strconv.ParseInt(total, 10, 64)
	return err == nil && size >= 0 && size <= offset
}

// errReplaced: the object changed between two requests, several times.
var errReplaced = fmt.Errorf("%w: object is replaced all the time", objstore.ErrUnavailable)

// maxSegments is the protocol's limit.
const maxSegments = 254

// check is called first in every operation on an object.
func check(ctx context.Context, op objstore.Op, name string) error {
	if err := remote.Check(ctx, op, name); err != nil {
		return err
	}
	if err := valid(name); err != nil {
		return remote.Failed(op, name, err)
	}
	return nil
}

// valid refuses names that the service changes: it takes a backslash for a slash.
func valid(name string) error {
	if strings.Contains(name, `\`) {
		return fmt.Errorf("%w: backslash", objstore.ErrInvalidName)
	}
	if strings.Count(name, "/") >= maxSegments {
		return fmt.Errorf("%w: more than %d segments", objstore.ErrInvalidName, maxSegments)
	}
	return nil
}

func seconds(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Second)
}

// folder reports whether an object stands for a folder, in an account with real ones.
func folder(metadata map[string]*string) bool {
	for key, value := range metadata {
		if http.CanonicalHeaderKey(key) == "Hdi_isfolder" && value != nil && *value == "true" {
			return true
		}
	}
	return false
}

// ifAbsent is the condition that an object does not exist.
func ifAbsent() *blob.AccessConditions {
	return &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: to.Ptr(azcore.ETagAny)}}
}
