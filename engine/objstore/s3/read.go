package s3

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/remote"
)

// Get implements objstore.Bucket.
func (b *Bucket) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	out, err := b.get(ctx, objstore.OpGet, name, "")
	if err != nil {
		return nil, err
	}
	return b.open(ctx, objstore.OpGet, name, out, remote.Span{Length: lengthOf(out)}), nil
}

// GetRange implements objstore.Bucket.
func (b *Bucket) GetRange(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	if length == 0 {
		// The protocol cannot express an empty range.
		_, err := b.Stat(ctx, name)
		return io.NopCloser(bytes.NewReader(nil)), err
	}
	out, err := b.get(ctx, objstore.OpGetRange, name, remote.RangeHeader(offset, length))
	switch {
	case errors.Is(err, errBeyond):
		return io.NopCloser(bytes.NewReader(nil)), nil
	case err != nil:
		return nil, err
	}
	part, err := wanted(out, offset, length)
	if err != nil {
		out.Body.Close()
		return nil, remote.Failed(objstore.OpGetRange, name, err)
	}
	return b.open(ctx, objstore.OpGetRange, name, out, part), nil
}

// Stat implements objstore.Bucket. It requests the first byte: a reply without a body, as to HEAD,
// does not distinguish a missing object from a missing bucket.
func (b *Bucket) Stat(ctx context.Context, name string) (objstore.Object, error) {
	out, err := b.get(ctx, objstore.OpStat, name, "bytes=0-0")
	if errors.Is(err, errBeyond) {
		return b.head(ctx, name)
	}
	if err != nil {
		return objstore.Object{}, err
	}
	defer out.Body.Close()
	size := lengthOf(out)
	switch {
	case out.ContentRange != nil:
		if _, _, size, err = remote.ParseContentRange(*out.ContentRange); err != nil {
			return objstore.Object{}, remote.Failed(objstore.OpStat, name, err)
		}
		// A body that was read to its end makes its connection reusable.
		if _, err := io.CopyN(io.Discard, out.Body, 1); err != nil {
			return objstore.Object{}, remote.Failed(objstore.OpStat, name, translate(ctx, err, 0))
		}
	case size < 0:
		return objstore.Object{}, remote.Failed(objstore.OpStat, name, remote.ErrNoLength)
	}
	return objstore.Object{Name: name, Size: size, ModTime: seconds(out.LastModified)}, nil
}

// head describes an object by HEAD. An empty object has no first byte.
func (b *Bucket) head(ctx context.Context, name string) (objstore.Object, error) {
	watch, fate := remote.WithFate(ctx)
	out, err := b.client.HeadObject(watch, &sdk.HeadObjectInput{Bucket: &b.name, Key: &name})
	if err != nil {
		return objstore.Object{}, remote.Failed(objstore.OpStat, name, translate(ctx, err, fate.LastStatus()))
	}
	return objstore.Object{Name: name, Size: aws.ToInt64(out.ContentLength), ModTime: seconds(out.LastModified)}, nil
}

// errBeyond: the object exists, but the range begins after its end.
var errBeyond = errors.New("range beyond the end")

func (b *Bucket) get(ctx context.Context, op objstore.Op, name, header string) (*sdk.GetObjectOutput, error) {
	if err := remote.Check(ctx, op, name); err != nil {
		return nil, err
	}
	in := &sdk.GetObjectInput{Bucket: &b.name, Key: &name}
	if header != "" {
		in.Range = &header
	}
	watch, fate := remote.WithFate(ctx)
	out, err := b.client.GetObject(watch, in)
	switch {
	case err == nil:
		return out, nil
	case fate.LastStatus() == http.StatusRequestedRangeNotSatisfiable && ctx.Err() == nil:
		return nil, errBeyond
	}
	return nil, remote.Failed(op, name, translate(ctx, err, fate.LastStatus()))
}

// lengthOf returns the length of the reply's body, or -1 if the store does not report it.
func lengthOf(out *sdk.GetObjectOutput) int64 {
	if out.ContentLength == nil {
		return -1
	}
	return *out.ContentLength
}

// wanted returns the requested part of the object; the reply's body must begin with it.
func wanted(out *sdk.GetObjectOutput, offset, length int64) (remote.Span, error) {
	return remote.Wanted(aws.ToString(out.ContentRange), lengthOf(out), offset, length)
}

// open returns the body of a reply.
func (b *Bucket) open(ctx context.Context, op objstore.Op, name string, out *sdk.GetObjectOutput, part remote.Span) io.ReadCloser {
	body := remote.Body{Op: op, Name: name, Inner: out.Body, Rest: part, Tries: b.limits.Attempts - 1, Translate: translate}
	if out.ETag != nil {
		body.Reopen = func(ctx context.Context, rest remote.Span) (io.ReadCloser, remote.Span, error) {
			again, err := b.client.GetObject(ctx, &sdk.GetObjectInput{
				Bucket: &b.name, Key: &name, IfMatch: out.ETag, Range: aws.String(remote.RangeHeader(rest.Start, rest.Length)),
			})
			if err != nil {
				return nil, remote.Span{}, err
			}
			part, err := wanted(again, rest.Start, rest.Length)
			if err != nil {
				again.Body.Close()
			}
			return again.Body, part, err
		}
	}
	return body.Open(ctx)
}

func seconds(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Second)
}
