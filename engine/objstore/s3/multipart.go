package s3

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// maxParts is the protocol's limit.
const maxParts = 10_000

// abortTime bounds the removal of parts, which happens even after the caller
// has gone: parts that nobody completes cost money and show up nowhere.
const abortTime = 10 * time.Second

// putParts sends a large body. Nothing is visible before the last request, so
// every failure up to there means that nothing was written.
func (b *Bucket) putParts(ctx context.Context, name string, source *objstore.Source, size int64) (err error) {
	watch, fate := withFate(ctx)
	upload, err := b.client.CreateMultipartUpload(watch, &sdk.CreateMultipartUploadInput{Bucket: &b.name, Key: &name})
	if err != nil {
		return failed(objstore.OpPut, name, translate(ctx, err, fate.lastStatus()))
	}
	defer func() {
		if err != nil {
			b.abort(ctx, name, upload.UploadId)
		}
	}()
	parts, err := b.sendParts(ctx, name, upload.UploadId, source, max(b.limits.PartSize, size/maxParts+1))
	if err != nil {
		return failed(objstore.OpPut, name, err)
	}
	_, err = write(ctx, objstore.OpPut, name, func(ctx context.Context) error {
		_, err := b.client.CompleteMultipartUpload(ctx, &sdk.CompleteMultipartUploadInput{
			Bucket: &b.name, Key: &name, UploadId: upload.UploadId, MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
		})
		return err
	})
	return err
}

// sendParts sends the body up to its end, which proves its size.
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
		watch, fate := withFate(ctx)
		out, err := b.client.UploadPart(watch, &sdk.UploadPartInput{
			Bucket: &b.name, Key: &name, UploadId: upload, PartNumber: aws.Int32(number),
			Body: bytes.NewReader(buffer[:n]), ContentLength: aws.Int64(int64(n)),
		})
		if err != nil {
			return nil, translate(ctx, err, fate.lastStatus())
		}
		parts = append(parts, types.CompletedPart{ETag: out.ETag, PartNumber: aws.Int32(number)})
	}
}

// abort removes the parts. After an unknown outcome that is safe too: an upload
// that was completed is gone and the request finds nothing, and one that was not
// can then not be completed any more.
func (b *Bucket) abort(ctx context.Context, name string, upload *string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTime)
	defer cancel()
	// Nothing is left to tell; the bucket's own rule for old uploads takes over.
	_, _ = b.client.AbortMultipartUpload(ctx, &sdk.AbortMultipartUploadInput{Bucket: &b.name, Key: &name, UploadId: upload})
}
