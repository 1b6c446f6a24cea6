package delta_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

// TestACommitWithoutContentIsBroken checks that an empty commit, left by a torn write,
// does not make the table look smaller.
func TestACommitWithoutContentIsBroken(t *testing.T) {
	ctx := context.Background()
	for _, body := range []string{"", "\n", " \n\n"} {
		bucket := mem.New()
		snap, err := delta.Create(ctx, bucket, delta.CreateOptions{
			Schema: delta.Struct{Fields: []delta.Field{{Name: "id", Type: delta.Long, Nullable: true}}},
		})
		require.NoError(t, err)
		require.NoError(t, bucket.PutIfAbsent(ctx, "_delta_log/00000000000000000001.json", []byte(body)))
		_, err = delta.Load(ctx, bucket, delta.Options{})
		require.ErrorIs(t, err, delta.ErrMalformed, "%q", body)
		_, err = snap.Refresh(ctx)
		require.ErrorIs(t, err, delta.ErrMalformed, "%q", body)
	}
}
