package gateway_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/gateway"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

// status is the HTTP status of an error of the client.
func status(t *testing.T, err error) int {
	t.Helper()
	var response *awshttp.ResponseError
	require.ErrorAs(t, err, &response)
	return response.HTTPStatusCode()
}

var oddNames = []string{"plain", "with space", "x=1/y=a b", "100%", "%2F", "%2e%2e", "a+b", "é/à", "\U0001F600", "q?x#y", "a&b=c", "~(!*')",
	"semi;colon", "dot./.dot", "back\\slash", `"quoted"<&>`}

func TestTheClientOfAmazonReads(t *testing.T) {
	ctx := t.Context()
	store := mem.New()
	c := client(t, mustGrant(t, mustGateway(t, gateway.Options{BlockBytes: 64}), store, "t"))
	for i, odd := range oddNames {
		for _, suffix := range []string{".parquet", ".other"} {
			name := "t/" + odd + suffix
			content := text(100 + i)
			mustPut(t, store, name, content)
			got, err := get(ctx, c, name, "")
			require.NoError(t, err, name)
			require.Equal(t, content, got, name)
			head, err := c.HeadObject(ctx, &s3.HeadObjectInput{Bucket: aws.String(bucketName), Key: aws.String(name)})
			require.NoError(t, err, name)
			require.EqualValues(t, len(content), *head.ContentLength)
			require.Equal(t, "bytes", *head.AcceptRanges)
			require.WithinDuration(t, time.Now(), *head.LastModified, time.Minute)
			out, err := c.GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String(bucketName), Key: aws.String(name),
				Range: aws.String("bytes=10-19"), IfMatch: head.ETag})
			require.NoError(t, err, name)
			require.NoError(t, out.Body.Close())
			require.Equal(t, *head.ETag, *out.ETag)
			require.Equal(t, fmt.Sprintf("bytes 10-19/%d", len(content)), *out.ContentRange)
			_, err = c.GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String(bucketName), Key: aws.String(name), IfMatch: aws.String(`"other"`)})
			require.Equal(t, http.StatusPreconditionFailed, status(t, err))
		}
	}
	_, err := get(ctx, c, "t/missing.parquet", "")
	var missing *types.NoSuchKey
	require.ErrorAs(t, err, &missing)
	_, err = c.HeadObject(ctx, &s3.HeadObjectInput{Bucket: aws.String(bucketName), Key: aws.String("t/missing")})
	require.Equal(t, http.StatusNotFound, status(t, err))
}

func TestRanges(t *testing.T) {
	ctx := t.Context()
	store := mem.New()
	c := client(t, mustGrant(t, mustGateway(t, gateway.Options{BlockBytes: 16}), store, ""))
	content := text(100)
	for _, name := range []string{"a.parquet", "a.txt"} {
		mustPut(t, store, name, content)
		mustPut(t, store, "empty-"+name, nil)
		for asked, want := range map[string][]byte{
			"": content, "bytes=0-": content, "bytes=0-99": content, "bytes=0-1000": content, "bytes=0-9223372036854775807": content,
			"bytes=0-0": content[:1], "bytes=99-": content[99:], "bytes=99-99": content[99:], "bytes=15-16": content[15:17],
			"bytes=16-31": content[16:32], "bytes=-1": content[99:], "bytes=-100": content, "bytes=-1000": content,
			"bytes=-9223372036854775807": content,
		} {
			got, err := get(ctx, c, name, asked)
			require.NoError(t, err, asked)
			require.Equal(t, want, got, asked)
		}
		for asked, want := range map[string]int{
			"bytes=100-": 416, "bytes=100-200": 416, "bytes=-0": 416, "bytes=9223372036854775807-": 416,
			"bytes=2-1": 400, "bytes=0-1,3-4": 400, "bytes=": 400, "bytes=-": 400, "bytes=a-b": 400, "items=0-1": 400,
			"bytes=+1-2": 400, "bytes=--1": 400, "bytes=0-9223372036854775808": 400, "bytes= 0-1": 400,
		} {
			_, err := get(ctx, c, name, asked)
			require.Error(t, err, asked)
			require.Equal(t, want, status(t, err), asked)
		}
		got, err := get(ctx, c, "empty-"+name, "")
		require.NoError(t, err)
		require.Empty(t, got)
		_, err = get(ctx, c, "empty-"+name, "bytes=0-")
		require.Equal(t, 416, status(t, err))
	}
}

// TestListingsPageLikeS3 compares every page size, delimiter and start with what
// S3 would group.
func TestListingsPageLikeS3(t *testing.T) {
	ctx := t.Context()
	store := mem.New()
	names := []string{"t/_delta_log/00000000000000000000.json", "t/_delta_log/00000000000000000001.json", "t/_delta_log/_last_checkpoint",
		"t/a b/1", "t/a b/2", "t/a b/c/3", "t/a b0", "t/a!", "t/x=1%2F/é.parquet", "t/z"}
	for _, name := range append(names, "t2/hidden", "s") {
		mustPut(t, store, name, []byte(name))
	}
	c := client(t, mustGrant(t, mustGateway(t, gateway.Options{}), store, "t"))
	starts := append([]string{"", "t/", "t/a b/", "t/a b/0", "t/a b/9", "t/a b/c/", "t/a b/c/3", "t/zz", "zz"}, names...)
	for _, prefix := range []string{"t/", "t/a", "t/a b/", "t/_delta_log/", "t/none"} {
		for _, delimiter := range []string{"", "/"} {
			for _, after := range starts {
				for _, size := range []int32{1, 2, 1000} {
					in := &s3.ListObjectsV2Input{Bucket: aws.String(bucketName), Prefix: aws.String(prefix), MaxKeys: aws.Int32(size),
						EncodingType: types.EncodingTypeUrl}
					if delimiter != "" {
						in.Delimiter = aws.String(delimiter)
					}
					if after != "" {
						in.StartAfter = aws.String(after)
					}
					got := []string{}
					pages := s3.NewListObjectsV2Paginator(c, in)
					for pages.HasMorePages() {
						page, err := pages.NextPage(ctx)
						require.NoError(t, err)
						require.LessOrEqual(t, len(page.Contents)+len(page.CommonPrefixes), int(size))
						for _, object := range page.Contents {
							require.Equal(t, int64(len(unescape(t, *object.Key))), *object.Size)
							got = append(got, unescape(t, *object.Key))
						}
						for _, folder := range page.CommonPrefixes {
							got = append(got, unescape(t, *folder.Prefix))
						}
					}
					require.ElementsMatch(t, listed(names, prefix, delimiter, after), got, "prefix %q delimiter %q after %q size %d", prefix, delimiter,
						after, size)
				}
			}
		}
	}
	for object, err := range store.List(ctx, "t/_delta_log/", objstore.ListOptions{}) {
		require.NoError(t, err)
		head, err := c.HeadObject(ctx, &s3.HeadObjectInput{Bucket: aws.String(bucketName), Key: aws.String(object.Name)})
		require.NoError(t, err)
		page, err := c.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: aws.String(bucketName), Prefix: aws.String(object.Name)})
		require.NoError(t, err)
		require.Equal(t, *head.ETag, *page.Contents[0].ETag, "one tag in both answers")
	}
}

func TestWriteVerbsAreRefused(t *testing.T) {
	ctx := t.Context()
	store := mem.New()
	mustPut(t, store, "a", []byte("kept"))
	c := client(t, mustGrant(t, mustGateway(t, gateway.Options{}), store, ""))
	bucket, key := aws.String(bucketName), aws.String("a")
	_, put := c.PutObject(ctx, &s3.PutObjectInput{Bucket: bucket, Key: key})
	_, del := c.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: bucket, Key: key})
	_, dels := c.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: bucket,
		Delete: &types.Delete{Objects: []types.ObjectIdentifier{{Key: key}}}})
	_, copied := c.CopyObject(ctx, &s3.CopyObjectInput{Bucket: bucket, Key: key, CopySource: aws.String(bucketName + "/a")})
	_, multi := c.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: bucket, Key: key})
	for i, err := range []error{put, del, dels, copied, multi} {
		require.Equal(t, http.StatusMethodNotAllowed, status(t, err), i)
	}
	_, buckets := c.ListBuckets(ctx, &s3.ListBucketsInput{})
	require.Equal(t, http.StatusForbidden, status(t, buckets))
	_, acl := c.GetObjectAcl(ctx, &s3.GetObjectAclInput{Bucket: bucket, Key: key})
	require.Equal(t, http.StatusBadRequest, status(t, acl))
	_, versions := c.ListObjectVersions(ctx, &s3.ListObjectVersionsInput{Bucket: bucket})
	require.Equal(t, http.StatusBadRequest, status(t, versions))
	got, err := get(ctx, c, "a", "")
	require.NoError(t, err)
	require.Equal(t, "kept", string(got))
	require.False(t, errors.Is(err, gateway.ErrClosed))
}

// TestConnectionsForLogsServeOneRequest checks that the Delta kernel never has an idle connection:
// see [gateway.ReadsRemoteLog].
func TestConnectionsForLogsServeOneRequest(t *testing.T) {
	store := mem.New()
	const data, commit = "t/a.parquet", "t/_delta_log/00000000000000000000.json"
	mustPut(t, store, data, text(10))
	mustPut(t, store, commit, text(10))
	c := client(t, mustGrant(t, mustGateway(t, gateway.Options{}), store, "t"))
	var reused bool
	ctx := httptrace.WithClientTrace(within(t, 10*time.Second), &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) { reused = info.Reused },
	})
	reuses := func(f func() error) bool {
		require.NoError(t, f())
		return reused
	}
	read := func(name string) func() error {
		return func() error {
			_, err := get(ctx, c, name, "")
			return err
		}
	}
	list := func() error {
		_, err := c.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: aws.String(bucketName), Prefix: aws.String("t/_delta_log/")})
		return err
	}
	require.NoError(t, read(data)())
	require.True(t, reuses(read(data)))
	require.True(t, reuses(read(commit)), "the connection is free until the response closes it")
	require.False(t, reuses(list))
	require.False(t, reuses(read(commit)))
	_, err := get(ctx, c, "t/_delta_log/00000000000000000001.json", "")
	require.Equal(t, http.StatusNotFound, status(t, err))
	require.False(t, reused)
	require.False(t, reuses(read(data)), "a refusal closes the connection, too")
	require.True(t, reuses(read(data)))
}
