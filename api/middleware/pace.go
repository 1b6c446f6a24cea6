package middleware

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/lakewarden/lakewarden/api/problem"
)

// Pace ends requests whose client sends its body or takes the reply too slowly. A zero
// field has the default in parentheses.
type Pace struct {
	// Grace is how long a body may take before Rate applies (10 s). Pause is how long a
	// body may make no progress (30 s).
	Grace, Pause time.Duration
	// Rate is the minimum rate in bytes a second (1024).
	Rate int64
	// Whole is how long a whole body may take (5 min), unless it is a stream.
	Whole time.Duration
	// Streams reports whether a request's body is a stream, whose operation has its own
	// time limit. If Streams is nil, no body is a stream.
	Streams func(*http.Request) bool
	// Rest is how long the server waits for the unread remainder of a body when the reply
	// begins (5 s).
	Rest time.Duration
	// Reply is how long the client may take for the reply (1 min). Handlers of
	// long replies set deadlines of their own.
	Reply time.Duration
}

// beforeReply is the write deadline until the reply begins. It is long because the body
// may have to arrive first.
const beforeReply = 10 * time.Minute

var errSlowBody = errors.New("request body arrives too slowly")

// Handler applies the limits. Reading a body that is too slow fails with an error that
// becomes 400 body_too_slow, and the connection is closed. Only time that the handler
// spends waiting for the client counts.
func (p Pace) Handler(next http.Handler) http.Handler {
	p.Grace, p.Pause, p.Rate = or(p.Grace, 10*time.Second), or(p.Pause, 30*time.Second), or(p.Rate, 1024)
	p.Whole, p.Rest, p.Reply = or(p.Whole, 5*time.Minute), or(p.Rest, 5*time.Second), or(p.Reply, time.Minute)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pw := &pacedWriter{ResponseWriter: w, control: http.NewResponseController(w), pace: p}
		_ = pw.control.SetWriteDeadline(time.Now().Add(beforeReply))
		if r.Body != nil && r.Body != http.NoBody {
			pw.body = &pacedBody{ReadCloser: r.Body, writer: pw, request: r, left: p.Grace, whole: p.Whole}
			if p.Streams != nil && p.Streams(r) {
				pw.body.stream, pw.body.whole = true, 1<<63-1
			}
			r.Body = pw.body
		}
		next.ServeHTTP(pw, r)
	})
}

// message returns the error message about the rate of a body.
func (p Pace) message(stream bool) string {
	text := fmt.Sprintf("must arrive at %d bytes a second or faster, with pauses of %v at most", p.Rate, p.Pause)
	if !stream {
		text += fmt.Sprintf(", and within %v", p.Whole)
	}
	return text
}

// pacedWriter manages the deadlines of a connection during one request.
type pacedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	pace    Pace
	body    *pacedBody // nil if the request has none

	mu   sync.Mutex
	sent bool // the reply has begun
	slow bool // the body was too slow
	cut  bool // the handler has interrupted the reading of the body
	done bool // the body was read to its end
	// until is the read deadline that the handler has set, or zero.
	until time.Time
}

// SetReadDeadline implements the method that [http.ResponseController] calls. The
// handler's deadline applies in addition to those of w.
func (w *pacedWriter) SetReadDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.until = t
	if w.done {
		// No read follows, except that by which net/http detects a client that goes away: it would
		// take a deadline for that, and end all further requests of the connection, too.
		return nil
	}
	if t.IsZero() {
		return nil // the next read sets the deadline of the pace
	}
	w.cut = w.cut || !t.After(time.Now())
	return w.control.SetReadDeadline(t)
}

// expect sets the deadline of a read that may take up to limit.
func (w *pacedWriter) expect(limit time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	deadline := time.Now().Add(limit)
	if !w.until.IsZero() && w.until.Before(deadline) {
		deadline = w.until
	}
	_ = w.control.SetReadDeadline(deadline)
}

// endBody records that the handler has read the body to its end, or that the body was
// too slow.
func (w *pacedWriter) endBody(slow bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if slow {
		w.slow = true
		return
	}
	w.done = true
	// Without a deadline the server can detect a client that goes away.
	_ = w.control.SetReadDeadline(time.Time{})
}

// begin sets the deadline of the reply. Before that it discards the unread remainder of
// the body, for at most Pace.Rest, so that the connection can be used again.
func (w *pacedWriter) begin() {
	w.mu.Lock()
	first, unread := !w.sent, w.body != nil && !w.done && !w.slow
	w.sent = true
	if first && (w.slow || w.cut) {
		w.Header().Set("Connection", "close")
	}
	w.mu.Unlock()
	if !first {
		return
	}
	if unread {
		_ = w.control.SetReadDeadline(time.Now().Add(w.pace.Rest))
		w.body.skip()
	}
	_ = w.control.SetWriteDeadline(time.Now().Add(w.pace.Reply))
}

// WriteHeader begins the reply with the first status that is not informational.
func (w *pacedWriter) WriteHeader(status int) {
	if status >= http.StatusOK {
		w.begin()
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (w *pacedWriter) Write(p []byte) (int, error) {
	w.begin()
	return w.ResponseWriter.Write(p)
}

// Flush begins the reply and flushes the underlying writer if it can.
func (w *pacedWriter) Flush() {
	w.begin()
	_ = w.control.Flush()
}

// Unwrap returns the underlying writer for [http.ResponseController].
func (w *pacedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// pacedBody is the body of a request. It is not safe for concurrent use.
type pacedBody struct {
	io.ReadCloser
	writer  *pacedWriter
	request *http.Request
	// left is how long the next bytes may take: each byte adds its share of a second, up
	// to the longest pause. whole is how long the remainder of the body may take.
	left, whole time.Duration
	// stream reports that the total time of the body is not limited.
	stream bool
	err    error
}

// Read implements io.Reader.
func (b *pacedBody) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	limit, begun := min(b.left, b.whole), time.Now()
	b.writer.expect(limit)
	n, err := b.ReadCloser.Read(p)
	waited := time.Since(begun)
	b.whole -= waited
	pace := b.writer.pace
	b.left = min(b.left-waited+time.Duration(n)*time.Second/time.Duration(pace.Rate), pace.Pause)
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, io.EOF):
		b.writer.endBody(false)
	case isTimeout(err) && waited >= limit:
		b.writer.endBody(true)
		err = problem.Respond(b.request.Context(), &problem.Refusal{
			Code: "body_too_slow", Cause: errSlowBody,
			Details: []problem.Detail{{Field: "body", Message: pace.message(b.stream)}},
		}, false)
	}
	b.err = err
	return n, err
}

// maxSkipped is the size of the largest unread remainder of a body that the server reads
// so that the connection can be used again.
const maxSkipped = 256 << 10

// skip reads the remainder of a body within the connection's deadline. It does not
// request a body that the client withholds until 100 Continue.
func (b *pacedBody) skip() {
	if b.request.Header.Get("Expect") != "" || b.request.ContentLength > maxSkipped {
		return
	}
	if n, err := io.CopyN(io.Discard, b.ReadCloser, maxSkipped); n < maxSkipped && errors.Is(err, io.EOF) {
		b.writer.endBody(false)
	}
}

func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}
