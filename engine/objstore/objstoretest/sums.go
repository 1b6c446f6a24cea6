package objstoretest

import (
	"context"
	"crypto/md5" //nolint:gosec // the checksum that stores have of their objects
	"hash/crc32"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// testSums: the checksums of an object are those of its content, however it was written.
func testSums(t *testing.T, bucket objstore.Bucket, config Config) {
	ctx := context.Background()
	large := strings.Repeat("0123456789abcdef", 12<<16) // 12 MiB
	check := func(name, content string) {
		t.Helper()
		sums, err := objstore.StoredSums(ctx, bucket, name)
		require.NoError(t, err, name)
		md5 := md5.Sum([]byte(content)) //nolint:gosec // see the import
		crc := crc32.New(crc32.MakeTable(crc32.Castagnoli))
		_, _ = crc.Write([]byte(content))
		equal, known := sums.Compare(objstore.Sums{MD5: md5[:], CRC32C: crc.Sum(nil)})
		require.Equal(t, known, equal, name)
		require.True(t, known || !config.Sums || len(content) == len(large), name)
	}
	for name, content := range map[string]string{"small": "content", "empty": "", "p=1/x y+z%20é#": "odd name", "large": large} {
		MustPut(t, bucket, name, content)
		check(name, content)
		if config.Copies {
			_, err := objstore.Copy(ctx, bucket, "copies/"+name, bucket, objstore.Object{Name: name})
			require.NoError(t, err)
			check("copies/"+name, content)
		}
	}
	require.NoError(t, bucket.PutIfAbsent(ctx, "created", []byte("created")))
	check("created", "created")
	MustPut(t, bucket, "created", "replaced")
	check("created", "replaced")

	_, err := objstore.StoredSums(ctx, bucket, "../small")
	require.ErrorIs(t, err, objstore.ErrInvalidName)
	if !config.Sums {
		return
	}
	_, err = objstore.StoredSums(ctx, bucket, "missing")
	require.ErrorIs(t, err, objstore.ErrNotFound)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err = objstore.StoredSums(ended, bucket, "small")
	require.ErrorIs(t, err, context.Canceled)
}
