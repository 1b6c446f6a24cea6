package networktest_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http/httptrace"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/networktest"
	"github.com/lakewarden/lakewarden/engine/objstore/objstoretest"
	"github.com/lakewarden/lakewarden/engine/objstore/remote"
)

// disturbances are what a network does. limit_data cuts the connection after so many bytes, which
// loses replies of requests that took effect.
var disturbances = []struct {
	name       string
	kind       string
	upstream   bool
	attributes map[string]any
	// silent reports that a client learns of it only because no reply comes in time.
	silent bool
}{
	{"reset", "reset_peer", false, map[string]any{"timeout": 0}, false},
	{"reset of requests", "reset_peer", true, map[string]any{"timeout": 0}, false},
	{"silence", "timeout", false, map[string]any{"timeout": 0}, true},
	{"silence to the server", "timeout", true, map[string]any{"timeout": 0}, true},
	{"cut at once", "limit_data", false, map[string]any{"bytes": 0}, false},
	{"cut in the reply", "limit_data", false, map[string]any{"bytes": 20}, false},
	{"cut in the request", "limit_data", true, map[string]any{"bytes": 200}, false},
	{"too slow", "latency", false, map[string]any{"latency": 2000}, true},
}

// TestNetworkFaults: whatever the network does, an operation ends in time, and the outcome that it
// reports for a write agrees with the content of the store.
func TestNetworkFaults(t *testing.T) {
	each(t, func(t *testing.T, start func(*testing.T) root) {
		for _, fault := range disturbances {
			t.Run(fault.name, func(t *testing.T) {
				t.Parallel()
				r := start(t)
				proxy, direct := networktest.Start(t, r.address), r.direct(t)
				bucket := r.at(t, proxy.Listen, quick)
				objstoretest.MustPut(t, direct, "there", "content")
				proxy.Disturb(fault.kind, fault.upstream, fault.attributes)

				begun := time.Now()
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
					if objstoretest.OutcomeOf(err) == objstoretest.Untouched {
						require.ErrorIs(t, missing, objstore.ErrNotFound, "it said: %v", err)
					}
				}
				require.Error(t, bucket.Put(t.Context(), "put", bytes.NewReader([]byte("x")), 1))
				require.Error(t, bucket.Delete(t.Context(), "there"))
				// The default limits would allow each operation half a minute.
				require.Less(t, time.Since(begun), time.Minute, "each of nine operations ends in time")

				proxy.Heal()
				patient := r.at(t, proxy.Listen, remote.Limits{})
				require.NoError(t, patient.PutIfAbsent(t.Context(), "after", nil))
				require.Eventually(t, func() bool {
					_, err := bucket.Stat(t.Context(), "after")
					return err == nil
				}, time.Minute, 10*time.Millisecond, "the same client works again")
			})
		}
	})
}

// TestNetworkThatOnlyAnnoys: delays and small packets change nothing.
func TestNetworkThatOnlyAnnoys(t *testing.T) {
	each(t, func(t *testing.T, start func(*testing.T) root) {
		r := start(t)
		proxy := networktest.Start(t, r.address)
		bucket := r.at(t, proxy.Listen, remote.Limits{})
		proxy.Disturb("latency", false, map[string]any{"latency": 20, "jitter": 20})
		proxy.Disturb("slicer", false, map[string]any{"average_size": 100, "size_variation": 50, "delay": 10})
		content := string(bytes.Repeat([]byte("0123456789"), 2000))
		objstoretest.MustPut(t, bucket, "a/b", content)
		require.Equal(t, content, objstoretest.MustGet(t, bucket, "a/b"))
		require.ErrorIs(t, bucket.PutIfAbsent(t.Context(), "a/b", nil), objstore.ErrExists)
		require.Equal(t, []string{"a/b"}, objstoretest.MustList(t, bucket, ""))
	})
}

// TestCancelledInFlight: if the context ends while a write waits for its reply, the caller learns
// that the write may have taken effect. Nothing else ends the wait.
func TestCancelledInFlight(t *testing.T) {
	each(t, func(t *testing.T, start func(*testing.T) root) {
		r := start(t)
		proxy := networktest.Start(t, r.address)
		bucket := r.at(t, proxy.Listen, remote.Limits{Connect: time.Hour, Idle: time.Hour})
		objstoretest.MustPut(t, bucket, "before", "a token is cached")
		proxy.Disturb("timeout", false, map[string]any{"timeout": 0})
		for name, write := range map[string]func(context.Context) error{
			"put if absent": func(ctx context.Context) error { return bucket.PutIfAbsent(ctx, "a", []byte("x")) },
			"put":           func(ctx context.Context) error { return bucket.Put(ctx, "a", bytes.NewReader([]byte("x")), 1) },
			"delete":        func(ctx context.Context) error { return bucket.Delete(ctx, "a") },
		} {
			ctx, cancel := context.WithCancel(t.Context())
			err := write(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
				WroteRequest: func(httptrace.WroteRequestInfo) { cancel() },
			}))
			cancel()
			require.ErrorIs(t, err, objstore.ErrUnknown, name)
			require.ErrorIs(t, err, context.Canceled, name)
		}
	})
}

// TestPartsLeaveNoTrace: a large body that breaks, or whose store breaks, is not there and leaves no
// parts behind.
func TestPartsLeaveNoTrace(t *testing.T) {
	each(t, func(t *testing.T, start func(*testing.T) root) {
		r := start(t)
		proxy := networktest.Start(t, r.address)
		bucket := r.at(t, proxy.Listen, remote.Limits{PartSize: r.parts, Idle: time.Minute, Backoff: time.Millisecond})
		whole := bytes.Repeat([]byte("0123456789abcdef"), int(r.parts*5/2/16))
		size := int64(len(whole))
		require.NoError(t, bucket.Put(t.Context(), "good", bytes.NewReader(whole), size))
		require.Equal(t, string(whole), objstoretest.MustGet(t, bucket, "good"))

		require.ErrorIs(t, bucket.Put(t.Context(), "short", bytes.NewReader(whole), size+1), objstore.ErrSize)
		require.ErrorIs(t, bucket.Put(t.Context(), "long", bytes.NewReader(whole), size-1), objstore.ErrSize)
		proxy.Disturb("limit_data", true, map[string]any{"bytes": r.parts * 3 / 5})
		err := bucket.Put(t.Context(), "cut", bytes.NewReader(whole), size)
		require.ErrorIs(t, err, objstore.ErrUnavailable, "no part gets through, and nothing is visible before the last request")
		proxy.Heal()
		require.Equal(t, []string{"good"}, objstoretest.MustList(t, bucket, ""))
	})
}
