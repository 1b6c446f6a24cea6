package objstoretest

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// RequireWorks checks that a bucket writes, reads, lists and deletes.
func RequireWorks(tb testing.TB, bucket objstore.Bucket) {
	tb.Helper()
	ctx := tb.Context()
	require.NoError(tb, bucket.PutIfAbsent(ctx, "a b/c+d", []byte("x")))
	require.Equal(tb, "x", MustGet(tb, bucket, "a b/c+d"))
	require.Equal(tb, []string{"a b/c+d"}, MustList(tb, bucket, ""))
	require.ErrorIs(tb, bucket.PutIfAbsent(ctx, "a b/c+d", nil), objstore.ErrExists)
	require.NoError(tb, bucket.Delete(ctx, "a b/c+d"))
}

// RequireRefused checks that want is the error of every operation. Stat may return ErrDenied for
// ErrCredential, because the reply to a HEAD request has no body with an error code.
func RequireRefused(tb testing.TB, bucket objstore.Bucket, want error) {
	tb.Helper()
	ctx := tb.Context()
	_, err := bucket.Stat(ctx, "o")
	if !errors.Is(want, objstore.ErrCredential) || !errors.Is(err, objstore.ErrDenied) {
		require.ErrorIs(tb, err, want)
	}
	_, err = bucket.Get(ctx, "o")
	require.ErrorIs(tb, err, want)
	for _, err := range bucket.List(ctx, "", objstore.ListOptions{}) {
		require.ErrorIs(tb, err, want)
	}
	require.ErrorIs(tb, bucket.Delete(ctx, "o"), want)
	require.ErrorIs(tb, bucket.Put(ctx, "o", strings.NewReader("x"), 1), want)
	err = bucket.PutIfAbsent(ctx, "o", nil)
	require.ErrorIs(tb, err, want)
	require.NotErrorIs(tb, err, objstore.ErrUnknown)
	require.NotContains(tb, err.Error(), "127.0.0.1")
	require.NotContains(tb, err.Error(), "secret")
}

// RequireUnsent checks that a write fails before anything is sent to the store.
func RequireUnsent(tb testing.TB, bucket objstore.Bucket) {
	tb.Helper()
	err := bucket.PutIfAbsent(tb.Context(), "o", nil)
	require.ErrorIs(tb, err, objstore.ErrUnavailable)
	require.NotErrorIs(tb, err, objstore.ErrUnknown)
	require.NotContains(tb, err.Error(), "secret")
}
