package v1

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"

	"github.com/lakewarden/lakewarden/api/problem"
	"github.com/lakewarden/lakewarden/api/result"
	"github.com/lakewarden/lakewarden/engine"
)

// The JSON representation is meant for people and small results, so it is cut.
const (
	jsonRows  = 100_000
	jsonBytes = 100 << 20
)

// stallTime is how long one write may make no progress. A client that stops
// reading holds a session and its memory, which others wait for.
const stallTime = 15 * time.Second

// pacedWriter gives every write its own deadline. Writers that know none are
// bounded by the statement's.
type pacedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
}

// Write implements io.Writer, in pieces: a slow reader makes progress.
func (w pacedWriter) Write(p []byte) (int, error) {
	const piece = 64 << 10
	written := 0
	for {
		_ = w.control.SetWriteDeadline(time.Now().Add(stallTime))
		n, err := w.ResponseWriter.Write(p[written:min(len(p), written+piece)])
		written += n
		if err != nil || written == len(p) {
			return written, err
		}
	}
}

const (
	trailerTruncated = "X-Truncated"
	trailerNextPage  = "X-Next-Page-Token"
)

var rowFormats = []string{string(result.JSON), string(result.NDJSON), string(result.CSV), string(result.Arrow), string(result.Parquet)}

// formatList names the formats, in which rows are read and written, for people.
var formatList = strings.Join(rowFormats[:len(rowFormats)-1], ", ") + " or " + rowFormats[len(rowFormats)-1]

// format reads Accept. Nothing is run for a client that could not read it.
func format(accept string) (result.Format, error) {
	f, ok := result.Negotiate(accept)
	if !ok {
		return "", &problem.Refusal{Code: "not_acceptable", Details: []problem.Detail{{Field: "Accept", Message: "must allow " + formatList}}}
	}
	return f, nil
}

// streaming writes rows as a response.
type streaming struct {
	route route
	rows  engine.Result
	// id names the statement; elapsed is the time that the reply reports.
	id      string
	elapsed func() time.Duration
	format  result.Format
	limits  result.Options
	// cut says that the rows were a part before they came here.
	cut bool
	// next is the token of the following page, or empty.
	next string
	// instead is answered in the place of rows.
	instead *accepted
}

func (s streaming) response() *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		if s.instead != nil {
			s.instead.write(ctx)
			return
		}
		r, w := humachi.Unwrap(ctx)
		s.write(w, r)
	}}
}

func (s streaming) write(w http.ResponseWriter, r *http.Request) {
	defer func() { _ = s.rows.Close() }()
	paced := pacedWriter{w, http.NewResponseController(w)}
	// The connection may serve another request long after this one.
	defer func() { _ = paced.control.SetWriteDeadline(time.Time{}) }()
	sink := result.NewSink(paced, func() {
		h := w.Header()
		h.Set("Content-Type", s.format.ContentType())
		h.Set("X-Query-Id", s.id)
		h.Set("Trailer", trailerTruncated+", "+trailerNextPage)
		w.WriteHeader(http.StatusOK)
	})
	opts := s.limits
	opts.Format = s.format
	opts.Tail = s.tail
	opts.Cut = s.cut
	opts.FailLine = func(err error) []byte { return failLine(r, err, s.route.camel) }
	sum, err := result.Write(r.Context(), sink, s.rows, opts)
	switch {
	case err == nil:
		w.Header().Set(trailerTruncated, strconv.FormatBool(sum.Truncated))
		if sum.Truncated && s.next != "" {
			w.Header().Set(trailerNextPage, s.next)
		}
	case errors.Is(err, result.ErrBroken):
		_ = problem.Respond(r.Context(), err, s.route.camel) // keeps the cause for the log
		// What was written last (NDJSON: what went wrong) must not be lost with
		// the connection.
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	default:
		problem.Write(w, r, err)
	}
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

// failLine is the last line of an NDJSON response that breaks off.
func failLine(r *http.Request, err error, camel bool) []byte {
	var reply *problem.Reply
	if !errors.As(problem.Respond(r.Context(), err, camel), &reply) {
		return []byte(`{"error":{}}`)
	}
	line, _ := json.Marshal(map[string]any{"error": reply.Body}) // strings only: cannot fail
	return line
}
