package s3

import (
	"context"
	"iter"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/remote"
)

// List implements objstore.Bucket.
func (b *Bucket) List(ctx context.Context, prefix string, opts objstore.ListOptions) iter.Seq2[objstore.Object, error] {
	in := sdk.ListObjectsV2Input{Bucket: &b.name, Prefix: &prefix, EncodingType: types.EncodingTypeUrl}
	if opts.Shallow {
		in.Delimiter = aws.String("/")
	}
	if opts.StartAfter != "" {
		in.StartAfter = &opts.StartAfter
	}
	return remote.List(ctx, prefix, opts, func(ctx context.Context, token string) (remote.Page, error) {
		in := in
		if token != "" {
			in.ContinuationToken = &token
		}
		watch, fate := remote.WithFate(ctx)
		page, err := b.client.ListObjectsV2(watch, &in)
		if err != nil {
			return remote.Page{}, translate(ctx, err, fate.LastStatus())
		}
		objects, err := entries(page)
		return remote.Page{Objects: objects, More: aws.ToBool(page.IsTruncated), Next: aws.ToString(page.NextContinuationToken)}, err
	})
}

// entries returns the objects and the folders of a page. The page is URL-encoded, because XML cannot
// represent every name.
func entries(page *sdk.ListObjectsV2Output) ([]objstore.Object, error) {
	all := make([]objstore.Object, 0, len(page.Contents)+len(page.CommonPrefixes))
	for _, o := range page.Contents {
		name, err := decoded(page.EncodingType, o.Key)
		if err != nil {
			return nil, err
		}
		all = append(all, objstore.Object{Name: name, Size: aws.ToInt64(o.Size), ModTime: seconds(o.LastModified), Sums: tagged(o.ETag)})
	}
	for _, p := range page.CommonPrefixes {
		name, err := decoded(page.EncodingType, p.Prefix)
		if err != nil {
			return nil, err
		}
		all = append(all, objstore.Object{Name: name})
	}
	return all, nil
}
