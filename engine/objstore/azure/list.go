package azure

import (
	"context"
	"iter"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/remote"
)

// List implements objstore.Bucket. A service that is older than version 2026-02-06 begins each
// listing at the first name of the prefix: names up to opts.StartAfter then cost requests, 5,000
// names each, and no memory.
func (b *Bucket) List(ctx context.Context, prefix string, opts objstore.ListOptions) iter.Seq2[objstore.Object, error] {
	start, some := startFrom(prefix, opts)
	return remote.List(ctx, prefix, opts, func(ctx context.Context, token string) (remote.Page, error) {
		if err := valid(prefix); err != nil {
			return remote.Page{}, err
		}
		watch, fate := remote.WithFate(context.WithValue(ctx, startKey{}, start))
		options := container.ListBlobsFlatOptions{Prefix: &prefix}
		if token != "" {
			options.Marker = &token
		}
		if !some {
			options.MaxResults = new(int32)
			*options.MaxResults = 1
		}
		page, err := b.page(watch, options, opts.Shallow)
		if err != nil {
			return remote.Page{}, translate(ctx, err, fate.LastStatus())
		}
		page.More = page.More && some
		return page, nil
	})
}

func (b *Bucket) page(ctx context.Context, options container.ListBlobsFlatOptions, shallow bool) (remote.Page, error) {
	if !shallow {
		page, err := b.client.NewListBlobsFlatPager(&options).NextPage(ctx)
		if err != nil || page.Segment == nil {
			return remote.Page{}, err
		}
		return pageOf(page.Segment.BlobItems, nil, page.NextMarker), nil
	}
	page, err := b.client.NewListBlobsHierarchyPager("/", &container.ListBlobsHierarchyOptions{
		Prefix: options.Prefix, Marker: options.Marker, MaxResults: options.MaxResults,
	}).NextPage(ctx)
	if err != nil || page.Segment == nil {
		return remote.Page{}, err
	}
	return pageOf(page.Segment.BlobItems, page.Segment.BlobPrefixes, page.NextMarker), nil
}

// pageOf leaves out the objects that stand for folders in accounts with real ones.
func pageOf(objects []*container.BlobItem, folders []*container.BlobPrefix, next *string) remote.Page {
	page := remote.Page{Objects: make([]objstore.Object, 0, len(objects)+len(folders))}
	for _, found := range objects {
		if found.Name == nil || found.Properties == nil || found.Properties.ContentLength == nil ||
			found.Properties.ResourceType != nil && *found.Properties.ResourceType == "directory" {
			continue
		}
		object := objstore.Object{
			Name: *found.Name, Size: *found.Properties.ContentLength, ModTime: seconds(found.Properties.LastModified),
		}
		if len(found.Properties.ContentMD5) > 0 {
			object.Sums.MD5 = found.Properties.ContentMD5
		}
		page.Objects = append(page.Objects, object)
	}
	for _, found := range folders {
		if found.Name != nil {
			page.Objects = append(page.Objects, objstore.Object{Name: *found.Name})
		}
	}
	if next != nil && *next != "" {
		page.More, page.Next = true, *next
	}
	return page
}

// startFrom returns the name from which the service shall list, or "" for the first of the prefix.
// some is false if no name of the prefix sorts after opts.StartAfter.
func startFrom(prefix string, opts objstore.ListOptions) (start string, some bool) {
	rest, below := strings.CutPrefix(opts.StartAfter, prefix)
	if !below {
		return "", opts.StartAfter < prefix
	}
	// Services order the other characters by their UTF-16 form, which is not the order of bytes.
	if odd := strings.IndexFunc(rest, func(c rune) bool { return c >= 0xD800 }); odd >= 0 {
		rest = rest[:odd]
	}
	// A listing of one level can begin at a name of that level only.
	if slash := strings.IndexByte(rest, '/'); opts.Shallow && slash >= 0 {
		rest = rest[:slash]
	}
	if rest == "" {
		return "", true
	}
	return prefix + rest, true
}

type startKey struct{}

// startPolicy adds the name from which a listing begins to its request. The SDK has an option for
// that and ignores it.
type startPolicy struct{}

// Do implements policy.Policy.
func (startPolicy) Do(request *policy.Request) (*http.Response, error) {
	if start, _ := request.Raw().Context().Value(startKey{}).(string); start != "" {
		query := request.Raw().URL.Query()
		query.Set("startFrom", start)
		request.Raw().URL.RawQuery = query.Encode()
	}
	return request.Next()
}
