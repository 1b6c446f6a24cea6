package s3

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// List implements objstore.Bucket. It omits names that objstore.ValidName refuses (for example
// folder markers of consoles), because they cannot be requested. A store that does not list in
// order ends the listing with ErrUnavailable, because commits would be missed.
func (b *Bucket) List(ctx context.Context, prefix string, opts objstore.ListOptions) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		if err := objstore.ValidPrefix(prefix); err != nil {
			yield(objstore.Object{}, err)
			return
		}
		if err := b.list(ctx, prefix, opts, yield); err != nil {
			yield(objstore.Object{}, failed(objstore.OpList, prefix, err))
		}
	}
}

// list returns nil at the end of the listing and when the consumer stops.
func (b *Bucket) list(ctx context.Context, prefix string, opts objstore.ListOptions, yield func(objstore.Object, error) bool) error {
	in := &sdk.ListObjectsV2Input{Bucket: &b.name, Prefix: &prefix, EncodingType: types.EncodingTypeUrl}
	if opts.Shallow {
		in.Delimiter = aws.String("/")
	}
	if opts.StartAfter != "" {
		in.StartAfter = &opts.StartAfter
	}
	last := opts.StartAfter
	for {
		page, err := b.page(ctx, in)
		if err != nil {
			return err
		}
		objects, err := entries(page)
		if err != nil {
			return err
		}
		before := last
		for _, object := range objects {
			switch {
			case object.Name <= opts.StartAfter:
				continue // a folder that contains StartAfter
			case object.Name <= last:
				return fmt.Errorf("%w: lists out of order", objstore.ErrUnavailable)
			case !strings.HasPrefix(object.Name, prefix):
				return fmt.Errorf("%w: lists another prefix", objstore.ErrUnavailable)
			}
			last = object.Name
			if objstore.ValidName(strings.TrimSuffix(object.Name, "/")) != nil || strings.HasSuffix(object.Name, "/") && !opts.Shallow {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if !yield(object, nil) {
				return nil
			}
		}
		next := aws.ToString(page.NextContinuationToken)
		switch {
		case !aws.ToBool(page.IsTruncated):
			return ctx.Err()
		case next == "" || next == aws.ToString(in.ContinuationToken) && before == last:
			return fmt.Errorf("%w: listing does not continue", objstore.ErrUnavailable)
		}
		in.ContinuationToken = &next
	}
}

func (b *Bucket) page(ctx context.Context, in *sdk.ListObjectsV2Input) (*sdk.ListObjectsV2Output, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	watch, fate := withFate(ctx)
	page, err := b.client.ListObjectsV2(watch, in)
	if err != nil {
		err = translate(ctx, err, fate.lastStatus())
	}
	return page, err
}

// entries merges the objects and the folders of a page into one ordered list. The page is
// URL-encoded, because XML cannot represent every name.
func entries(page *sdk.ListObjectsV2Output) ([]objstore.Object, error) {
	all := make([]objstore.Object, 0, len(page.Contents)+len(page.CommonPrefixes))
	for _, o := range page.Contents {
		name, err := decoded(page.EncodingType, o.Key)
		if err != nil {
			return nil, err
		}
		all = append(all, objstore.Object{Name: name, Size: aws.ToInt64(o.Size), ModTime: seconds(o.LastModified)})
	}
	for _, p := range page.CommonPrefixes {
		name, err := decoded(page.EncodingType, p.Prefix)
		if err != nil {
			return nil, err
		}
		all = append(all, objstore.Object{Name: name})
	}
	slices.SortFunc(all, func(x, y objstore.Object) int { return strings.Compare(x.Name, y.Name) })
	return all, nil
}
