package gateway

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// span is the requested part of an object: [start, end).
type span struct {
	start, end int64
	partial    bool // the request has a range
	outside    bool // the range is beyond the object
}

// parseRange resolves a Range header: bytes=a-b, a- or -n. Other forms are refused, so that a
// request for a part never returns a whole object.
func parseRange(header []string, size int64) (span, error) {
	if len(header) == 0 {
		return span{end: size}, nil
	}
	text, ok := strings.CutPrefix(header[0], "bytes=")
	first, last, dash := strings.Cut(text, "-")
	if len(header) > 1 || !ok || !dash {
		return span{}, refuseArgument
	}
	if first == "" {
		n, err := digits(last)
		if err != nil {
			return span{}, refuseArgument
		}
		return within(max(size-n, 0), size, size)
	}
	start, err := digits(first)
	if err != nil {
		return span{}, refuseArgument
	}
	if last == "" {
		return within(start, size, size)
	}
	end, err := digits(last)
	if err != nil || end < start {
		return span{}, refuseArgument
	}
	return within(start, min(end, size-1)+1, size)
}

// digits parses a number without a sign.
func digits(text string) (int64, error) {
	n, err := strconv.ParseUint(text, 10, 63)
	return int64(n), err
}

func within(start, end, size int64) (span, error) {
	if start >= size {
		return span{outside: true}, refuseRange
	}
	return span{start: start, end: end, partial: true}, nil
}

func (s span) contentRange(size int64) string {
	if s.outside {
		return fmt.Sprintf("bytes */%d", size)
	}
	return fmt.Sprintf("bytes %d-%d/%d", s.start, s.end-1, size)
}

// describe sends the status and the headers of an object.
func (q *request) describe(object object, span span) {
	header := q.w.Header()
	header.Set("Accept-Ranges", "bytes")
	header.Set("Content-Type", "application/octet-stream")
	header.Set("Content-Length", strconv.FormatInt(span.end-span.start, 10))
	header.Set("ETag", object.etag())
	header.Set("Last-Modified", object.modTime().Format(http.TimeFormat))
	status := http.StatusOK
	if span.partial {
		header.Set("Content-Range", span.contentRange(object.size))
		status = http.StatusPartialContent
	}
	q.w.WriteHeader(status)
}
