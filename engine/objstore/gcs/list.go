package gcs

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/remote"
)

// pageSize is the protocol's maximum.
const pageSize = 1000

// List implements objstore.Bucket.
func (b *Bucket) List(ctx context.Context, prefix string, opts objstore.ListOptions) iter.Seq2[objstore.Object, error] {
	return remote.List(ctx, prefix, opts, func(ctx context.Context, token string) (remote.Page, error) {
		return b.page(ctx, prefix, opts, token, pageSize)
	})
}

func (b *Bucket) page(ctx context.Context, prefix string, opts objstore.ListOptions, token string, size int) (remote.Page, error) {
	query := url.Values{
		"prefix": {prefix}, "maxResults": {strconv.Itoa(size)}, "fields": {"kind,nextPageToken,prefixes,items(name,size,updated,md5Hash,crc32c)"},
	}
	if token != "" {
		query.Set("pageToken", token)
	}
	if opts.Shallow {
		query.Set("delimiter", "/")
	}
	if start := startOffset(prefix, opts); start != "" {
		query.Set("startOffset", start)
	}
	watch, fate := remote.WithFate(ctx)
	reply, err := b.get(watch, "o?"+query.Encode(), http.Header{})
	if err != nil {
		return remote.Page{}, inBucket(ctx, err, fate.LastStatus())
	}
	defer reply.Body.Close()
	var found struct {
		Kind          string
		NextPageToken string
		Prefixes      []string
		Items         []struct {
			Name    string
			Size    int64 `json:",string"`
			Updated time.Time
			MD5Hash []byte
			CRC32C  []byte
		}
	}
	if err := json.NewDecoder(reply.Body).Decode(&found); err != nil {
		return remote.Page{}, inBucket(ctx, err, 0)
	}
	if found.Kind != "storage#objects" {
		return remote.Page{}, inBucket(ctx, errors.New("the answer is not a listing"), 0)
	}
	page := remote.Page{More: found.NextPageToken != "", Next: found.NextPageToken}
	for _, o := range found.Items {
		page.Objects = append(page.Objects, objstore.Object{
			Name: o.Name, Size: o.Size, ModTime: o.Updated, Sums: objstore.Sums{MD5: o.MD5Hash, CRC32C: o.CRC32C},
		})
	}
	for _, folder := range found.Prefixes {
		page.Objects = append(page.Objects, objstore.Object{Name: folder})
	}
	return page, nil
}

// startOffset returns the name from which the service lists. In a listing of one level that is a name
// of the level: whether the service compares folders or their objects is then irrelevant.
func startOffset(prefix string, opts objstore.ListOptions) string {
	rest, below := strings.CutPrefix(opts.StartAfter, prefix)
	if slash := strings.IndexByte(rest, '/'); below && opts.Shallow && slash >= 0 {
		return prefix + rest[:slash]
	}
	return opts.StartAfter
}
