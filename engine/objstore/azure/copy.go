package azure

import (
	"context"
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/remote"
)

var _ objstore.Copier = (*Bucket)(nil)

// CopyFrom implements objstore.Copier between the containers of an account. The service copies in
// the background; the copy is polled until it has ended, and aborted if ctx ends first.
func (b *Bucket) CopyFrom(ctx context.Context, source objstore.Bucket, from objstore.Object, name string) (bool, error) {
	if err := check(ctx, objstore.OpCopy, name); err != nil {
		return false, err
	}
	origin, ok := source.(*Bucket)
	if !ok || origin.endpoint != b.endpoint {
		return false, nil
	}
	if err := valid(from.Name); err != nil {
		return false, remote.Failed(objstore.OpCopy, from.Name, err)
	}
	if origin.credential.SASToken == "" && !b.credential.same(origin.credential) {
		// The credential of this container may read more than the source's own. The signature of the
		// source, if there is one, is a part of its URL.
		if _, err := origin.Stat(ctx, from.Name); err != nil {
			return false, err
		}
	}
	target := b.client.NewBlobClient(name)
	var started blob.StartCopyFromURLResponse
	_, err := write(ctx, objstore.OpCopy, name, func(ctx context.Context) (err error) {
		// The URL of the source contains its signature, if its credential is one.
		started, err = target.StartCopyFromURL(once(ctx), origin.client.NewBlobClient(from.Name).URL(),
			&blob.StartCopyFromURLOptions{AccessConditions: ifAbsent()})
		return err
	})
	if err != nil {
		return false, err
	}
	if err := b.await(ctx, target, started); err != nil {
		return false, remote.Failed(objstore.OpCopy, name, err)
	}
	return true, nil
}

// await polls a copy until it has ended.
func (b *Bucket) await(ctx context.Context, target *blob.Client, started blob.StartCopyFromURLResponse) error {
	status := started.CopyStatus
	for attempt := 1; ; attempt++ {
		switch {
		case status == nil || *status == blob.CopyStatusTypeSuccess:
			return nil
		case *status != blob.CopyStatusTypePending:
			return fmt.Errorf("%w: copy ended as %s", objstore.ErrUnavailable, *status)
		}
		if err := remote.Pause(ctx, min(attempt, 10), b.limits.Backoff); err != nil {
			return b.abandon(ctx, target, started.CopyID)
		}
		watch, fate := remote.WithFate(ctx)
		found, err := target.GetProperties(watch, nil)
		if err != nil && ctx.Err() != nil {
			return b.abandon(ctx, target, started.CopyID)
		}
		if err != nil {
			// Not the error itself, which may promise that nothing was written.
			return fmt.Errorf("%w: copy is running: %s", objstore.ErrUnknown, translate(ctx, err, fate.LastStatus()).Error())
		}
		if started.CopyID != nil && found.CopyID != nil && *found.CopyID != *started.CopyID {
			return fmt.Errorf("%w: another copy replaced this one", objstore.ErrUnknown)
		}
		status = found.CopyStatus
	}
}

// abandonTime bounds the end of a copy, which runs although the caller's context has ended.
const abandonTime = 10 * time.Second

// abandon ends a copy whose caller has gone, so that it does not write later. The outcome is unknown
// in any case: the copy may have ended meanwhile.
func (b *Bucket) abandon(ctx context.Context, target *blob.Client, id *string) error {
	ended := fmt.Errorf("%w: %w", objstore.ErrUnknown, ctx.Err())
	if id == nil {
		return ended
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTime)
	defer cancel()
	_, _ = target.AbortCopyFromURL(ctx, *id, nil)
	return ended
}
