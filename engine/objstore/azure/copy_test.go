package azure_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/azure"
	"github.com/lakewarden/lakewarden/engine/objstore/azuretest"
	"github.com/lakewarden/lakewarden/engine/objstore/objstoretest"
)

// copying is a reply about a copy: to its start, and to a poll.
func copying(status int, id, state string) step {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Ms-Copy-Id", id)
		w.Header().Set("X-Ms-Copy-Status", state)
		w.WriteHeader(status)
	}
}

// TestCopiesArePolled: a copy is done when the service says so, and an end that nobody saw is
// unknown.
func TestCopiesArePolled(t *testing.T) {
	begun := copying(http.StatusAccepted, "one", "pending")
	for name, test := range map[string]struct {
		steps []step
		want  error
		seen  int
	}{
		"at once":          {[]step{copying(http.StatusAccepted, "one", "success")}, nil, 1},
		"later":            {[]step{begun, copying(200, "one", "pending"), copying(200, "one", "success")}, nil, 3},
		"failed":           {[]step{begun, copying(200, "one", "failed")}, objstore.ErrUnavailable, 2},
		"another copy":     {[]step{begun, copying(200, "two", "success")}, objstore.ErrUnknown, 2},
		"poll lost":        {[]step{begun, lost}, objstore.ErrUnknown, 0},
		"start lost":       {[]step{lost, begun}, objstore.ErrUnknown, 1},
		"source is gone":   {[]step{answer(404, "BlobNotFound")}, objstore.ErrNotFound, 1},
		"name is taken":    {[]step{answer(409, "BlobAlreadyExists")}, objstore.ErrExists, 1},
		"source is denied": {[]step{answer(403, "AuthorizationFailure")}, objstore.ErrDenied, 1},
	} {
		t.Run(name, func(t *testing.T) {
			bucket, store := script(t, test.steps...)
			copied, err := objstore.Copy(t.Context(), bucket, "to", bucket, objstore.Object{Name: "from"})
			require.Equal(t, test.want == nil, copied)
			require.ErrorIs(t, err, test.want)
			if test.want == objstore.ErrUnknown { //nolint:errorlint // the table's own value
				require.NotErrorIs(t, err, objstore.ErrUnavailable)
			}
			if test.seen > 0 { // net/http repeats lost polls, too
				require.Len(t, store.Seen(), test.seen)
			}
			require.Contains(t, store.Seen()[0].Header.Get("X-Ms-Copy-Source"), "/container/from")
		})
	}
}

// TestAbandonedCopiesAreAborted: a copy whose caller leaves is aborted, whether the caller leaves
// between two polls or during one.
func TestAbandonedCopiesAreAborted(t *testing.T) {
	begun := copying(http.StatusAccepted, "one", "pending")
	for name, leave := range map[string]func(context.CancelFunc) step{
		"between polls": func(cancel context.CancelFunc) step {
			polls := 0
			return func(w http.ResponseWriter, r *http.Request) {
				if polls++; polls == 3 {
					defer cancel()
				}
				copying(http.StatusOK, "one", "pending")(w, r)
			}
		},
		"during a poll": func(cancel context.CancelFunc) step {
			return func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("X-Ms-Copy-Action") == "abort" {
					return
				}
				cancel()
				<-r.Context().Done()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			bucket, store := script(t, begun, leave(cancel))
			_, err := objstore.Copy(ctx, bucket, "to", bucket, objstore.Object{Name: "from"})
			require.ErrorIs(t, err, objstore.ErrUnknown)
			require.ErrorIs(t, err, context.Canceled)
			seen := store.Seen()
			require.Equal(t, "abort", seen[len(seen)-1].Header.Get("X-Ms-Copy-Action"))
		})
	}
}

// TestCopiesOfSignatures copies between containers with a signature for each.
func TestCopiesOfSignatures(t *testing.T) {
	server := azuretest.Start(t)
	open := func() *azure.Bucket {
		name := server.Container(t)
		o := options(server.Endpoint, name)
		all := sas.ContainerPermissions{Read: true, Add: true, Create: true, Write: true, Delete: true, List: true}
		o.Credential = azure.Credential{SASToken: signature(t, name, all, time.Now().Add(time.Hour))}
		return mustNew(t, o)
	}
	from, to := open(), open()
	objstoretest.MustPut(t, from, "a b/c+d", "content")
	copied, err := objstore.Copy(t.Context(), to, "e", from, objstore.Object{Name: "a b/c+d"})
	require.NoError(t, err)
	require.True(t, copied)
	require.Equal(t, "content", objstoretest.MustGet(t, to, "e"))
}

// TestCopiesNeedTheRightsOfTheSource copies from a container that was opened with another key: the
// service is asked to copy only what that key may read.
func TestCopiesNeedTheRightsOfTheSource(t *testing.T) {
	store := objstoretest.NewScript(t, answer(http.StatusForbidden, "AuthorizationPermissionMismatch"))
	o := options(store.URL, "container")
	o.Limits = quick
	to := mustNew(t, o)
	o.Credential = azure.Credential{AccountKey: azuretest.SecondKey}
	_, err := objstore.Copy(t.Context(), to, "to", mustNew(t, o), objstore.Object{Name: "from"})
	require.ErrorIs(t, err, objstore.ErrDenied)
	require.Len(t, store.Seen(), 1)
	require.Empty(t, store.Seen()[0].Header.Get("X-Ms-Copy-Source"))
}
