package gcs

import (
	"context"
	"encoding/binary"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

var _ objstore.Summer = (*Bucket)(nil)

// Sums implements objstore.Summer.
func (b *Bucket) Sums(ctx context.Context, name string) (objstore.Sums, error) {
	found, err := b.attributes(ctx, name)
	if err != nil {
		return objstore.Sums{}, err
	}
	sums := objstore.Sums{CRC32C: binary.BigEndian.AppendUint32(nil, found.CRC32C)}
	if len(found.MD5) > 0 { // composite objects have none
		sums.MD5 = found.MD5
	}
	return sums, nil
}
