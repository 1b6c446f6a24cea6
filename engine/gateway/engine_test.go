package gateway_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/gateway"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

// askingEngine is an engine whose statements ask the endpoint for one object
// without a signature, and fail.
type askingEngine struct {
	engine.Engine
	got engine.SessionOptions
}

func (e *askingEngine) Open(_ context.Context, opts engine.SessionOptions) (engine.Session, error) {
	e.got = opts
	return &askingSession{remote: opts.Remote}, nil
}

type askingSession struct {
	engine.Session
	remote *engine.Remote
}

func (s *askingSession) Query(context.Context, engine.Statement) (engine.Result, error) {
	return &askingResult{}, nil
}

func (s *askingSession) Close() error { return nil }

type askingResult struct{ engine.Result }

func (*askingResult) Next(context.Context) (arrow.RecordBatch, error) {
	return nil, &engine.Error{Kind: engine.KindRuntime, Class: "http"}
}
func (*askingResult) Close() error { return nil }

func TestSessionsGetAKeyForTheirRemoteRootsOnly(t *testing.T) {
	g, err := gateway.New(gateway.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, g.Close()) }()
	inner := &askingEngine{}
	refused := errors.New("no such configuration")
	e := gateway.NewEngine(inner, g, func(_ context.Context, owner, bucket string) (gateway.Location, error) {
		if owner != "o" || bucket != "cfg-1" {
			return gateway.Location{}, refused
		}
		return gateway.Location{Bucket: bucket, Identity: "place", Store: mem.New(), Prefixes: []string{""}}, nil
	})

	_, err = e.Open(t.Context(), engine.SessionOptions{Owner: "o", Roots: []string{"/local"}})
	require.NoError(t, err)
	require.Equal(t, engine.SessionOptions{Owner: "o", Roots: []string{"/local"}}, inner.got, "no key without a remote root")

	_, err = e.Open(t.Context(), engine.SessionOptions{Owner: "o", Roots: []string{gateway.Root("cfg-2")}})
	require.ErrorIs(t, err, refused)

	s, err := e.Open(t.Context(), engine.SessionOptions{Owner: "o", Roots: []string{"/local", gateway.Root("cfg-1")}})
	require.NoError(t, err)
	require.Equal(t, []string{"/local"}, inner.got.Roots)
	require.Equal(t, []string{"s3://cfg-1/"}, inner.got.Remote.Prefixes)
	require.Equal(t, g.Endpoint(), inner.got.Remote.Endpoint)
	require.NotEmpty(t, inner.got.Remote.SecretKey)

	result, err := s.Query(t.Context(), engine.Statement{})
	require.NoError(t, err)
	_, err = result.Next(t.Context())
	var failure *engine.Error
	require.ErrorAs(t, err, &failure)
	require.Equal(t, engine.KindRuntime, failure.Kind, "no store failed, so the engine's word stands")
	require.NoError(t, result.Close())
	require.NoError(t, s.Close())

	answer, err := http.Get("http://" + g.Endpoint() + "/cfg-1/x")
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusForbidden, answer.StatusCode)
}

// countingContext counts the contexts that wait for its end.
type countingContext struct {
	context.Context
	waiting atomic.Int64
}

func (c *countingContext) Done() <-chan struct{} { return make(chan struct{}) }

func (c *countingContext) AfterFunc(func()) (stop func() bool) {
	c.waiting.Add(1)
	var stopped atomic.Bool
	return func() bool {
		first := stopped.CompareAndSwap(false, true)
		if first {
			c.waiting.Add(-1)
		}
		return first
	}
}

// TestAStatementLeavesNothingBehindInItsContext: the context may live for long after the statement.
func TestAStatementLeavesNothingBehindInItsContext(t *testing.T) {
	g := mustGateway(t, gateway.Options{})
	e := gateway.NewEngine(&askingEngine{}, g, func(_ context.Context, _, bucket string) (gateway.Location, error) {
		return gateway.Location{Bucket: bucket, Identity: "place", Store: mem.New(), Prefixes: []string{""}}, nil
	})
	s, err := e.Open(t.Context(), engine.SessionOptions{Roots: []string{gateway.Root("cfg-1")}})
	require.NoError(t, err)
	for _, timeout := range []time.Duration{0, time.Minute} {
		ctx := &countingContext{Context: t.Context()}
		result, err := s.Query(ctx, engine.Statement{Lease: engine.Lease{Timeout: timeout}})
		require.NoError(t, err)
		require.Positive(t, ctx.waiting.Load())
		require.NoError(t, result.Close())
		require.Zero(t, ctx.waiting.Load(), "timeout %v", timeout)
	}
	require.NoError(t, s.Close())
}
