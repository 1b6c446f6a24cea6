package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow/ipc"
)

const arrowStream = "application/vnd.apache.arrow.stream"

// maxTries is the number of attempts of a throttled request.
const maxTries = 5

// askArrow sends a request and reads its whole answer as an Arrow stream. The
// clock starts with the request and stops after the last batch; waiting out a
// limit of the server is not counted.
func askArrow(ctx context.Context, client *http.Client, method, url string, header http.Header, body []byte) (Answer, error) {
	var answer Answer
	err := throttled(ctx, func() (wait time.Duration, err error) {
		answer, wait, err = askArrowOnce(ctx, client, method, url, header, body)
		return wait, err
	})
	return answer, err
}

// throttled calls ask again after each wait that it returns, up to maxTries times.
func throttled(ctx context.Context, ask func() (time.Duration, error)) error {
	for try := 1; ; try++ {
		wait, err := ask()
		if wait == 0 || try == maxTries {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

func askArrowOnce(ctx context.Context, client *http.Client, method, url string, header http.Header,
	body []byte) (Answer, time.Duration, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return Answer{}, 0, fmt.Errorf("build request: %w", err)
	}
	request.Header = header.Clone()
	request.Header.Set("Accept", arrowStream)

	start := time.Now()
	response, err := client.Do(request)
	if err != nil {
		return Answer{}, 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return Answer{}, retryAfter(response), statusError(response)
	}

	stream := &countingReader{reader: response.Body, start: start}
	rows, err := countRows(stream)
	if err != nil {
		return Answer{}, 0, fmt.Errorf("read Arrow stream: %w", err)
	}
	return Answer{Total: time.Since(start), First: stream.first, Rows: rows, Bytes: stream.bytes}, 0, nil
}

// countRows reads a stream to its end and returns the number of rows. A truncated
// stream is an error: the format marks its end.
func countRows(stream io.Reader) (int64, error) {
	reader, err := ipc.NewReader(stream)
	if err != nil {
		return 0, err
	}
	defer reader.Release()
	var rows int64
	for reader.Next() {
		rows += reader.RecordBatch().NumRows()
	}
	if err := reader.Err(); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	_, err = io.Copy(io.Discard, stream)
	return rows, err
}

// countingReader records when the first byte arrived, and counts the bytes.
type countingReader struct {
	reader io.Reader
	start  time.Time
	first  time.Duration
	bytes  int64
}

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.reader.Read(p)
	if n > 0 && r.bytes == 0 {
		r.first = time.Since(r.start)
	}
	r.bytes += int64(n)
	return n, err
}

// retryAfter returns how long the server asks to wait, or zero.
func retryAfter(response *http.Response) time.Duration {
	if response.StatusCode != http.StatusTooManyRequests && response.StatusCode != http.StatusServiceUnavailable {
		return 0
	}
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil || seconds < 1 {
		return time.Second
	}
	return time.Duration(seconds) * time.Second
}

// StatusError is an answer with an unexpected status.
type StatusError struct {
	Status int
	Body   string
	// Wait is how long the server asks to wait before another attempt, or zero.
	Wait time.Duration
}

// Error returns the status and the beginning of the body.
func (e *StatusError) Error() string { return fmt.Sprintf("status %d: %s", e.Status, e.Body) }

// Code returns the error's stable code, or "" if the body has none.
func (e *StatusError) Code() string {
	var body struct {
		Code string `json:"code"`
	}
	if json.Unmarshal([]byte(e.Body), &body) != nil {
		return "" // truncated, or not an error of the server's API
	}
	return body.Code
}

func statusError(response *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<10))
	if err != nil {
		return fmt.Errorf("status %d, unreadable body: %w", response.StatusCode, err)
	}
	return &StatusError{Status: response.StatusCode, Body: string(body), Wait: retryAfter(response)}
}
