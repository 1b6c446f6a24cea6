package objstoretest

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// slowPut starts a write; its bytes are written to body.
func slowPut(t *testing.T, bucket objstore.Bucket, name string, size int64) (body *io.PipeWriter, result <-chan error) {
	t.Helper()
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := bucket.Put(t.Context(), name, out, size)
		_ = out.CloseWithError(io.ErrClosedPipe) // unblocks body if the write ended early
		done <- err
	}()
	t.Cleanup(func() { _ = in.CloseWithError(io.ErrUnexpectedEOF) })
	_, err := in.Write([]byte("x"))
	require.NoError(t, err)
	return in, done
}

func uploads(t *testing.T, bucket objstore.Bucket, prefix string) (found []objstore.Upload) {
	t.Helper()
	for upload, err := range objstore.Uploads(t.Context(), bucket, prefix) {
		require.NoError(t, err)
		found = append(found, upload)
	}
	return found
}

// testUploads: a running write is listed below its own folders only, can be discarded, and leaves
// nothing when it ends, however it ends.
func testUploads(t *testing.T, bucket objstore.Bucket, config Config) {
	for _, err := range objstore.Uploads(t.Context(), bucket, "/x") {
		require.ErrorIs(t, err, objstore.ErrInvalidName)
	}
	MustPut(t, bucket, "d/e/whole", "x")
	require.Empty(t, uploads(t, bucket, ""))
	if config.Uploads == 0 {
		return
	}
	begun := time.Now()
	body, done := slowPut(t, bucket, "d/e/object", config.Uploads)
	for _, prefix := range []string{"", "d/", "d/e/"} {
		require.Eventually(t, func() bool { return len(uploads(t, bucket, prefix)) == 1 }, time.Minute, 5*time.Millisecond, prefix)
	}
	require.Empty(t, uploads(t, bucket, "d/e/whole/"))
	require.Empty(t, uploads(t, bucket, "d/f/"))
	require.Empty(t, uploads(t, bucket, "e/"))
	under := uploads(t, objstore.Prefix(bucket, "d"), "e/")
	require.Len(t, under, 1)
	require.Regexp(t, "^e/[^/]+$", under[0].Name)
	require.WithinDuration(t, begun, under[0].ModTime, time.Minute)
	require.Equal(t, []string{"d/e/whole"}, MustList(t, bucket, ""))

	discarded, err := objstore.DiscardUploads(t.Context(), bucket, begun.Add(-time.Minute))
	require.NoError(t, err)
	require.Zero(t, discarded, "it is younger")
	require.NoError(t, under[0].Discard(t.Context()))
	_, _ = body.Write(make([]byte, config.Uploads-1))
	require.NoError(t, body.Close())
	require.Error(t, <-done, "what it wrote is gone")
	require.NoError(t, under[0].Discard(t.Context()), "it has ended")
	require.Empty(t, uploads(t, bucket, ""))

	body, done = slowPut(t, bucket, "d/e/object", config.Uploads)
	_ = body.CloseWithError(io.ErrUnexpectedEOF)
	require.Error(t, <-done)
	require.Empty(t, uploads(t, bucket, ""), "a write that fails cleans up")

	body, done = slowPut(t, bucket, "d/e/object", config.Uploads)
	var late []objstore.Upload
	require.Eventually(t, func() bool { late = uploads(t, bucket, ""); return len(late) == 1 }, time.Minute, 5*time.Millisecond)
	_, err = body.Write(make([]byte, config.Uploads-1))
	require.NoError(t, err)
	require.NoError(t, body.Close())
	require.NoError(t, <-done)
	require.NoError(t, late[0].Discard(t.Context()), "it has become an object")
	require.Equal(t, []string{"d/e/object", "d/e/whole"}, MustList(t, bucket, ""))
	require.Empty(t, uploads(t, bucket, ""))
}
