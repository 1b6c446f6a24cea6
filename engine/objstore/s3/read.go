package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// Get implements objstore.Bucket.
func (b *Bucket) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	out, err := b.get(ctx, objstore.OpGet, name, "")
	if err != nil {
		return nil, err
	}
	return b.open(ctx, objstore.OpGet, name, out, span{0, lengthOf(out)}), nil
}

// GetRange implements objstore.Bucket.
func (b *Bucket) GetRange(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	if length == 0 {
		// The protocol cannot express an empty range.
		_, err := b.Stat(ctx, name)
		return io.NopCloser(bytes.NewReader(nil)), err
	}
	out, err := b.get(ctx, objstore.OpGetRange, name, rangeHeader(offset, length))
	switch {
	case errors.Is(err, errBeyond):
		return io.NopCloser(bytes.NewReader(nil)), nil
	case err != nil:
		return nil, err
	}
	part, err := wanted(out, offset, length)
	if err != nil {
		out.Body.Close()
		return nil, failed(objstore.OpGetRange, name, err)
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
		if _, _, size, err = parseContentRange(*out.ContentRange); err != nil {
			return objstore.Object{}, failed(objstore.OpStat, name, err)
		}
		// A body that was read to its end makes its connection reusable.
		if _, err := io.CopyN(io.Discard, out.Body, 1); err != nil {
			return objstore.Object{}, failed(objstore.OpStat, name, translate(ctx, err, 0))
		}
	case size < 0:
		return objstore.Object{}, failed(objstore.OpStat, name, errNoLength)
	}
	return objstore.Object{Name: name, Size: size, ModTime: seconds(out.LastModified)}, nil
}

// head describes an object by HEAD. An empty object has no first byte.
func (b *Bucket) head(ctx context.Context, name string) (objstore.Object, error) {
	watch, fate := withFate(ctx)
	out, err := b.client.HeadObject(watch, &sdk.HeadObjectInput{Bucket: &b.name, Key: &name})
	if err != nil {
		return objstore.Object{}, failed(objstore.OpStat, name, translate(ctx, err, fate.lastStatus()))
	}
	return objstore.Object{Name: name, Size: aws.ToInt64(out.ContentLength), ModTime: seconds(out.LastModified)}, nil
}

// errBeyond: the object exists, but the range begins after its end.
var errBeyond = errors.New("range beyond the end")

func (b *Bucket) get(ctx context.Context, op objstore.Op, name, header string) (*sdk.GetObjectOutput, error) {
	if err := check(ctx, op, name); err != nil {
		return nil, err
	}
	in := &sdk.GetObjectInput{Bucket: &b.name, Key: &name}
	if header != "" {
		in.Range = &header
	}
	watch, fate := withFate(ctx)
	out, err := b.client.GetObject(watch, in)
	switch {
	case err == nil:
		return out, nil
	case fate.lastStatus() == http.StatusRequestedRangeNotSatisfiable && ctx.Err() == nil:
		return nil, errBeyond
	}
	return nil, failed(op, name, translate(ctx, err, fate.lastStatus()))
}

// lengthOf returns the length of the reply's body, or -1 if the store does not report it.
func lengthOf(out *sdk.GetObjectOutput) int64 {
	if out.ContentLength == nil {
		return -1
	}
	return *out.ContentLength
}

// errNoLength: the reply has neither a length nor a range.
var errNoLength = fmt.Errorf("%w: answers without a length", objstore.ErrUnavailable)

// check is called first in every operation on an object.
func check(ctx context.Context, op objstore.Op, name string) error {
	if err := objstore.ValidName(name); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return failed(op, name, err)
	}
	return nil
}

// rangeHeader requests the range, or more if the protocol cannot express it: a suffix always
// extends to the end.
func rangeHeader(offset, length int64) string {
	switch {
	case offset == math.MinInt64:
		return "bytes=-" + strconv.FormatInt(math.MaxInt64, 10)
	case offset < 0:
		return "bytes=" + strconv.FormatInt(offset, 10)
	case length < 0 || length > math.MaxInt64-offset:
		return fmt.Sprintf("bytes=%d-", offset)
	}
	return fmt.Sprintf("bytes=%d-%d", offset, offset+length-1)
}

// wanted returns the requested part of the object; the reply's body must begin with it.
func wanted(out *sdk.GetObjectOutput, offset, length int64) (span, error) {
	size := lengthOf(out)
	first, last := int64(0), size-1
	switch {
	case out.ContentRange != nil:
		var err error
		if first, last, size, err = parseContentRange(*out.ContentRange); err != nil {
			return span{}, err
		}
	case size < 0:
		return span{}, errNoLength
	}
	start, end := objstore.Range(size, offset, length)
	if start != first && start != end || last+1 < end {
		return span{}, errOtherRange
	}
	return span{start, end - start}, nil
}

// errOtherRange: the reply has a different range from the requested one.
var errOtherRange = fmt.Errorf("%w: answers with another range", objstore.ErrUnavailable)

// parseContentRange reads "bytes first-last/size".
func parseContentRange(header string) (first, last, size int64, err error) {
	span, total, _ := strings.Cut(strings.TrimPrefix(header, "bytes "), "/")
	from, to, _ := strings.Cut(span, "-")
	first, err1 := strconv.ParseInt(from, 10, 64)
	last, err2 := strconv.ParseInt(to, 10, 64)
	size, err3 := strconv.ParseInt(total, 10, 64)
	if errors.Join(err1, err2, err3) != nil || first < 0 || last < first || size <= last {
		return 0, 0, 0, fmt.Errorf("%w: unreadable range", objstore.ErrUnavailable)
	}
	return first, last, size, nil
}

func seconds(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Second)
}
