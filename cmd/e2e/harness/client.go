package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// RequestID matches the id of a request in an error.
var RequestID = regexp.MustCompile(`"request_id":"[^"]*"`)

// MissingID is an id that no record has.
var MissingID = uuid.NewString()

// Refused checks the error that a hostile client gets: it has the expected status and the
// members of a problem, and no others. It names no part of the server.
func Refused(t testing.TB, r Reply, status int) []string {
	t.Helper()
	require.Less(t, r.Status, 500, "%s", r.Body)
	_, fields := r.Problem(t, status)
	require.Equal(t, "application/json", r.Header.Get("Content-Type"))
	require.NotNil(t, r.JSON(t)["details"])
	for _, ours := range []string{"goroutine", "duckdb", "DuckDB", "sqlite", "/tmp", "/work", ".go:", "panic", "read_parquet", "delta_scan",
		"json:", "unmarshal"} {
		require.NotContains(t, string(r.Body), ours)
	}
	return fields
}

// NamesField reports whether the fields at fault contain field or a part of it.
func NamesField(fields []string, field string) bool {
	return slices.ContainsFunc(fields, func(f string) bool {
		return f == field || strings.HasPrefix(f, field+".") || strings.HasPrefix(f, field+"[")
	})
}

// Details are the fields at fault with their messages.
func (r Reply) Details(t testing.TB) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, d := range r.JSON(t)["details"].([]any) {
		out[d.(object)["field"].(string)] = d.(object)["message"].(string)
	}
	return out
}

// Cancelled reports whether a statement ended because its caller's rules changed,
// before its first byte or after.
func Cancelled(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || err != nil && strings.Contains(err.Error(), `"query_cancelled"`)
}

// Client is one caller.
type Client struct {
	T    testing.TB
	URL  string
	Key  string
	User string
}

// Reply is what a caller got.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
}

// Call makes a request; a nil body sends none, a string is sent as it is.
func (c *Client) Call(method, path string, body any, header ...string) Reply {
	c.T.Helper()
	r, err := c.exchange(method, path, body, header)
	require.NoError(c.T, err)
	return r
}

// exchange makes a request. It returns an error if there is no whole reply.
func (c *Client) exchange(method, path string, body any, header []string) (Reply, error) {
	c.T.Helper()
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		reader = bytes.NewReader([]byte(b))
	default:
		raw, err := json.Marshal(b)
		require.NoError(c.T, err)
		reader = bytes.NewReader(raw)
	}
	req, err := http.NewRequest(method, c.URL+path, reader)
	require.NoError(c.T, err)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.Key)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return Reply{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return Reply{Status: resp.StatusCode, Header: resp.Header, Body: text}, err
}

// OK makes a request that must succeed and returns its JSON object.
func (c *Client) OK(method, path string, body any) map[string]any {
	c.T.Helper()
	r := c.Call(method, path, body)
	require.Less(c.T, r.Status, 300, "%s %s: %s", method, path, r.Body)
	return r.JSON(c.T)
}

// Query runs a statement and returns the JSON reply, whatever the status.
func (c *Client) Query(sql string, parameters ...any) Reply {
	c.T.Helper()
	body := map[string]any{"sql": sql}
	if len(parameters) > 0 {
		body["parameters"] = parameters
	}
	return c.Call("POST", "/v1/query", body)
}

// QueryDuringChange is like Query while the rules of the caller may change. If a change ends
// the statement after its first byte, the status is 409, as before it.
func (c *Client) QueryDuringChange(sql string) Reply {
	c.T.Helper()
	r, err := c.exchange("POST", "/v1/query", map[string]any{"sql": sql}, nil)
	if Cancelled(err) {
		return Reply{Status: http.StatusConflict}
	}
	require.NoError(c.T, err)
	return r
}

// CountsDuringChange reports whether the number of rows in from is want. It is false while a
// change of rules ends the statement.
func (c *Client) CountsDuringChange(from string, want float64) bool {
	c.T.Helper()
	r := c.QueryDuringChange("SELECT count(*) FROM " + from)
	return r.Status == http.StatusOK && r.JSON(c.T)["rows"].([]any)[0].([]any)[0] == want
}

// Rows runs a statement that must succeed.
func (c *Client) Rows(sql string, parameters ...any) []any {
	c.T.Helper()
	r := c.Query(sql, parameters...)
	require.Equal(c.T, http.StatusOK, r.Status, "%s: %s", sql, r.Body)
	return r.JSON(c.T)["rows"].([]any)
}

// JSON returns the body, which must be a JSON object.
func (r Reply) JSON(t testing.TB) map[string]any {
	t.Helper()
	var out map[string]any
	require.NoError(t, json.Unmarshal(r.Body, &out), "%s", r.Body)
	return out
}

// Problem checks the shape of an error and returns code and fields.
func (r Reply) Problem(t testing.TB, status int) (code string, fields []string) {
	t.Helper()
	require.Equal(t, status, r.Status, "%s", r.Body)
	body := r.JSON(t)
	require.Len(t, body, 4, "%s", r.Body)
	require.NotEmpty(t, body["message"])
	require.Equal(t, r.Header.Get("X-Request-Id"), body["request_id"])
	for _, d := range body["details"].([]any) {
		fields = append(fields, d.(map[string]any)["field"].(string))
	}
	return body["code"].(string), fields
}
