package harness

import (
	"net/http"
	"time"

	"github.com/stretchr/testify/require"
)

// Media types of results.
const (
	Ndjson    = "application/x-ndjson"
	CSVType   = "text/csv"
	ArrowType = "application/vnd.apache.arrow.stream"
)

// Start begins a query whose rows are kept and returns its operation.
func (c *Client) Start(sql string, more ...any) map[string]any {
	c.T.Helper()
	body := map[string]any{"sql": sql}
	for i := 0; i+1 < len(more); i += 2 {
		body[more[i].(string)] = more[i+1]
	}
	r := c.Call("POST", "/v1/queries", body)
	require.Equal(c.T, http.StatusAccepted, r.Status, "%s", r.Body)
	o := r.JSON(c.T)
	require.Equal(c.T, "/v1/operations/"+o["id"].(string), r.Header.Get("Location"))
	return o
}

// Operation returns the present state of an operation.
func (c *Client) Operation(o map[string]any) map[string]any {
	c.T.Helper()
	return c.OK("GET", "/v1/operations/"+o["id"].(string), nil)
}

// Await waits for an operation to end.
func (c *Client) Await(o map[string]any) map[string]any {
	c.T.Helper()
	require.Eventually(c.T, func() bool {
		o = c.Operation(o)
		return o["state"] != "queued" && o["state"] != "running"
	}, time.Minute, 10*time.Millisecond, "%v", o)
	return o
}

// InState waits until an operation has a state.
func (c *Client) InState(o map[string]any, state string) {
	c.T.Helper()
	require.Eventually(c.T, func() bool { return c.Operation(o)["state"] == state }, time.Minute, 5*time.Millisecond)
}

// Result asks for the rows of an operation.
func (c *Client) Result(o map[string]any, header ...string) Reply {
	c.T.Helper()
	return c.Call("GET", "/v1/operations/"+o["id"].(string)+"/result", nil, header...)
}
