package objstoretest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// Bench measures the requests of commits and of reading snapshots.
func Bench(b *testing.B, open func(tb testing.TB) objstore.Bucket) {
	ctx := context.Background()
	body := bytes.Repeat([]byte("x"), 1<<10)
	b.Run("PutIfAbsent", func(b *testing.B) {
		bucket, i := open(b), 0
		b.ReportAllocs()
		for b.Loop() {
			require.NoError(b, bucket.PutIfAbsent(ctx, fmt.Sprintf("t/_delta_log/%020d.json", i), body))
			i++
		}
	})
	b.Run("Get", func(b *testing.B) {
		bucket := open(b)
		MustPut(b, bucket, "t/_delta_log/0.json", string(body))
		b.ReportAllocs()
		for b.Loop() {
			object, err := bucket.Get(ctx, "t/_delta_log/0.json")
			require.NoError(b, err)
			_, err = io.Copy(io.Discard, object)
			require.NoError(b, err)
			require.NoError(b, object.Close())
		}
	})
	b.Run("StatMissing", func(b *testing.B) {
		bucket := open(b)
		MustPut(b, bucket, "t/_delta_log/0.json", "")
		b.ReportAllocs()
		for b.Loop() {
			_, err := bucket.Stat(ctx, "t/_delta_log/1.json")
			require.ErrorIs(b, err, objstore.ErrNotFound)
		}
	})
	b.Run("ListTail", func(b *testing.B) {
		bucket := open(b)
		for i := range 1000 {
			MustPut(b, bucket, fmt.Sprintf("t/_delta_log/%020d.json", i), "")
		}
		opts := objstore.ListOptions{StartAfter: fmt.Sprintf("t/_delta_log/%020d.json", 990)}
		b.ReportAllocs()
		for b.Loop() {
			require.Len(b, mustNames(b, bucket, "t/_delta_log/", opts), 9)
		}
	})
}
