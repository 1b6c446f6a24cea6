package azure

import (
	"context"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

var _ objstore.Summer = (*Bucket)(nil)

// Sums implements objstore.Summer. The service computes the MD5 of an object that is written by one
// request. That of an object of blocks is the writer's; see putBlocks.
func (b *Bucket) Sums(ctx context.Context, name string) (objstore.Sums, error) {
	found, err := b.properties(ctx, objstore.OpStat, name)
	if err != nil || len(found.ContentMD5) == 0 {
		return objstore.Sums{}, err
	}
	return objstore.Sums{MD5: found.ContentMD5}, nil
}
