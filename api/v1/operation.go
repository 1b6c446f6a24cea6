package v1

import (
	"encoding/json"

	"github.com/lakewarden/lakewarden/catalog"
)

// OperationsBase is the path of operations.
const OperationsBase = "/v1/operations"

// Operation is the wire form of an operation.
type Operation struct {
	ID              string                   `json:"id" format:"uuid"`
	UserID          string                   `json:"userId" format:"uuid" doc:"Its owner"`
	Kind            string                   `json:"kind" enum:"query,discover,optimize,vacuum,move,analyze,validate,rewrite"`
	State           string                   `json:"state" enum:"queued,running,succeeded,failed,cancelled"`
	CancelRequested bool                     `json:"cancelRequested"`
	Progress        operationProgress        `json:"progress"`
	Error           Nullable[operationError] `json:"error" doc:"Why an operation failed, or why the server cancelled it; else null"`
	Result          json.RawMessage          `json:"result" doc:"What a succeeded operation answers, else null; rows of a query are at /result"`
	CreatedAt       *string                  `json:"createdAt"`
	StartedAt       *string                  `json:"startedAt"`
	FinishedAt      *string                  `json:"finishedAt"`
	ExpiresAt       *string                  `json:"expiresAt" doc:"When the record and its rows go"`
}

type operationProgress struct {
	Done  int64  `json:"done"`
	Total *int64 `json:"total" doc:"null when it is not known"`
	Unit  string `json:"unit" doc:"What is counted: rows, files, objects, rules, folders"`
}

type operationError struct {
	Code    string            `json:"code" doc:"As in docs/errors.md"`
	Message string            `json:"message"`
	Details []operationDetail `json:"details" nullable:"false"`
}

type operationDetail struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// OperationOf returns the wire form of an operation.
func OperationOf(o catalog.Operation) Operation {
	out := Operation{
		ID: string(o.ID), UserID: string(o.User), Kind: string(o.Kind), State: string(o.State), CancelRequested: o.CancelRequested,
		Progress: operationProgress{Done: o.Progress.Done, Unit: o.Progress.Unit}, Result: OrNull(o.Result),
		CreatedAt: Timestamp(o.CreatedAt), StartedAt: Timestamp(o.StartedAt), FinishedAt: Timestamp(o.FinishedAt),
		ExpiresAt: Timestamp(o.ExpiresAt),
	}
	if o.Progress.Total > 0 {
		out.Progress.Total = &o.Progress.Total
	}
	if o.Problem != nil {
		out.Error.Value = &operationError{Code: o.Problem.Code, Message: o.Problem.Message,
			Details: Map(o.Problem.Details, func(d catalog.FieldError) operationDetail {
				return operationDetail{Field: d.Field, Message: d.Message}
			})}
	}
	return out
}
