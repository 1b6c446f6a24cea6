package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// operationStep is the interval at which an operation is polled.
const operationStep = 50 * time.Millisecond

// async returns a client that asks for operations instead of waiting for results.
func (c *client) async() *client {
	other := *c
	other.header = c.header.Clone()
	other.header.Set("Prefer", "respond-async")
	return &other
}

// complete starts work and waits for its end, whether the server answers with the result or
// with an operation that runs it. It decodes the result.
func (c *client) complete(ctx context.Context, path string, body, result any) error {
	var reply json.RawMessage
	if err := c.call(ctx, http.MethodPost, path, body, &reply); err != nil {
		return err
	}
	var operation struct {
		ID     string          `json:"id"`
		Kind   string          `json:"kind"`
		State  string          `json:"state"`
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(reply, &operation); err != nil {
		return fmt.Errorf("decode answer of %s: %w", path, err)
	}
	if operation.ID == "" {
		return json.Unmarshal(reply, result)
	}
	for {
		if err := c.call(ctx, http.MethodGet, "/v1/operations/"+operation.ID, nil, &operation); err != nil {
			return err
		}
		switch operation.State {
		case "succeeded":
			if operation.Kind == "analyze" { // whose answer is for its owner only
				return c.call(ctx, http.MethodGet, "/v1/operations/"+operation.ID+"/analysis", nil, result)
			}
			return json.Unmarshal(operation.Result, result)
		case "failed", "cancelled":
			return fmt.Errorf("operation %s: %s", operation.State, operation.Error)
		}
		if err := pause(ctx, operationStep); err != nil {
			return err
		}
	}
}
