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
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/remote"
)

// maxParts is the protocol's limit.
const maxParts = 10_000

// abortTime bounds the removal of parts, which runs even if the caller's context has ended: parts
// of incomplete uploads cost money and no listing shows them.
const abortTime = 10 * time.Second

// putParts sends a large body. Nothing is visible before the last request, so every earlier failure
// means that nothing was written.
func (b *Bucket) putParts(ctx context.Context, name string, source *objstore.Source, size int64) error {
	return b.multipart(ctx, objstore.OpPut, name, []*string{nil}, func(upload *string) ([]types.CompletedPart, error) {
		return b.sendParts(ctx, name, upload, source, max(b.limits.PartSize, size/maxParts+1))
	})
}

// multipart writes an object from parts that send has sent, under the first condition that the store
// implements. It removes the parts on failure.
func (b *Bucket) multipart(ctx context.Context, op objstore.Op, name string, conditions []*string,
	send func(upload *string) ([]types.CompletedPart, error)) (err error) {
	watch, fate := remote.WithFate(ctx)
	upload, err := b.client.CreateMultipartUpload(watch, &sdk.CreateMultipartUploadInput{Bucket: &b.name, Key: &name})
	if err != nil {
		return remote.Failed(op, name, translate(ctx, err, fate.LastStatus()))
	}
	defer func() {
		if err != nil {
			b.abort(ctx, name, upload.UploadId)
		}
	}()
	parts, err := send(upload.UploadId)
	if err != nil {
		return remote.Failed(op, name, err)
	}
	for _, condition := range conditions {
		var status int
		status, err = write(ctx, op, name, func(ctx context.Context) error {
			_, err := b.client.CompleteMultipartUpload(ctx, &sdk.CompleteMultipartUploadInput{
				Bucket: &b.name, Key: &name, UploadId: upload.UploadId, IfNoneMatch: condition,
				MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
			})
			return err
		})
		if status != http.StatusNotImplemented {
			break
		}
	}
	return err
}

// sendParts sends the body and checks its size at its end.
func (b *Bucket) sendParts(ctx context.Context, name string, upload *string, source *objstore.Source,
	partSize int64) ([]types.CompletedPart, error) {
	var parts []types.CompletedPart
	buffer := make([]byte, partSize)
	for number := int32(1); ; number++ {
		n, err := io.ReadFull(source, buffer)
		switch {
		case source.Err() != nil:
			return nil, source.Err()
		case errors.Is(err, io.EOF):
			return parts, nil
		case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
			return nil, err
		}
		watch, fate := remote.WithFate(ctx)
		out, err := b.client.UploadPart(watch, &sdk.UploadPartInput{
			Bucket: &b.name, Key: &name, UploadId: upload, PartNumber: aws.Int32(number),
			Body: bytes.NewReader(buffer[:n]), ContentLength: aws.Int64(int64(n)),
		})
		if err != nil {
			return nil, translate(ctx, err, fate.LastStatus())
		}
		parts = append(parts, types.CompletedPart{ETag: out.ETag, PartNumber: aws.Int32(number)})
	}
}

// abort removes the parts. This is safe even after an unknown outcome: if the upload was completed,
// the request has no effect, and if it was not, it cannot be completed any more.
func (b *Bucket) abort(ctx context.Context, name string, upload *string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTime)
	defer cancel()
	// The error is ignored: the bucket's own rule for old uploads removes the parts.
	_, _ = b.client.AbortMultipartUpload(ctx, &sdk.AbortMultipartUploadInput{Bucket: &b.name, Key: &name, UploadId: upload})
}
