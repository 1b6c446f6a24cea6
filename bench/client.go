package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"time"
)

const mediaJSON = "application/json"

// client calls the server as one user, with its own connections.
type client struct {
	base   string
	header http.Header
	http   *http.Client
	schema string // default schema of statements
}

func newClient(base, key string) *client {
	return &client{
		base: base,
		header: http.Header{
			"Authorization": {"Bearer " + key},
			"Content-Type":  {mediaJSON},
		},
		http: &http.Client{Transport: &http.Transport{DisableCompression: true}, Timeout: 10 * time.Minute},
	}
}

// in returns a client whose statements use schema by default.
func (c *client) in(schema string) *client {
	other := *c
	other.schema = schema
	return &other
}

// Name is the server's name in reports.
func (c *client) Name() string { return subjectServer }

// Ask sends a statement and reads the result as an Arrow stream.
func (c *client) Ask(ctx context.Context, st Statement) (Answer, error) {
	body, err := c.body(st)
	if err != nil {
		return Answer{}, err
	}
	return askArrow(ctx, c.http, http.MethodPost, c.base+"/v1/query", c.header, body)
}

// try is Ask without a retry. If the server is busy it returns the time to wait.
func (c *client) try(ctx context.Context, st Statement) (Answer, time.Duration, error) {
	body, err := c.body(st)
	if err != nil {
		return Answer{}, 0, err
	}
	return askArrowOnce(ctx, c.http, http.MethodPost, c.base+"/v1/query", c.header, body)
}

func (c *client) body(st Statement) ([]byte, error) {
	request := map[string]any{"sql": st.SQL}
	if c.schema != "" {
		request["schema"] = c.schema
	}
	if len(st.Args) > 0 {
		request["parameters"] = st.Args
	}
	body, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("encode statement: %w", err)
	}
	return body, nil
}

// status posts a body and returns the status and the time until the whole response
// has arrived.
func (c *client) status(ctx context.Context, path, media string, body []byte) (status int, elapsed time.Duration, err error) {
	err = throttled(ctx, func() (wait time.Duration, err error) {
		status, elapsed, wait, err = c.statusOnce(ctx, path, media, body)
		return wait, err
	})
	return status, elapsed, err
}

func (c *client) statusOnce(ctx context.Context, path, media string, body []byte) (int, time.Duration, time.Duration, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, bytes.NewReader(body))
	if err != nil {
		return 0, 0, 0, fmt.Errorf("build request: %w", err)
	}
	request.Header = c.header.Clone()
	request.Header.Set("Content-Type", media)
	start := time.Now()
	response, err := c.http.Do(request)
	if err != nil {
		return 0, 0, 0, err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return 0, 0, 0, fmt.Errorf("read answer: %w", err)
	}
	return response.StatusCode, time.Since(start), retryAfter(response), nil
}

// call sends a JSON request and decodes the response into reply, unless reply is
// nil.
func (c *client) call(ctx context.Context, method, path string, body, reply any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode %s %s: %w", method, path, err)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("build request: %w", err)
	}
	request.Header = c.header
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %w", method, path, statusError(response))
	}
	if reply == nil {
		return nil
	}
	if err := json.NewDecoder(response.Body).Decode(reply); err != nil {
		return fmt.Errorf("decode answer of %s %s: %w", method, path, err)
	}
	return nil
}

// withStderr adds the standard error output of a failed program to its error.
func withStderr(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	return err
}
