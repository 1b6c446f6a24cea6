package queries

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"

	"github.com/lakewarden/lakewarden/api/problem"
	"github.com/lakewarden/lakewarden/api/result"
	"github.com/lakewarden/lakewarden/api/spill"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/engine"
)

// connection is a connection to a client. It implements [spill.Conn].
type connection struct {
	http.ResponseWriter
	control *http.ResponseController
}

// SetWriteDeadline implements spill.Conn. It fails if the underlying writer has no
// deadlines.
func (c connection) SetWriteDeadline(t time.Time) error { return c.control.SetWriteDeadline(t) }

// revocable is implemented by rows that must not be shown after a context has ended.
type revocable interface{ Context() context.Context }

// running is implemented by rows of a running statement. Finish releases its resources
// when no more rows will be read.
type running interface{ Finish() error }

// format returns the format for the Accept header, before a statement is run.
func format(accept string) (result.Format, error) {
	f, ok := result.Negotiate(accept)
	if !ok {
		return "", &problem.Refusal{Code: "not_acceptable", Details: []problem.Detail{{Field: "Accept", Message: "must allow " + v1.FormatList}}}
	}
	return f, nil
}

// streaming writes rows as a response.
type streaming struct {
	route v1.Route
	rows  engine.Result
	// spill buffers what a client does not read while a statement runs.
	spill *spill.Store
	// id identifies the statement; elapsed returns the time that the reply reports.
	id      string
	elapsed func() time.Duration
	format  result.Format
	limits  result.Options
	// cut reports that the rows were truncated before they are written.
	cut bool
	// next is the token of the following page, or empty.
	next string
	// accepted, if not nil, is the reply in place of rows.
	accepted *v1.Accepted
}

func (s streaming) response() *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		if s.accepted != nil {
			s.accepted.Write(ctx)
			return
		}
		r, w := humachi.Unwrap(ctx)
		s.Write(w, r)
	}}
}

func (s streaming) Write(w http.ResponseWriter, r *http.Request) {
	defer func() { _ = s.rows.Close() }()
	ctx, finish, client := r.Context(), func() {}, connection{w, http.NewResponseController(w)}
	if rows, ok := s.rows.(revocable); ok {
		ctx = rows.Context()
	}
	var out *spill.Writer
	if rows, ok := s.rows.(running); ok {
		turn, _ := s.rows.(spill.Turn)
		out, finish = s.spill.Writer(ctx, ownerOf(r), client, turn), func() { _ = rows.Finish() }
	} else {
		out = s.spill.Waiting(ctx, client)
	}
	defer func() { _ = out.Close() }()
	begin := func() {
		h := w.Header()
		h.Set("Content-Type", s.format.ContentType())
		h.Set("X-Query-Id", s.id)
		h.Set("Trailer", v1.TrailerTruncated+", "+v1.TrailerNextPage)
		w.WriteHeader(http.StatusOK)
	}
	opts := s.limits
	opts.Format = s.format
	opts.Tail = s.tail
	opts.Cut = s.cut
	opts.FailLine = func(err error) []byte { return failLine(r, err, s.route.Camel) }
	opts.Exhausted = finish
	sink := result.NewSink(out, begin)
	sum, err := result.Write(r.Context(), sink, s.rows, opts)
	if err != nil && !sink.Committed() {
		again, failed := restart(s.rows)
		switch {
		case failed != nil:
			err = failed
		case again:
			sink = result.NewSink(out, begin)
			sum, err = result.Write(r.Context(), sink, s.rows, opts)
		}
	}
	finish() // the statement does not wait for the client any more
	if !sink.Committed() {
		_, _ = out.Finish(), out.Close() // nothing was written
		problem.Write(w, r, err)
		return
	}
	unsent := out.Finish()
	if err != nil && unsent == nil && ctx.Err() != nil {
		unsent = context.Cause(ctx) // the line about the end was not sent
	}
	if unsent != nil {
		err = errors.Join(result.ErrBroken, unsent)
		if ctx.Err() != nil && s.format == result.NDJSON {
			_ = out.Break(append(opts.FailLine(unsent), '\n'))
		}
		_ = out.Close()
	}
	if err != nil {
		_ = problem.Respond(r.Context(), err, s.route.Camel) // records the cause for the log
		// What was written last (for NDJSON, the error) must not be lost with the
		// connection.
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	w.Header().Set(v1.TrailerTruncated, strconv.FormatBool(sum.Truncated))
	if sum.Truncated && s.next != "" {
		w.Header().Set(v1.TrailerNextPage, s.next)
	}
}

// ownerOf returns the user against whose disk quota a response counts.
func ownerOf(r *http.Request) spill.Owner {
	p, err := auth.PrincipalFrom(r.Context())
	if err != nil {
		return spill.Owner{}
	}
	return spill.Owner{Org: p.OrgID.String(), User: p.UserID.String()}
}

// restart restarts rows that ended for a reason outside of their statement, and reports
// whether it did. The error is that of the second start.
func restart(rows engine.Result) (bool, error) {
	lost, ok := rows.(interface{ Again() (bool, error) })
	if !ok {
		return false, nil
	}
	return lost.Again()
}

func (s streaming) tail(sum result.Summary) []result.Member {
	id, _ := json.Marshal(s.id)
	members := []result.Member{
		{Name: "query_id", Value: id},
		{Name: "elapsed_ms", Value: strconv.AppendInt(nil, s.elapsed().Milliseconds(), 10)},
	}
	if sum.Truncated && s.next != "" {
		token, _ := json.Marshal(s.next)
		members = append(members, result.Member{Name: "next_page_token", Value: token})
	}
	return members
}

// failLine returns the last line of an incomplete NDJSON response.
func failLine(r *http.Request, err error, camel bool) []byte {
	var reply *problem.Reply
	if !errors.As(problem.Respond(r.Context(), err, camel), &reply) {
		return []byte(`{"error":{}}`)
	}
	line, _ := json.Marshal(map[string]any{"error": reply.Body}) // strings only: cannot fail
	return line
}
