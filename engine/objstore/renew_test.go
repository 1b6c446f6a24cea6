package objstore_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
	"github.com/lakewarden/lakewarden/engine/objstore/objstoretest"
)

func TestRenewedConformance(t *testing.T) {
	none := func(context.Context) (objstore.Bucket, error) { return nil, nil }
	objstoretest.Run(t, func(t *testing.T) objstore.Bucket {
		bucket, err := file.New(t.TempDir())
		require.NoError(t, err)
		return objstore.Renew(bucket, none)
	}, objstoretest.Config{Folders: true, MaxSegment: 255, Uploads: 1, Copies: true})
	objstoretest.Run(t, func(*testing.T) objstore.Bucket { return objstore.Renew(mem.New(), none) }, objstoretest.Config{Sums: true})
}

// TestRenewedCredentials revokes the credential before each operation and in the middle of a listing.
func TestRenewedCredentials(t *testing.T) {
	ctx := t.Context()
	store := mem.New()
	for _, name := range []string{"a", "b", "c"} {
		objstoretest.MustPut(t, store, name, name)
	}
	revoked := func(ops ...objstore.Op) objstore.Bucket {
		return objstore.NewFaults(store, objstore.Cut{Ops: ops, Nth: 1, Forever: true, Err: objstore.ErrCredential})
	}
	rotated := func(context.Context) (objstore.Bucket, error) { return store, nil }
	operations := map[string]func(objstore.Bucket) error{
		"get":      func(b objstore.Bucket) error { _, err := b.Get(ctx, "a"); return err },
		"range":    func(b objstore.Bucket) error { _, err := b.GetRange(ctx, "a", 0, 1); return err },
		"stat":     func(b objstore.Bucket) error { _, err := b.Stat(ctx, "a"); return err },
		"put once": func(b objstore.Bucket) error { return b.PutIfAbsent(ctx, "new", []byte("content")) },
		"put":      func(b objstore.Bucket) error { return putRest(b, "put", "skipped content") },
		"delete":   func(b objstore.Bucket) error { return b.Delete(ctx, "c") },
		"sums":     func(b objstore.Bucket) error { _, err := objstore.StoredSums(ctx, b, "a"); return err },
	}
	for name, operate := range operations {
		require.ErrorIs(t, operate(objstore.Renew(revoked(), func(context.Context) (objstore.Bucket, error) { return nil, nil })),
			objstore.ErrCredential, name)
		require.ErrorIs(t, operate(objstore.Renew(revoked(), func(context.Context) (objstore.Bucket, error) {
			return nil, errors.New("the catalog is down")
		})), objstore.ErrCredential, name)
		require.NoError(t, operate(objstore.Renew(revoked(), rotated)), name)
	}
	require.Equal(t, "content", objstoretest.MustGet(t, store, "new"))
	require.Equal(t, "content", objstoretest.MustGet(t, store, "put"))
	require.NoError(t, putRest(objstore.Renew(late{store}, rotated), "put", "skipped other"))
	require.Equal(t, "other", objstoretest.MustGet(t, store, "put"))
	require.NoError(t, store.Delete(ctx, "put"))
	require.ErrorIs(t, objstore.Renew(late{store}, rotated).Put(ctx, "put", io.LimitReader(strings.NewReader("x"), 1), 1),
		objstore.ErrCredential, "the body cannot be read again")
	require.Equal(t, []string{"a", "b", "new"}, objstoretest.MustList(t, objstore.Renew(revoked(), rotated), ""))
	middle := objstore.NewFaults(store, objstore.Cut{Ops: []objstore.Op{objstore.OpList}, Nth: 1, After: true, Err: objstore.ErrCredential})
	require.Equal(t, []string{"a", "b", "new"}, objstoretest.MustList(t, objstore.Renew(middle, rotated), ""))

	denied := objstore.NewFaults(store, objstore.Cut{Nth: 1, Forever: true, Err: objstore.ErrDenied})
	for name, operate := range operations {
		require.ErrorIs(t, operate(objstore.Renew(denied, func(context.Context) (objstore.Bucket, error) {
			t.Error("the credential was accepted")
			return nil, nil
		})), objstore.ErrDenied, name)
	}
}

// putRest writes what follows the first word.
func putRest(bucket objstore.Bucket, name, content string) error {
	body := strings.NewReader(content)
	rest := strings.Index(content, " ") + 1
	if _, err := body.Seek(int64(rest), io.SeekStart); err != nil {
		return err
	}
	return bucket.Put(context.Background(), name, body, int64(len(content)-rest))
}

// late refuses the credential after it has read a part of a body.
type late struct{ objstore.Bucket }

func (late) Put(_ context.Context, _ string, body io.Reader, _ int64) error {
	if _, err := body.Read(make([]byte, 1)); err != nil {
		return err
	}
	return objstore.ErrCredential
}

// TestRenewedLocates checks that absolute references lead to the objects of the wrapped bucket.
func TestRenewedLocates(t *testing.T) {
	dir := t.TempDir()
	bucket, err := file.New(dir)
	require.NoError(t, err)
	renewed := objstore.Renew(bucket, func(context.Context) (objstore.Bucket, error) { return nil, nil })
	name, ok := objstore.Locate(renewed, objstore.Reference{Scheme: "file", Path: dir + "/t/a.parquet"})
	require.True(t, ok)
	require.Equal(t, "t/a.parquet", name)
	_, ok = objstore.Locate(renewed, objstore.Reference{Scheme: "file", Path: dir + "2/t/a.parquet"})
	require.False(t, ok)
}
