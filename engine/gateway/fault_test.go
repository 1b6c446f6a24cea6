package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/gateway"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

// store is a Bucket whose reads a test takes over.
type store struct {
	objstore.Bucket
	mu       sync.Mutex
	getRange func(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error)
}

func (s *store) set(f func(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.getRange = f
}

func (s *store) GetRange(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	s.mu.Lock()
	f := s.getRange
	s.mu.Unlock()
	if f == nil {
		f = s.Bucket.GetRange
	}
	return f(ctx, name, offset, length)
}

// hanging is a body that gives nothing until its context ends.
func hanging(ctx context.Context, _ string, _, _ int64) (io.ReadCloser, error) {
	return objstore.Body(ctx, readerFunc(func([]byte) (int, error) {
		<-ctx.Done()
		return 0, ctx.Err()
	}), io.NopCloser(nil)), nil
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

var bothKinds = []string{"a.parquet", "a.other"}

// TestAFailingStoreIs400WithItsCause: every failure of a store, at every
// operation, is a 400 that a kernel does not repeat.
func TestAFailingStoreIs400WithItsCause(t *testing.T) {
	for _, cause := range []error{objstore.ErrUnavailable, objstore.ErrDenied, errors.New("odd")} {
		for _, op := range []objstore.Op{objstore.OpStat, objstore.OpGetRange, objstore.OpList} {
			for _, name := range bothKinds {
				faults := objstore.NewFaults(mem.New(), objstore.Cut{Ops: []objstore.Op{op}, Nth: 1, Forever: true, Err: cause})
				mustPut(t, faults, name, text(100))
				registry := prometheus.NewPedanticRegistry()
				grant := mustGrant(t, mustGateway(t, gateway.Options{Registerer: registry}), faults, "")
				c := client(t, grant)
				_, err := get(t.Context(), c, name, "bytes=5-6")
				if op == objstore.OpList {
					_, err = c.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String(bucketName)})
				}
				require.Equal(t, http.StatusBadRequest, status(t, err))
				require.NotContains(t, err.Error(), "cut by test")
				require.ErrorIs(t, grant.Cause(), cause)
				defer grant.Begin(t.Context())()
				require.NoError(t, grant.Cause(), "a new statement begins without one")
				label := map[objstore.Op]string{objstore.OpList: "list failed"}[op]
				if label == "" {
					label = "get failed"
				}
				require.EqualValues(t, 1, counters(t, registry, "lakewarden_gateway_requests_total")[label])
			}
		}
	}
}

// TestAHangingStoreEndsWithItsStatement covers every operation, deadlines and
// cancels, before the first byte and after some.
func TestAHangingStoreEndsWithItsStatement(t *testing.T) {
	inner := mem.New()
	for _, name := range bothKinds {
		mustPut(t, inner, name, text(4096))
	}
	for name, hang := range map[string]objstore.Bucket{
		"body":  &store{Bucket: inner, getRange: hanging},
		"tail":  &store{Bucket: inner, getRange: thenHang(inner, 3000)},
		"open":  &stuck{Bucket: inner, op: objstore.OpGetRange},
		"stat":  &stuck{Bucket: inner, op: objstore.OpStat},
		"list":  &stuck{Bucket: inner, op: objstore.OpList},
		"never": inner,
	} {
		t.Run(name, func(t *testing.T) {
			g := mustGateway(t, gateway.Options{BlockBytes: 1024})
			grant, err := g.Grant(gateway.Location{Bucket: bucketName, Identity: "one", Store: hang, Prefixes: []string{""}})
			require.NoError(t, err)
			c := client(t, grant)
			for _, object := range bothKinds {
				limit := 150 * time.Millisecond
				if name == "never" {
					limit = time.Minute
				}
				start := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				end := grant.Begin(ctx)
				_, err := get(within(t, time.Minute), c, object, "")
				if name == "list" {
					_, err = c.ListObjectsV2(within(t, time.Minute), &s3.ListObjectsV2Input{Bucket: aws.String(bucketName)})
				}
				took := time.Since(start)
				if name == "never" {
					require.NoError(t, err)
				} else {
					require.Error(t, err)
					require.GreaterOrEqual(t, took, limit, "ends at the deadline")
					require.Less(t, took, 30*time.Second, "ends at the deadline")
				}
				require.NoError(t, grant.Cause(), "the deadline is no failure of the store")
				end()
				cancel()
			}
		})
	}
}

func thenHang(inner objstore.Bucket, after int64) func(context.Context, string, int64, int64) (io.ReadCloser, error) {
	return func(ctx context.Context, name string, offset, _ int64) (io.ReadCloser, error) {
		body, err := inner.GetRange(ctx, name, offset, max(after-offset, 0))
		if err != nil {
			return nil, err
		}
		rest, _ := hanging(ctx, "", 0, 0)
		return io.NopCloser(io.MultiReader(body, rest)), nil
	}
}

// TestAClientThatReadsNothingEndsWithItsStatement: a response that the client does not read does
// not outlive the deadline.
func TestAClientThatReadsNothingEndsWithItsStatement(t *testing.T) {
	inner := mem.New()
	mustPut(t, inner, "big.parquet", make([]byte, 32<<20))
	g := mustGateway(t, gateway.Options{})
	grant, err := g.Grant(gateway.Location{Bucket: bucketName, Identity: "one", Store: inner, Prefixes: []string{""}})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	end := grant.Begin(ctx)
	out, err := client(t, grant).GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String(bucketName), Key: aws.String("big.parquet")})
	require.NoError(t, err)
	defer out.Body.Close()
	cancel()
	end()
	_, err = io.Copy(io.Discard, out.Body)
	require.Error(t, err, "cut, not complete")
}

// TestLyingStores: the lengths that a store reports are checked.
func TestLyingStores(t *testing.T) {
	const size = 10_000
	content := text(size)
	whole := mem.New()
	for _, name := range bothKinds {
		mustPut(t, whole, name, content)
	}
	lies := map[string]func(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error){
		"empty": func(context.Context, string, int64, int64) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(nil)), nil
		},
		"short by one": func(_ context.Context, _ string, offset, length int64) (io.ReadCloser, error) {
			start, end := objstore.Range(size, offset, length)
			return io.NopCloser(bytes.NewReader(content[start : end-1])), nil
		},
		"longer by one": func(_ context.Context, _ string, offset, length int64) (io.ReadCloser, error) {
			start, end := objstore.Range(size+1, offset, length)
			return io.NopCloser(bytes.NewReader(append(bytes.Clone(content), 'x')[start:end])), nil
		},
		"reset": func(_ context.Context, _ string, offset, length int64) (io.ReadCloser, error) {
			start, end := objstore.Range(size, offset, length)
			return io.NopCloser(io.MultiReader(bytes.NewReader(content[start:start+(end-start)/2]), iotest.ErrReader(io.ErrUnexpectedEOF))), nil
		},
		"reset at the end": func(_ context.Context, _ string, offset, length int64) (io.ReadCloser, error) {
			start, end := objstore.Range(size, offset, length)
			return io.NopCloser(io.MultiReader(bytes.NewReader(content[start:end]),
				iotest.ErrReader(fmt.Errorf("%w: reset", objstore.ErrUnavailable)))), nil
		},
	}
	for lie, getRange := range lies {
		for _, name := range bothKinds {
			t.Run(lie+" "+name, func(t *testing.T) {
				for _, asked := range []string{"", "bytes=-100", "bytes=9000-", "bytes=9999-9999"} {
					liar := &store{Bucket: whole, getRange: getRange}
					grant := mustGrant(t, mustGateway(t, gateway.Options{BlockBytes: 512, Dir: t.TempDir()}), liar, "")
					c := client(t, grant)
					got, err := get(within(t, time.Minute), c, name, asked)
					require.Error(t, err, "%s: %d bytes", asked, len(got))
					require.Error(t, grant.Cause(), asked)
					liar.set(nil)
					got, err = get(within(t, time.Minute), c, name, "")
					require.NoError(t, err, asked)
					require.Equal(t, content, got, "the lie is not in the cache")
				}
			})
		}
	}
}

// TestABrokenBodyIsResumed: a connection that breaks in the middle costs no
// statement, and no byte comes twice.
func TestABrokenBodyIsResumed(t *testing.T) {
	inner := mem.New()
	content := text(10_000)
	mustPut(t, inner, "a.parquet", content)
	faults := objstore.NewFaults(inner,
		objstore.Cut{Ops: []objstore.Op{objstore.OpGetRange}, Nth: 1, After: true},
		objstore.Cut{Ops: []objstore.Op{objstore.OpGetRange}, Nth: 2, After: true})
	grant := mustGrant(t, mustGateway(t, gateway.Options{BlockBytes: 512}), faults, "")
	got, err := get(t.Context(), client(t, grant), "a.parquet", "")
	require.NoError(t, err)
	require.Equal(t, content, got)
	require.NoError(t, grant.Cause())
	require.Equal(t, 3, faults.Count(objstore.OpGetRange))
}

// TestAnObjectThatWasReplaced: a mutable object is described again on every request, a write-once
// object if a listing shows the change or its body ends too early.
func TestAnObjectThatWasReplaced(t *testing.T) {
	inner := mem.New()
	grant := mustGrant(t, mustGateway(t, gateway.Options{BlockBytes: 512}), inner, "")
	c := client(t, grant)
	for _, name := range append(bothKinds, "t/_delta_log/_last_checkpoint") {
		mustPut(t, inner, name, text(2000))
		got, err := get(t.Context(), c, name, "bytes=0-9")
		require.NoError(t, err)
		require.Len(t, got, 10)
		for _, size := range []int{900, 3000} {
			mustPut(t, inner, name, text(size))
			if size == 3000 {
				_, err = c.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String(bucketName)})
				require.NoError(t, err)
			}
			got, err = get(t.Context(), c, name, "bytes=600-")
			require.NoError(t, err, name)
			require.Equal(t, text(size)[600:], got, name)
		}
	}
}

// stuck is a Bucket of which one operation never begins to answer.
type stuck struct {
	objstore.Bucket
	op objstore.Op
}

func (s *stuck) Stat(ctx context.Context, name string) (objstore.Object, error) {
	if s.op == objstore.OpStat {
		<-ctx.Done()
		return objstore.Object{}, ctx.Err()
	}
	return s.Bucket.Stat(ctx, name)
}

func (s *stuck) GetRange(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	if s.op == objstore.OpGetRange {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.Bucket.GetRange(ctx, name, offset, length)
}

func (s *stuck) List(ctx context.Context, prefix string, opts objstore.ListOptions) iter.Seq2[objstore.Object, error] {
	if s.op != objstore.OpList {
		return s.Bucket.List(ctx, prefix, opts)
	}
	return func(yield func(objstore.Object, error) bool) {
		<-ctx.Done()
		yield(objstore.Object{}, ctx.Err())
	}
}
