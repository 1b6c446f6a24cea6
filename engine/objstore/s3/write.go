package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// Put implements objstore.Bucket. A body is held in memory, one part at a time, so that a request
// can be retried and an invalid body leaves no trace.
func (b *Bucket) Put(ctx context.Context, name string, body io.Reader, size int64) error {
	if err := check(ctx, objstore.OpPut, name); err != nil {
		return err
	}
	source := objstore.Exactly(ctx, body, size)
	if size > b.limits.PartSize {
		return b.putParts(ctx, name, source, size)
	}
	content, err := io.ReadAll(source)
	if err != nil {
		return failed(objstore.OpPut, name, err)
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
	if err := check(ctx, objstore.OpPutIfAbsent, name); err != nil {
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
		if err := pause(ctx, attempt, b.limits.Backoff); err != nil {
			return failed(objstore.OpPutIfAbsent, name, err)
		}
	}
}

// conflictAttempts is the number of attempts after a 409. A contended name soon has a winner, and
// then the reply is 412.
const conflictAttempts = 8

// once disables the SDK's own retries.
func once(o *sdk.Options) { o.Retryer = aws.NopRetryer{} }

// pause waits before the next attempt, for a random time. Its maximum doubles with every attempt, up to
// most.
func pause(ctx context.Context, attempt int, most time.Duration) error {
	wait := min(most, 5*time.Millisecond<<attempt)
	timer := time.NewTimer(rand.N(wait))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Delete implements objstore.Bucket. It returns ErrUnknown if the reply was lost.
func (b *Bucket) Delete(ctx context.Context, name string) error {
	if err := check(ctx, objstore.OpDelete, name); err != nil {
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

// write runs a request that changes something and distinguishes its three outcomes. An attempt that
// may have taken effect makes the outcome unknown, even if a later one was refused. status is that
// of a refusal, else 0.
func write(ctx context.Context, op objstore.Op, name string, do func(context.Context) error) (status int, _ error) {
	watch, fate := withFate(ctx)
	err := do(watch)
	if err == nil {
		return 0, nil
	}
	if !fate.mayHaveLanded() {
		return fate.lastStatus(), failed(op, name, translate(ctx, err, fate.lastStatus()))
	}
	if ctxErr := ctx.Err(); ctxErr != nil {
		return 0, failed(op, name, fmt.Errorf("%w: %w", objstore.ErrUnknown, ctxErr))
	}
	// The cause is not wrapped: its kind may promise that nothing was written.
	return 0, failed(op, name, fmt.Errorf("%w: %s", objstore.ErrUnknown, cause(err, fate.lastStatus())))
}

func cause(err error, status int) string {
	if status != 0 {
		return fmt.Sprintf("%d %s", status, http.StatusText(status))
	}
	return network(err)
}
