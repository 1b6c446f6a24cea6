package storage_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
	"github.com/lakewarden/lakewarden/engine/objstore/objstoretest"
	"github.com/lakewarden/lakewarden/engine/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestProbeOfSoundStores(t *testing.T) {
	local, err := file.New(t.TempDir())
	require.NoError(t, err)
	for name, bucket := range map[string]objstore.Bucket{"mem": mem.New(), "file": local,
		"below a prefix": objstore.Prefix(mem.New(), "a/b")} {
		objstoretest.MustPut(t, bucket, "t/object", "x")
		report := storage.Probe(context.Background(), bucket)
		require.NoError(t, report.Err(), name)
		require.True(t, report.OK(), name)
		require.Equal(t, []string{"list ", "put ", "get ", "put_if_absent ", "delete "}, outcomes(report))
		require.Equal(t, []string{"t/object"}, objstoretest.MustList(t, bucket, ""), "%s: nothing is left", name)
	}
}

func outcomes(report storage.Report) []string {
	var out []string
	for _, check := range report.Checks {
		out = append(out, check.Name+" "+check.Reason)
	}
	return out
}

// careless is a store with defects that its replies do not show.
type careless struct {
	objstore.Bucket
	putIfAbsent func(b objstore.Bucket, name string, body []byte) error
	garble      bool
	hide        bool
	undead      bool
}

func (c careless) PutIfAbsent(ctx context.Context, name string, body []byte) error {
	if c.putIfAbsent == nil {
		return c.Bucket.PutIfAbsent(ctx, name, body)
	}
	return c.putIfAbsent(c.Bucket, name, body)
}

func (c careless) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	body, err := c.Bucket.Get(ctx, name)
	if err == nil && c.garble {
		return io.NopCloser(io.LimitReader(body, 5000)), nil
	}
	return body, err
}

func (c careless) Delete(ctx context.Context, name string) error {
	if c.undead {
		return nil
	}
	return c.Bucket.Delete(ctx, name)
}

func (c careless) List(ctx context.Context, prefix string, opts objstore.ListOptions) iter.Seq2[objstore.Object, error] {
	if c.hide {
		return func(func(objstore.Object, error) bool) {}
	}
	return c.Bucket.List(ctx, prefix, opts)
}

func overwrite(b objstore.Bucket, name string, body []byte) error {
	return b.Put(context.Background(), name, bytes.NewReader(body), int64(len(body)))
}

func TestProbeRefuses(t *testing.T) {
	const (
		notAtomic = "the store does not honour put-if-absent: concurrent commits could overwrite each other"
		content   = "the store does not return what was written to it"
		skipped   = "not tried, because an earlier check failed"
		denied    = "access denied"
	)
	for name, test := range map[string]struct {
		bucket objstore.Bucket
		want   map[string]string
		cause  error
	}{
		"condition ignored": {
			careless{putIfAbsent: overwrite},
			map[string]string{"put_if_absent": notAtomic}, storage.ErrNotAtomic,
		},
		"overwrites and says that it lost": {
			careless{putIfAbsent: func(b objstore.Bucket, name string, body []byte) error {
				_, missing := b.Stat(context.Background(), name)
				if err := overwrite(b, name, body); err != nil || missing != nil {
					return err
				}
				return objstore.ErrExists
			}},
			map[string]string{"put_if_absent": notAtomic}, storage.ErrNotAtomic,
		},
		"a race has two winners": {
			careless{putIfAbsent: func(b objstore.Bucket, name string, body []byte) error {
				if bytes.HasPrefix(body, []byte("writer ")) {
					return overwrite(b, name, body)
				}
				return b.PutIfAbsent(context.Background(), name, body)
			}},
			map[string]string{"put_if_absent": notAtomic}, storage.ErrNotAtomic,
		},
		"a race has no winner": {
			careless{putIfAbsent: func(b objstore.Bucket, name string, body []byte) error {
				if bytes.HasPrefix(body, []byte("writer ")) {
					return objstore.ErrExists
				}
				return b.PutIfAbsent(context.Background(), name, body)
			}},
			map[string]string{"put_if_absent": notAtomic}, storage.ErrNotAtomic,
		},
		"truncates":       {careless{garble: true}, map[string]string{"get": content}, storage.ErrContent},
		"lists nothing":   {careless{hide: true}, map[string]string{"get": content}, storage.ErrContent},
		"deletes nothing": {careless{undead: true}, map[string]string{"delete": content}, storage.ErrContent},
		"read only": {cut(objstore.ErrDenied, objstore.OpPut, objstore.OpPutIfAbsent, objstore.OpDelete),
			map[string]string{"put": denied, "get": skipped, "put_if_absent": denied, "delete": skipped}, objstore.ErrDenied},
		"write only": {cut(objstore.ErrDenied, objstore.OpGet, objstore.OpGetRange),
			map[string]string{"get": denied, "put_if_absent": denied}, objstore.ErrDenied},
		"no listing": {cut(objstore.ErrDenied, objstore.OpList), map[string]string{"list": denied, "get": denied, "delete": denied},
			objstore.ErrDenied},
		"no deleting": {cut(objstore.ErrDenied, objstore.OpDelete), map[string]string{"delete": denied}, objstore.ErrDenied},
		"down": {cut(objstore.ErrUnavailable), map[string]string{"list": "the store cannot be reached or is not ready",
			"put": skipped, "get": skipped, "put_if_absent": skipped, "delete": skipped}, objstore.ErrUnavailable},
		"odd": {cut(errors.New("secret of the store"), objstore.OpPut),
			map[string]string{"put": "unexpected answer of the store", "get": skipped}, storage.ErrSkipped},
		"unconfirmed writes": {cut(objstore.ErrUnknown, objstore.OpPutIfAbsent),
			map[string]string{"put_if_absent": "the store did not confirm a write"}, objstore.ErrUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			bucket := test.bucket
			if c, ok := bucket.(careless); ok {
				c.Bucket = mem.New()
				bucket = c
			}
			report := storage.Probe(context.Background(), bucket)
			require.False(t, report.OK())
			require.ErrorIs(t, report.Err(), test.cause)
			failed := map[string]string{}
			for _, check := range report.Checks {
				require.Equal(t, check.Err == nil, check.OK)
				if !check.OK {
					failed[check.Name] = check.Reason
				}
			}
			require.Empty(t, cmp.Diff(test.want, failed))
			require.Len(t, report.Checks, 5)
		})
	}
}

// cut is a store that refuses operations.
func cut(err error, ops ...objstore.Op) objstore.Bucket {
	return objstore.NewFaults(mem.New(), objstore.Cut{Ops: ops, Nth: 1, Forever: true, Err: err})
}

// TestProbeLeavesNothing cuts a probe at each of its requests but the deletes,
// also after they took effect, and lets its caller go in the middle: whatever it
// wrote is removed.
func TestProbeLeavesNothing(t *testing.T) {
	clean := objstore.NewFaults(mem.New())
	require.True(t, storage.Probe(context.Background(), clean).OK())
	for nth := 1; nth <= clean.Count(); nth++ {
		for _, after := range []bool{false, true} {
			store := mem.New()
			storage.Probe(context.Background(), objstore.NewFaults(store, objstore.Cut{
				Ops: []objstore.Op{objstore.OpList, objstore.OpPut, objstore.OpGet, objstore.OpGetRange, objstore.OpPutIfAbsent, objstore.OpStat},
				Nth: nth, After: after,
			}))
			require.Empty(t, objstoretest.MustList(t, store, ""), "request %d after %v", nth, after)
		}
	}

	store := mem.New()
	ctx, cancel := context.WithCancel(context.Background())
	report := storage.Probe(ctx, careless{Bucket: store, putIfAbsent: func(b objstore.Bucket, name string, body []byte) error {
		err := b.PutIfAbsent(context.Background(), name, body)
		cancel()
		return err
	}})
	require.ErrorIs(t, report.Err(), context.Canceled)
	require.Empty(t, objstoretest.MustList(t, store, ""))
}
