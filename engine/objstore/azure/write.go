package azure

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // see stage
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc64"
	"io"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/remote"
)

// Put implements objstore.Bucket. A body is held in memory, one part at a time, so that a request
// can be retried and an invalid body leaves no trace.
func (b *Bucket) Put(ctx context.Context, name string, body io.Reader, size int64) error {
	if err := check(ctx, objstore.OpPut, name); err != nil {
		return err
	}
	source := objstore.Exactly(ctx, body, size)
	if size > b.limits.PartSize {
		return b.putBlocks(ctx, name, source, size)
	}
	content, err := io.ReadAll(source)
	if err != nil {
		return remote.Failed(objstore.OpPut, name, err)
	}
	_, err = write(ctx, objstore.OpPut, name, func(ctx context.Context) error {
		_, err := b.client.NewBlockBlobClient(name).Upload(ctx, reader(content), nil)
		return err
	})
	return err
}

// PutIfAbsent implements objstore.Bucket. It is sent again only if the store had too many requests
// to take this one.
func (b *Bucket) PutIfAbsent(ctx context.Context, name string, body []byte) error {
	if err := check(ctx, objstore.OpPutIfAbsent, name); err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		status, err := write(ctx, objstore.OpPutIfAbsent, name, func(ctx context.Context) error {
			options := &blockblob.UploadOptions{AccessConditions: ifAbsent()}
			_, err := b.client.NewBlockBlobClient(name).Upload(once(ctx), reader(body), options)
			return err
		})
		if status != http.StatusTooManyRequests || attempt >= b.limits.Attempts {
			return err
		}
		if err := remote.Pause(ctx, attempt, b.limits.Backoff); err != nil {
			return remote.Failed(objstore.OpPutIfAbsent, name, err)
		}
	}
}

// once disables the SDK's own retries.
func once(ctx context.Context) context.Context {
	return policy.WithRetryOptions(ctx, policy.RetryOptions{MaxRetries: -1})
}

// reader returns content as the SDK sends it.
func reader(content []byte) io.ReadSeekCloser { return streaming.NopCloser(bytes.NewReader(content)) }

// Delete implements objstore.Bucket, snapshots included. It returns ErrUnknown if the reply was
// lost.
func (b *Bucket) Delete(ctx context.Context, name string) error {
	if err := check(ctx, objstore.OpDelete, name); err != nil {
		return err
	}
	_, err := write(ctx, objstore.OpDelete, name, func(ctx context.Context) error {
		options := &blob.DeleteOptions{DeleteSnapshots: to.Ptr(blob.DeleteSnapshotsOptionTypeInclude)}
		_, err := b.client.NewBlobClient(name).Delete(ctx, options)
		return err
	})
	if errors.Is(err, objstore.ErrNotFound) {
		return nil
	}
	return err
}

// maxBlocks is the protocol's limit.
const maxBlocks = 50_000

// putBlocks sends a large body. Nothing is visible before the last request, so every earlier failure
// means that nothing was written.
func (b *Bucket) putBlocks(ctx context.Context, name string, source *objstore.Source, size int64) error {
	target := b.client.NewBlockBlobClient(name)
	blocks, sum, err := b.stage(ctx, target, source, max(b.limits.PartSize, size/maxBlocks+1))
	if err != nil {
		return remote.Failed(objstore.OpPut, name, err)
	}
	_, err = write(ctx, objstore.OpPut, name, func(ctx context.Context) error {
		_, err := target.CommitBlockList(ctx, blocks, &blockblob.CommitBlockListOptions{HTTPHeaders: &blob.HTTPHeaders{BlobContentMD5: sum}})
		return err
	})
	return err
}

// stage sends the body as blocks and checks its size at its end. Concurrent writers of an object have
// distinct blocks. The service verifies the checksum of each block but computes none of the whole, so
// stage returns its MD5.
func (b *Bucket) stage(ctx context.Context, target *blockblob.Client, source *objstore.Source, blockSize int64) (
	blocks []string, sum []byte, _ error) {
	upload := uuid.New()
	whole := md5.New() //nolint:gosec // the checksum of the protocol
	buffer := make([]byte, blockSize)
	for number := uint32(0); ; number++ {
		n, err := io.ReadFull(source, buffer)
		switch {
		case source.Err() != nil:
			return nil, nil, source.Err()
		case errors.Is(err, io.EOF):
			return blocks, whole.Sum(nil), nil
		case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
			return nil, nil, err
		}
		whole.Write(buffer[:n])
		id := blockID(upload, number)
		watch, fate := remote.WithFate(ctx)
		_, err = target.StageBlock(watch, id, reader(buffer[:n]), &blockblob.StageBlockOptions{
			TransactionalValidation: blob.TransferValidationTypeCRC64(crc64.Checksum(buffer[:n], blockSums)),
		})
		if err != nil {
			return nil, nil, translate(ctx, err, fate.LastStatus())
		}
		blocks = append(blocks, id)
	}
}

// blockSums is the table of the service's checksums of 64 bits.
var blockSums = crc64.MakeTable(0x9A6C9329AC4BC9B5)

// blockID names a block. The names of all blocks of an object must have the same length.
func blockID(upload uuid.UUID, number uint32) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(upload[:], number))
}

// write runs a request that changes something.
func write(ctx context.Context, op objstore.Op, name string, do func(context.Context) error) (status int, _ error) {
	return remote.Write(ctx, op, name, translate, do)
}
