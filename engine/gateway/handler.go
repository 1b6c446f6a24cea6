package gateway

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// request is one authenticated request of a statement.
type request struct {
	gateway   *Gateway
	ctx       context.Context // ends with the statement or the connection
	statement *statement
	location  *Location
	w         http.ResponseWriter
	r         *http.Request
	name      string // the object, or the prefix of a listing
	query     url.Values
}

// ServeHTTP implements http.Handler.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !g.enter() {
		panic(http.ErrAbortHandler)
	}
	defer g.requests.Done()
	op, outcome := "other", "aborted" // after a panic
	defer func() { g.metrics.requests.WithLabelValues(op, outcome).Inc() }()
	var refused *refusal
	if op, refused = g.serve(w, r); refused != nil {
		refused.write(w, r.Method)
	}
	outcome = outcomeOf(refused)
}

// enter registers a request for which Close waits. It returns false after Close.
func (g *Gateway) enter() bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if !g.closed {
		g.requests.Add(1)
	}
	return !g.closed
}

// serve answers a request. It returns the operation and, if the request is refused, the reason.
func (g *Gateway) serve(w http.ResponseWriter, r *http.Request) (op string, refused *refusal) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return "write", refuseMethod
	}
	bucket, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	op = operation(r.Method, name)
	if op == "list" || strings.Contains(name, logDir) {
		w.Header().Set("Connection", "close")
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil || !strings.HasPrefix(r.URL.Path, "/") {
		return op, refuseArgument
	}
	grant, refused := g.authenticate(r)
	if refused != nil {
		return op, refused
	}
	if r.ContentLength != 0 {
		return op, refuseBody
	}
	st := grant.running()
	if st == nil {
		return op, refuseIdle
	}
	ctx, done := st.attach(w, r)
	defer done()
	q := &request{gateway: g, ctx: ctx, statement: st, w: w, r: r, name: name, query: query}
	if op == "list" {
		q.name = query.Get("prefix")
	}
	var granted bool
	if q.location, granted = grant.open(bucket, q.name); !granted {
		return op, refusalOutside(q.name)
	}
	return op, q.run(op)
}

// logDir is in the names of the objects for which the Delta kernel sends requests ahead of need.
// Each of its connections serves one request, because the kernel must not return one to its pool
// outside of its asynchronous runtime. It does so when a statement stops, because of an error in a
// value for example, while a response of which nothing was read has arrived: the first connection
// that returns to a pool starts a task, which aborts the process ("there is no reactor running",
// under free_scan_metadata_iter; measured with DuckDB 1.5.5 and hyper-util 0.1.20, in about one of
// ten statements that fail in the first file of two commits). A connection that the response closes
// does not return.
const logDir = "_delta_log/"

// refusalOutside returns the response to names that a key does not open. When the Delta kernel
// reads this one file it escapes the folder of the table twice, so its request is outside the
// table's prefix. The kernel continues without the hint if the file is missing, but fails if it is
// refused.
func refusalOutside(name string) *refusal {
	if path.Base(name) == "_last_checkpoint" {
		return refuseMissing
	}
	return refuseAccess
}

func operation(method, name string) string {
	switch {
	case method == http.MethodHead:
		return "head"
	case name == "":
		return "list"
	}
	return "get"
}

// flushTime limits how long the rest of a response may take after its handler has returned.
const flushTime = 5 * time.Second

// attach binds a request to its statement: the returned context ends with either, and a client that
// does not read the response cannot hold the connection longer.
func (s *statement) attach(w http.ResponseWriter, r *http.Request) (context.Context, func()) {
	ctx, cancel := context.WithCancel(s.ctx)
	gone := context.AfterFunc(r.Context(), cancel)
	control := http.NewResponseController(w)
	until := func(t time.Time) { _ = control.SetWriteDeadline(t) } // fails on closed connections
	until(time.Time{})
	cut := make(chan struct{})
	overdue := context.AfterFunc(ctx, func() {
		defer close(cut)
		until(time.Unix(1, 0))
	})
	return ctx, func() {
		if !overdue() {
			<-cut
		}
		// The refusal can still be sent, and the connection can be reused.
		until(time.Now().Add(flushTime))
		gone()
		cancel()
	}
}

func (q *request) run(op string) *refusal {
	answer := q.object
	if op == "list" {
		answer = q.list
	}
	err := answer()
	var refused *refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return refused
	case q.ctx.Err() != nil:
		return refuseEnded
	}
	q.statement.failed(err)
	return refusalOf(err)
}

// redescribes is how often an object is described again that was replaced between its description
// and its bytes.
const redescribes = 2

// object answers HeadObject and GetObject.
func (q *request) object() error {
	for key := range q.query {
		// Some clients name the operation in x-id; the method decides it here.
		if key != "x-id" {
			return refuseArgument
		}
	}
	if err := objstore.ValidName(q.name); err != nil {
		return refuseAccess
	}
	for attempt := 0; ; attempt++ {
		err := q.content()
		if !errors.Is(err, ErrContent) || attempt == redescribes {
			return err
		}
	}
}

func (q *request) content() error {
	object, err := q.gateway.cache.stat(q.ctx, q.location, q.name)
	if err != nil {
		return err
	}
	if match := q.r.Header.Get("If-Match"); match != "" && match != "*" && match != object.etag() {
		return refuseMatch
	}
	span, err := parseRange(q.r.Header.Values("Range"), object.size)
	if errors.Is(err, refuseRange) {
		q.w.Header().Set("Content-Range", span.contentRange(object.size))
	}
	if err != nil {
		return err
	}
	if q.r.Method == http.MethodHead {
		q.describe(object, span)
		return nil
	}
	return q.send(object, span)
}

// send streams the bytes of an object. It sends the status with the first of them; a later failure
// breaks the connection.
func (q *request) send(object object, span span) error {
	sent := false
	for piece, err := range q.gateway.cache.read(q.ctx, q.statement, q.location, object, span.start, span.end) {
		switch {
		case err != nil && sent:
			if q.ctx.Err() == nil {
				q.statement.failed(err)
			}
			panic(http.ErrAbortHandler)
		case err != nil:
			return err
		case !sent:
			q.describe(object, span)
			sent = true
		}
		// Counted first: a session that has the bytes finds them counted.
		q.gateway.metrics.sent.Add(float64(len(piece)))
		if _, err := q.w.Write(piece); err != nil {
			panic(http.ErrAbortHandler) // the client has disconnected, or its statement has ended
		}
	}
	if !sent {
		q.describe(object, span)
	}
	return nil
}
