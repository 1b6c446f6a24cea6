package harness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Ask is one request.
type Ask struct {
	Method, Path, Accept string
	Body                 any
	// Unordered says that rows may come in any order.
	Unordered bool
}

func (a Ask) String() string { return fmt.Sprintf("%s %s %v [%s]", a.Method, a.Path, a.Body, a.Accept) }

// Answer is everything a client learns from a response, but the clock.
type Answer struct {
	Status          int
	Body            string
	Header, Trailer http.Header
}

// Timing matches the parts of a reply that differ from one run to the next.
var Timing = regexp.MustCompile(`"query_id":"[^"]*"|"elapsed_ms":\d+`)

// Answer makes the request. The number of the request is its id, so that equal
// requests have equal ids.
func (c *Client) Answer(n int, a Ask) (Answer, error) {
	var body io.Reader
	if a.Body != nil {
		raw, err := json.Marshal(a.Body)
		if err != nil {
			return Answer{}, err
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequest(a.Method, c.URL+a.Path, body)
	if err != nil {
		return Answer{}, err
	}
	req.Header.Set("Authorization", "Bearer "+c.Key)
	req.Header.Set("X-Request-Id", "ask-"+strconv.Itoa(n))
	req.Header.Set("Content-Type", "application/json")
	if a.Accept != "" {
		req.Header.Set("Accept", a.Accept)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return Answer{}, err
	}
	got := Answer{Status: resp.StatusCode, Header: resp.Header, Trailer: resp.Trailer, Body: Timing.ReplaceAllString(string(text), "")}
	for _, h := range []string{"Date", "X-Query-Id", "Content-Length", "Ratelimit-Remaining", "Ratelimit-Reset"} {
		got.Header.Del(h)
	}
	switch {
	case !a.Unordered || got.Status != http.StatusOK:
	case a.Accept == "":
		got.Body = sortedRows(text)
	default:
		lines := strings.SplitAfter(got.Body, "\n")
		slices.Sort(lines)
		got.Body = strings.Join(lines, "")
	}
	return got, nil
}

// sortedRows is a JSON answer as a multiset of rows.
func sortedRows(text []byte) string {
	var reply struct {
		Columns json.RawMessage
		Rows    []json.RawMessage
	}
	if json.Unmarshal(text, &reply) != nil {
		return string(text)
	}
	rows := make([]string, len(reply.Rows))
	for i, r := range reply.Rows {
		rows[i] = string(r)
	}
	slices.Sort(rows)
	return string(reply.Columns) + strings.Join(rows, "\n")
}

// SQLAsk is the request that runs a statement.
func SQLAsk(sql string) Ask {
	return Ask{Method: "POST", Path: "/v1/query", Body: map[string]any{"sql": sql}}
}

// Inside matches internal names and paths, which no reply may contain.
var Inside = regexp.MustCompile(`(flt|src)_[0-9a-f]{8}|lw_cte|lw_arg|parquet|_delta_log|/tmp/`)

// Canary marks values of hidden rows; it may stand in no answer.
const Canary = "SECRET-"
