package gateway

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakewarden/lakewarden/engine"
)

// remoteScheme is the prefix of the roots of remote stores.
const remoteScheme = "s3://"

// Root returns a session's root for a whole storage configuration. The locations of its tables are
// below it.
func Root(bucket string) string { return remoteScheme + bucket + "/" }

// Engine is an engine whose sessions read remote stores through a gateway. Roots of the form
// s3://bucket/ become locations of a key that lives as long as the session; the inner engine
// receives that key and the remaining roots.
type Engine struct {
	engine.Engine
	gateway *Gateway
	locate  Locate
	// RefuseLogs refuses statements for which the engine itself would read the log of a remote
	// table: see [ErrNeedsIsolation]. It must be set before the first session is opened.
	RefuseLogs bool
}

// Locate returns the location of a bucket in a root of a session of owner. Engine.Open returns its
// errors.
type Locate func(ctx context.Context, owner, bucket string) (Location, error)

var _ engine.Engine = (*Engine)(nil)

// NewEngine wraps inner. Closing the returned engine or inner closes the sessions of both; the
// gateway stays open.
func NewEngine(inner engine.Engine, g *Gateway, locate Locate) *Engine {
	return &Engine{Engine: inner, gateway: g, locate: locate}
}

// Open implements [engine.Engine].
func (e *Engine) Open(ctx context.Context, opts engine.SessionOptions) (engine.Session, error) {
	local, buckets := splitRoots(opts.Roots)
	if len(buckets) == 0 {
		return e.Engine.Open(ctx, opts)
	}
	locations := make([]Location, len(buckets))
	for i, bucket := range buckets {
		var err error
		if locations[i], err = e.locate(ctx, opts.Owner, bucket); err != nil {
			return nil, err
		}
	}
	grant, err := e.gateway.Grant(locations...)
	if err != nil {
		return nil, err
	}
	opts.Roots = local
	opts.Remote = &engine.Remote{
		Endpoint: grant.Endpoint, Region: grant.Region, AccessKey: grant.AccessKey, SecretKey: grant.SecretKey,
		Prefixes: slices.Clone(grant.Prefixes),
	}
	inner, err := e.Engine.Open(ctx, opts)
	if err != nil {
		grant.Close()
		return nil, err
	}
	s := &session{Session: inner, grant: grant, refuseLogs: e.RefuseLogs}
	if w, writes := inner.(engine.Writer); writes {
		return writer{session: s, inner: w}, nil
	}
	return s, nil
}

func splitRoots(roots []string) (local, buckets []string) {
	for _, root := range roots {
		if rest, remote := strings.CutPrefix(root, remoteScheme); remote {
			buckets = append(buckets, strings.TrimSuffix(rest, "/"))
		} else {
			local = append(local, root)
		}
	}
	return local, buckets
}

// session enables its key while a statement runs.
type session struct {
	engine.Session
	grant      *Grant
	refuseLogs bool
}

// survives returns an error for a statement that could end the process.
func (s *session) survives(st engine.Statement) error {
	if !s.refuseLogs {
		return nil
	}
	for _, b := range st.Barriers {
		if ReadsRemoteLog(b.Source) {
			return ErrNeedsIsolation
		}
	}
	if slices.ContainsFunc(st.Sources, ReadsRemoteLog) {
		return ErrNeedsIsolation
	}
	return nil
}

// ReadsRemoteLog reports whether the engine itself reads the log of a remote table. Its log reader
// aborts the process when a statement stops while it holds a connection that can be reused. The
// gateway leaves it none (see logDir), but the reader is not trusted to survive in other states.
func ReadsRemoteLog(src engine.Source) bool {
	return src.Files == nil && strings.HasPrefix(src.Location, remoteScheme)
}

// Query ends the requests of st with ctx, and soon after its timeout: an engine that waits for a
// response cannot be interrupted.
func (s *session) Query(ctx context.Context, st engine.Statement) (engine.Result, error) {
	if err := s.survives(st); err != nil {
		return nil, err
	}
	requests, cancel := requestsOf(ctx, st.Lease.Timeout)
	s.grant.Begin(requests)
	r, err := s.Session.Query(ctx, st)
	if err != nil {
		err = s.explain(requests, err)
		cancel()
		return nil, err
	}
	return &result{Result: r, session: s, requests: requests, end: cancel}, nil
}

// writer is a session that can also write.
type writer struct {
	*session
	inner engine.Writer
}

// Write is like Query; it returns when all files are written.
func (w writer) Write(ctx context.Context, st engine.WriteStatement) ([]engine.DataFile, error) {
	if err := w.survives(st.Statement); err != nil {
		return nil, err
	}
	requests, cancel := requestsOf(ctx, st.Lease.Timeout)
	defer cancel()
	w.grant.Begin(requests)
	files, err := w.inner.Write(ctx, st)
	if err != nil {
		return nil, w.explain(requests, err)
	}
	return files, nil
}

// requestsOf returns the context of a statement's requests; a timeout of zero means none.
func requestsOf(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, timeout+timeoutGrace, engine.ErrTimeout)
}

// timeoutGrace is the time in which the engine itself can stop a statement that timed out, so that
// the error says so.
const timeoutGrace = 50 * time.Millisecond

func (s *session) Close() error {
	s.grant.Close()
	return s.Session.Close()
}

// ClassStore is the class of an engine error whose cause was a remote store.
const ClassStore = "store"

// explain replaces the engine's error with the failure of the store that caused it, or with the
// reason why the statement ended if that broke a read. The cause is available to the log and to
// errors.Is.
func (s *session) explain(requests context.Context, err error) error {
	var e *engine.Error
	if !errors.As(err, &e) || e.Kind == engine.KindInterrupted {
		return err
	}
	if requests.Err() != nil && e.Kind == engine.KindIO {
		return &engine.Error{Kind: engine.KindInterrupted, Class: "interrupted", Position: -1,
			Timeout: errors.Is(context.Cause(requests), engine.ErrTimeout)}
	}
	cause := s.grant.Cause()
	if cause == nil {
		return err
	}
	return &storeError{failure: &engine.Error{Kind: engine.KindIO, Class: ClassStore, Position: -1, Text: cause.Error()}, cause: cause}
}

// storeError is an engine error that wraps the store's error.
type storeError struct {
	failure *engine.Error
	cause   error
}

func (e *storeError) Error() string { return e.failure.Error() }

func (e *storeError) Unwrap() []error { return []error{e.failure, e.cause} }

// result ends its statement's requests when it is closed.
type result struct {
	engine.Result
	session  *session
	requests context.Context
	end      func()
}

func (r *result) Next(ctx context.Context) (arrow.RecordBatch, error) {
	defer context.AfterFunc(ctx, r.end)()
	batch, err := r.Result.Next(ctx)
	var e *engine.Error
	if errors.As(err, &e) {
		return nil, r.session.explain(r.requests, err)
	}
	return batch, err
}

// Close ends the requests first: a batch that waits for a request would block it.
func (r *result) Close() error {
	r.end()
	return r.Result.Close()
}
