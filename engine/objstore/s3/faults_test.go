package s3_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/objstoretest"
	"github.com/lakewarden/lakewarden/engine/objstore/s3"
	"github.com/lakewarden/lakewarden/engine/objstore/s3test"
)

// disturbances are what a network does. limit_data cuts the connection after so
// many bytes, which loses replies of requests that took effect.
var disturbances = []struct {
	name       string
	kind       string
	upstream   bool
	attributes map[string]any
}{
	{"reset", "reset_peer", false, map[string]any{"timeout": 0}},
	{"reset of requests", "reset_peer", true, map[string]any{"timeout": 0}},
	{"silence", "timeout", false, map[string]any{"timeout": 0}},
	{"silence to the server", "timeout", true, map[string]any{"timeout": 0}},
	{"cut at once", "limit_data", false, map[string]any{"bytes": 0}},
	{"cut in the reply", "limit_data", false, map[string]any{"bytes": 20}},
	{"cut in the request", "limit_data", true, map[string]any{"bytes": 200}},
	{"too slow", "latency", false, map[string]any{"latency": 2000}},
}

// TestNetworkFaults: whatever the network does, an operation ends in time, and the outcome that it
// reports for a write agrees with the content of the store.
func TestNetworkFaults(t *testing.T) {
	server := s3test.Start(t)
	for _, fault := range disturbances {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			proxy := server.Proxy(t)
			name := server.Bucket(t)
			direct := mustNew(t, options(server.Endpoint, name))
			objstoretest.MustPut(t, direct, "there", "content")
			o := options(proxy.Endpoint, name)
			o.Limits = quick
			bucket := mustNew(t, o)
			proxy.Disturb(fault.kind, fault.upstream, fault.attributes)

			start := time.Now()
			body, err := bucket.Get(t.Context(), "there")
			if err == nil {
				_, err = io.ReadAll(body)
				body.Close()
			}
			require.ErrorIs(t, err, objstore.ErrUnavailable)
			for _, err := range bucket.List(t.Context(), "", objstore.ListOptions{}) {
				require.ErrorIs(t, err, objstore.ErrUnavailable)
			}
			for i := range 5 {
				object := fmt.Sprintf("commit-%d", i)
				err := bucket.PutIfAbsent(t.Context(), object, []byte(object))
				require.Error(t, err)
				require.NotErrorIs(t, err, objstore.ErrExists, "nobody else writes")
				_, missing := direct.Stat(t.Context(), object)
				if objstoretest.OutcomeOf(err) == untouched {
					require.ErrorIs(t, missing, objstore.ErrNotFound, "%v", err)
				}
			}
			require.Error(t, bucket.Put(t.Context(), "put", bytes.NewReader([]byte("x")), 1))
			require.Error(t, bucket.Delete(t.Context(), "there"))
			require.Less(t, time.Since(start), 15*time.Second, "each of nine operations ends in time")

			proxy.Heal()
			require.Eventually(t, func() bool {
				err := bucket.PutIfAbsent(t.Context(), "after", nil)
				return err == nil || errors.Is(err, objstore.ErrExists) // written by a try whose reply was late
			}, 10*time.Second, 10*time.Millisecond, "the same client works again")
		})
	}
}

// TestNetworkThatOnlyAnnoys: delays and small packets change nothing.
func TestNetworkThatOnlyAnnoys(t *testing.T) {
	server := s3test.Start(t)
	proxy := server.Proxy(t)
	bucket := mustNew(t, options(proxy.Endpoint, server.Bucket(t)))
	proxy.Disturb("latency", false, map[string]any{"latency": 20, "jitter": 20})
	proxy.Disturb("slicer", false, map[string]any{"average_size": 100, "size_variation": 50, "delay": 10})
	content := string(bytes.Repeat([]byte("0123456789"), 2000))
	objstoretest.MustPut(t, bucket, "a/b", content)
	require.Equal(t, content, objstoretest.MustGet(t, bucket, "a/b"))
	require.ErrorIs(t, bucket.PutIfAbsent(t.Context(), "a/b", nil), objstore.ErrExists)
	require.Equal(t, []string{"a/b"}, objstoretest.MustList(t, bucket, ""))
}

// TestCancelledInFlight: if the context ends during a write, the caller learns at once that the
// write may have taken effect.
func TestCancelledInFlight(t *testing.T) {
	server := s3test.Start(t)
	proxy := server.Proxy(t)
	o := options(proxy.Endpoint, server.Bucket(t))
	bucket := mustNew(t, o)
	proxy.Disturb("timeout", false, map[string]any{"timeout": 0})
	for name, write := range map[string]func(context.Context) error{
		"put if absent": func(ctx context.Context) error { return bucket.PutIfAbsent(ctx, "a", []byte("x")) },
		"put":           func(ctx context.Context) error { return bucket.Put(ctx, "a", bytes.NewReader([]byte("x")), 1) },
		"delete":        func(ctx context.Context) error { return bucket.Delete(ctx, "a") },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		start := time.Now()
		err := write(ctx)
		cancel()
		require.ErrorIs(t, err, objstore.ErrUnknown, name)
		require.ErrorIs(t, err, context.DeadlineExceeded, name)
		require.Less(t, time.Since(start), 3*time.Second, name)
	}
}

// TestPartsLeaveNoTrace: a large body that breaks, or whose store breaks, is
// not there and leaves no parts behind.
func TestPartsLeaveNoTrace(t *testing.T) {
	server := s3test.Start(t)
	proxy := server.Proxy(t)
	name := server.Bucket(t)
	o := options(proxy.Endpoint, name)
	o.Limits = s3.Limits{PartSize: 5 << 20, Idle: 5 * time.Second, Backoff: time.Millisecond}
	bucket := mustNew(t, o)
	whole := bytes.Repeat([]byte("0123456789abcdef"), 12<<16) // 12 MiB
	require.NoError(t, bucket.Put(t.Context(), "good", bytes.NewReader(whole), int64(len(whole))))
	require.Equal(t, string(whole), objstoretest.MustGet(t, bucket, "good"))

	require.ErrorIs(t, bucket.Put(t.Context(), "short", bytes.NewReader(whole), int64(len(whole))+1), objstore.ErrSize)
	require.ErrorIs(t, bucket.Put(t.Context(), "long", bytes.NewReader(whole), int64(len(whole))-1), objstore.ErrSize)
	proxy.Disturb("limit_data", true, map[string]any{"bytes": 3 << 20})
	err := bucket.Put(t.Context(), "cut", bytes.NewReader(whole), int64(len(whole)))
	require.ErrorIs(t, err, objstore.ErrUnavailable, "no part gets through, and nothing is visible before the last request")
	proxy.Heal()
	require.Equal(t, []string{"good"}, objstoretest.MustList(t, bucket, ""))
}
