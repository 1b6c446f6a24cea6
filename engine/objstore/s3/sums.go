package s3

import (
	"context"
	"encoding/hex"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/remote"
)

var _ objstore.Summer = (*Bucket)(nil)

// Sums implements objstore.Summer. The entity tag of an object is its MD5, unless the object was
// written in parts or the store encrypts it with a key of its own.
func (b *Bucket) Sums(ctx context.Context, name string) (objstore.Sums, error) {
	if err := remote.Check(ctx, objstore.OpStat, name); err != nil {
		return objstore.Sums{}, err
	}
	watch, fate := remote.WithFate(ctx)
	out, err := b.client.HeadObject(watch, &sdk.HeadObjectInput{Bucket: &b.name, Key: &name})
	if err != nil {
		return objstore.Sums{}, remote.Failed(objstore.OpStat, name, translate(ctx, err, fate.LastStatus()))
	}
	if out.ServerSideEncryption != "" && out.ServerSideEncryption != types.ServerSideEncryptionAes256 {
		return objstore.Sums{}, nil
	}
	return tagged(out.ETag), nil
}

// tagged returns the checksum that an entity tag is, if its form is that of an MD5.
func tagged(tag *string) objstore.Sums {
	sum, err := hex.DecodeString(strings.Trim(aws.ToString(tag), `"`))
	if err != nil || len(sum) != 16 {
		return objstore.Sums{} // another kind of tag
	}
	return objstore.Sums{MD5: sum}
}
