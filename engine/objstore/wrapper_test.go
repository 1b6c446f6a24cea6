package objstore_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
	"github.com/lakewarden/lakewarden/engine/objstore/objstoretest"
)

func TestPrefixDir(t *testing.T) {
	ctx := context.Background()
	bucket := mem.New()
	require.Same(t, bucket, objstore.Prefix(bucket, ""))
	objstoretest.MustPut(t, bucket, "secret", "x")
	objstoretest.MustPut(t, objstore.Prefix(bucket, "org/"), "a", "y")
	require.Equal(t, "y", objstoretest.MustGet(t, bucket, "org/a"))
	for _, dir := range []string{"..", "org/..", "/", "/org", "org//x", ".", "org/../../x"} {
		below := objstore.Prefix(bucket, dir)
		_, err := below.Get(ctx, "secret")
		require.ErrorIs(t, err, objstore.ErrInvalidName, dir)
		require.ErrorIs(t, below.PutIfAbsent(ctx, "new", nil), objstore.ErrInvalidName, dir)
		for _, err := range below.List(ctx, "", objstore.ListOptions{}) {
			require.ErrorIs(t, err, objstore.ErrInvalidName, dir)
		}
	}
	require.Equal(t, []string{"org/a", "secret"}, objstoretest.MustList(t, bucket, ""))
}

func TestMetricsOutcomes(t *testing.T) {
	ctx := context.Background()
	registry := prometheus.NewPedanticRegistry()
	faults := objstore.NewFaults(mem.New(),
		objstore.Cut{Ops: []objstore.Op{objstore.OpStat}, Nth: 1},
		objstore.Cut{Ops: []objstore.Op{objstore.OpStat}, Nth: 2, Err: objstore.ErrDenied},
		objstore.Cut{Ops: []objstore.Op{objstore.OpStat}, Nth: 3, Err: errors.New("odd")},
		objstore.Cut{Ops: []objstore.Op{objstore.OpPutIfAbsent}, Nth: 3, After: true},
	)
	bucket := objstore.NewMetrics(registry).Wrap(faults, "mem")
	objstoretest.MustPut(t, bucket, "a", "x")
	objstoretest.MustGet(t, bucket, "a")
	_, err := bucket.Get(ctx, "missing")
	require.ErrorIs(t, err, objstore.ErrNotFound)
	for range 3 {
		_, err = bucket.Stat(ctx, "a")
		require.Error(t, err)
	}
	require.NoError(t, bucket.PutIfAbsent(ctx, "b", nil))
	require.ErrorIs(t, bucket.PutIfAbsent(ctx, "b", nil), objstore.ErrExists)
	require.ErrorIs(t, bucket.PutIfAbsent(ctx, "c", nil), objstore.ErrUnknown)
	require.ErrorIs(t, bucket.Put(ctx, "d", strings.NewReader("x"), 2), objstore.ErrSize)
	for _, err := range bucket.List(ctx, "", objstore.ListOptions{}) {
		require.NoError(t, err)
		break
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, bucket.Delete(cancelled, "a"), context.Canceled)

	counted, timed := map[string]float64{}, map[string]uint64{}
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range metric.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			require.Equal(t, "mem", labels["store"])
			switch family.GetName() {
			case "lakewarden_objstore_requests_total":
				counted[labels["op"]+" "+labels["outcome"]] = metric.GetCounter().GetValue()
			case "lakewarden_objstore_request_seconds":
				timed[labels["op"]] = metric.GetHistogram().GetSampleCount()
			}
		}
	}
	require.Empty(t, cmp.Diff(map[string]float64{
		"put ok": 1, "put invalid": 1, "get ok": 1, "get missing": 1, "list ok": 1, "delete cancelled": 1,
		"stat unavailable": 1, "stat denied": 1, "stat error": 1,
		"put_if_absent ok": 1, "put_if_absent exists": 1, "put_if_absent unknown": 1,
	}, counted))
	require.Empty(t, cmp.Diff(map[string]uint64{
		"put": 2, "get": 2, "list": 1, "delete": 1, "stat": 3, "put_if_absent": 3,
	}, timed))
}

func TestFaultsBeforeAndAfter(t *testing.T) {
	ctx := context.Background()
	store := mem.New()
	faults := objstore.NewFaults(store,
		objstore.Cut{Ops: []objstore.Op{objstore.OpPutIfAbsent}, Nth: 2},
		objstore.Cut{Ops: []objstore.Op{objstore.OpPutIfAbsent}, Nth: 3, After: true},
		objstore.Cut{Ops: []objstore.Op{objstore.OpPut}, Match: func(name string) bool { return name == "x" }, Nth: 1, Forever: true},
		objstore.Cut{Ops: []objstore.Op{objstore.OpGet}, Nth: 1, After: true},
		objstore.Cut{Ops: []objstore.Op{objstore.OpList}, Nth: 1, After: true},
	)
	require.NoError(t, faults.PutIfAbsent(ctx, "1", []byte("content")))
	require.ErrorIs(t, faults.PutIfAbsent(ctx, "2", nil), objstore.ErrUnavailable)
	require.ErrorIs(t, faults.PutIfAbsent(ctx, "3", []byte("landed")), objstore.ErrUnknown)
	require.Equal(t, []string{"1", "3"}, objstoretest.MustList(t, store, ""))
	require.Equal(t, "landed", objstoretest.MustGet(t, store, "3"))

	objstoretest.MustPut(t, faults, "y", "")
	for range 3 {
		require.ErrorIs(t, faults.Put(ctx, "x", strings.NewReader(""), 0), objstore.ErrUnavailable)
	}

	body, err := faults.Get(ctx, "1")
	require.NoError(t, err)
	content, err := io.ReadAll(body)
	require.ErrorIs(t, err, objstore.ErrUnavailable)
	require.Equal(t, "con", string(content))
	require.Equal(t, "content", objstoretest.MustGet(t, faults, "1"))

	var names []string
	for object, err := range faults.List(ctx, "", objstore.ListOptions{}) {
		if err != nil {
			require.ErrorIs(t, err, objstore.ErrUnavailable)
			break
		}
		names = append(names, object.Name)
	}
	require.Equal(t, []string{"1"}, names)
	require.Equal(t, 3, faults.Count(objstore.OpPutIfAbsent))
	require.Equal(t, 10, faults.Count())
}

func TestFailuresNameTheirStore(t *testing.T) {
	ctx := context.Background()
	faults := objstore.NewFaults(mem.New(),
		objstore.Cut{Ops: []objstore.Op{objstore.OpStat}, Nth: 1},
		objstore.Cut{Ops: []objstore.Op{objstore.OpStat}, Nth: 2, Err: objstore.ErrDenied},
		objstore.Cut{Ops: []objstore.Op{objstore.OpPut}, Nth: 1, Err: objstore.ErrDenied},
		objstore.Cut{Ops: []objstore.Op{objstore.OpDelete}, Nth: 1, Err: objstore.ErrCredential},
		objstore.Cut{Ops: []objstore.Op{objstore.OpList}, Nth: 1, Err: objstore.ErrNoBucket},
		objstore.Cut{Ops: []objstore.Op{objstore.OpPutIfAbsent}, Nth: 1, After: true},
	)
	bucket := objstore.Named(faults, "main data")
	list := func() (err error) {
		for _, err = range bucket.List(ctx, "", objstore.ListOptions{}) {
		}
		return err
	}
	stat := func() error { _, err := bucket.Stat(ctx, "a"); return err }
	for _, test := range []struct {
		do            func() error
		is            error
		refusesWrites bool
	}{
		{stat, objstore.ErrUnavailable, false},
		{stat, objstore.ErrDenied, false},
		{func() error { return bucket.Put(ctx, "a", strings.NewReader("x"), 1) }, objstore.ErrDenied, true},
		{func() error { return bucket.Delete(ctx, "a") }, objstore.ErrCredential, false},
		{list, objstore.ErrNoBucket, false},
	} {
		err := test.do()
		require.ErrorIs(t, err, test.is)
		var failure *objstore.StoreError
		require.ErrorAs(t, err, &failure)
		require.Equal(t, "main data", failure.Name)
		require.Equal(t, test.refusesWrites, failure.RefusesWrites(), "%v", err)
	}
	var failure *objstore.StoreError
	require.NotErrorAs(t, stat(), &failure, "a missing object is not the store's failure")
	require.ErrorIs(t, bucket.PutIfAbsent(ctx, "b", nil), objstore.ErrUnknown)
}
