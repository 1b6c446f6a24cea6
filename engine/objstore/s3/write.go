package s3

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/remote"
)

// Put implements objstore.Bucket. A body is held in memory, one part at a time, so that a request
// can be retried and an invalid body leaves no trace.
func (b *Bucket) Put(ctx context.Context, name string, body io.Reader, size int64) error {
	if err := remote.Check(ctx, objstore.OpPut, name); err != nil {
		return err
	}
	source := objstore.Exactly(ctx, body, size)
	if size > b.limits.PartSize {
		return b.putParts(ctx, name, source, size)
	}
	content, err := io.ReadAll(source)
	if err != nil {
		return remote.Failed(objstore.OpPut, name, err)
	}
	_, err = write(ctx, objstore.OpPut, name, func(ctx context.Context) error {
		_, err := b.client.PutObject(ctx, &sdk.PutObjectInput{
			Bucket: &b.name, Key: &name, Body: bytes.NewReader(content), ContentLength: aws.Int64(size),
		})
		return err
	})
	return err
}

// PutIfAbsent implements objstore.Bucket. It is sent again only after a 409: a conflicting
// operation was running and this request had no effect.
func (b *Bucket) PutIfAbsent(ctx context.Context, name string, body []byte) error {
	if err := remote.Check(ctx, objstore.OpPutIfAbsent, name); err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		status, err := write(ctx, objstore.OpPutIfAbsent, name, func(ctx context.Context) error {
			_, err := b.client.PutObject(ctx, &sdk.PutObjectInput{
				Bucket: &b.name, Key: &name, IfNoneMatch: aws.String("*"),
				Body: bytes.NewReader(body), ContentLength: aws.Int64(int64(len(body))),
			}, once)
			return err
		})
		if status != http.StatusConflict || attempt == conflictAttempts {
			return err
		}
		if err := remote.Pause(ctx, attempt, b.limits.Backoff); err != nil {
			return remote.Failed(objstore.OpPutIfAbsent, name, err)
		}
	}
}

// conflictAttempts is the number of attempts after a 409. A contended name soon has a winner, and
// then the reply is 412.
const conflictAttempts = 8

// once disables the SDK's own retries.
func once(o *sdk.Options) { o.Retryer = aws.NopRetryer{} }

// Delete implements objstore.Bucket. It returns ErrUnknown if the reply was lost.
func (b *Bucket) Delete(ctx context.Context, name string) error {
	if err := remote.Check(ctx, objstore.OpDelete, name); err != nil {
		return err
	}
	_, err := write(ctx, objstore.OpDelete, name, func(ctx context.Context) error {
		_, err := b.client.DeleteObject(ctx, &sdk.DeleteObjectInput{Bucket: &b.name, Key: &name})
		return err
	})
	if errors.Is(err, objstore.ErrNotFound) {
		return nil
	}
	return err
}

func write(ctx context.Context, op objstore.Op, name string, do func(context.Context) error) (status int, _ error) {
	return remote.Write(ctx, op, name, translate, do)
}
