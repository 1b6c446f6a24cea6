package gcs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/gcstest"
	"github.com/lakewarden/lakewarden/engine/objstore/objstoretest"
)

// TestCopiesNeedTheRightsOfTheSource copies with a key that may read everything, from a bucket that was
// opened with a key that may not.
func TestCopiesNeedTheRightsOfTheSource(t *testing.T) {
	server := gcstest.Start(t)
	guard := server.Guard(t)
	name, key, poor := server.Bucket(t), guard.Key(t, "one"), guard.Key(t, "poor")
	rich, to := mustNew(t, options(guard.Endpoint, name, key)), mustNew(t, options(guard.Endpoint, server.Bucket(t), key))
	objstoretest.MustPut(t, rich, "o", "content")
	guard.Revoke("poor")
	from := mustNew(t, options(guard.Endpoint, name, poor))
	_, err := objstore.Copy(t.Context(), to, "o", from, objstore.Object{Name: "o", Size: 7})
	require.ErrorIs(t, err, objstore.ErrDenied)
	require.Empty(t, objstoretest.MustList(t, to, ""))
	copied, err := objstore.Copy(t.Context(), to, "o", rich, objstore.Object{Name: "o", Size: 7})
	require.NoError(t, err)
	require.True(t, copied)
}
