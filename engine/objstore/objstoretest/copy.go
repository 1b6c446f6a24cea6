package objstoretest

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

// testCopy: a copy inside the store has the content and survives the source; what cannot be copied
// leaves nothing behind.
func testCopy(t *testing.T, bucket objstore.Bucket, config Config) {
	ctx := context.Background()
	MustPut(t, bucket, "a/small", "content")
	copied, err := objstore.Copy(ctx, bucket, "b/small", bucket, objstore.Object{Name: "a/small"})
	require.NoError(t, err)
	require.Equal(t, config.Copies, copied)

	foreign := mem.New()
	MustPut(t, foreign, "o", "x")
	copied, err = objstore.Copy(ctx, bucket, "b/foreign", foreign, objstore.Object{Name: "o"})
	require.NoError(t, err)
	require.False(t, copied, "another store")
	for _, names := range [][2]string{{"a/../b", "c"}, {"a/small", "c/../d"}, {"", "c"}, {"a/small", ""}} {
		_, err := objstore.Copy(ctx, bucket, names[1], bucket, objstore.Object{Name: names[0]})
		require.ErrorIs(t, err, objstore.ErrInvalidName, "%q", names)
	}
	if !config.Copies {
		return
	}
	large := strings.Repeat("0123456789abcdef", 12<<16) // 12 MiB
	contents := map[string]string{
		"small": "content", "empty": "", "large": large, "p=1/x y+z%20é/q?#&.parquet": "odd name",
	}
	for name, content := range contents {
		MustPut(t, bucket, "a/"+name, content)
		from, to := objstore.Prefix(bucket, "a"), objstore.Prefix(bucket, "deep/er")
		copied, err := objstore.Copy(ctx, to, "c/"+name, from, objstore.Object{Name: name})
		require.NoError(t, err, name)
		require.True(t, copied, name)
		MustPut(t, bucket, "a/"+name, "replaced")
		require.NoError(t, bucket.Delete(ctx, "a/"+name))
		require.True(t, content == MustGet(t, bucket, "deep/er/c/"+name), name)
		object, err := bucket.Stat(ctx, "deep/er/c/"+name)
		require.NoError(t, err)
		require.EqualValues(t, len(content), object.Size)
	}
	_, err = objstore.Copy(ctx, bucket, "d/missing", bucket, objstore.Object{Name: "a/missing"})
	require.ErrorIs(t, err, objstore.ErrNotFound)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err = objstore.Copy(ended, bucket, "d/cancelled", bucket, objstore.Object{Name: "b/small"})
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, objstore.ErrUnknown, "nothing was sent")
	require.Empty(t, MustList(t, bucket, "d/"))
}
