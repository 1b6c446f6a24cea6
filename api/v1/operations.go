package v1

import (
	"context"
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	longwork "github.com/lakewarden/lakewarden/api/ops/operation"
	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/api/spill"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

const operationsBase = "/v1/operations"

type operation struct {
	ID              string                   `json:"id" format:"uuid"`
	UserID          string                   `json:"userId" format:"uuid" doc:"Its owner"`
	Kind            string                   `json:"kind" enum:"query,discover,optimize,vacuum,move,analyze,validate"`
	State           string                   `json:"state" enum:"queued,running,succeeded,failed,cancelled"`
	CancelRequested bool                     `json:"cancelRequested"`
	Progress        operationProgress        `json:"progress"`
	Error           nullable[operationError] `json:"error" doc:"Why an operation failed, or why the server cancelled it; else null"`
	Result          json.RawMessage          `json:"result" doc:"What a succeeded operation answers, else null; rows of a query are at /result"`
	CreatedAt       *string                  `json:"createdAt"`
	StartedAt       *string                  `json:"startedAt"`
	FinishedAt      *string                  `json:"finishedAt"`
	ExpiresAt       *string                  `json:"expiresAt" doc:"When the record and its rows go"`
}

type operationProgress struct {
	Done  int64  `json:"done"`
	Total *int64 `json:"total" doc:"null when it is not known"`
	Unit  string `json:"unit" doc:"What is counted: rows, files, objects"`
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

func operationOf(o catalog.Operation) operation {
	out := operation{
		ID: string(o.ID), UserID: string(o.User), Kind: string(o.Kind), State: string(o.State), CancelRequested: o.CancelRequested,
		Progress: operationProgress{Done: o.Progress.Done, Unit: o.Progress.Unit}, Result: orNull(o.Result),
		CreatedAt: timestamp(o.CreatedAt), StartedAt: timestamp(o.StartedAt), FinishedAt: timestamp(o.FinishedAt), ExpiresAt: timestamp(o.ExpiresAt),
	}
	if o.Progress.Total > 0 {
		out.Progress.Total = &o.Progress.Total
	}
	if o.Problem != nil {
		out.Error.value = &operationError{Code: o.Problem.Code, Message: o.Problem.Message, Details: convert(o.Problem.Details, func(d catalog.FieldError) operationDetail {
			return operationDetail{Field: d.Field, Message: d.Message}
		})}
	}
	return out
}

type operationList struct {
	Operations    []operation `json:"operations"`
	NextPageToken string      `json:"nextPageToken,omitempty"`
}

type listOperationsInput struct {
	Page
	All   bool   `query:"all" doc:"Those of the whole organisation; needs org:update"`
	Kind  string `query:"kind" enum:"query,discover,optimize,vacuum,move,analyze,validate"`
	State string `query:"state" enum:"queued,running,succeeded,failed,cancelled"`
}

// OperationPath names an operation.
type OperationPath struct {
	OperationID string `path:"operation_id" format:"uuid"`
}

func (in OperationPath) id() (catalog.OperationID, error) {
	return catalog.ParseID[catalog.OperationID](in.OperationID)
}

type operationResultInput struct {
	OperationPath
	Accept   string `header:"Accept" maxLength:"1024"`
	Integers string `query:"integers" enum:"number,string" doc:"How JSON shows integers"`
}

type startQueryInput struct{ Body queryBody }

// OperationRoutes registers the routes of long work.
func OperationRoutes(api huma.API, operations longwork.Service, stored query.Stored, room *spill.Store) {
	rt := route{tag: "Operations", camel: true}
	add(api, rt.with("GET", operationsBase, "listOperations", "List operations").because("Those of the caller, newest first."),
		func(ctx context.Context, in *listOperationsInput) (operationList, error) {
			list, err := operations.List(ctx, in.All, catalog.OperationFilter{Kind: catalog.OperationKind(in.Kind), State: catalog.OperationState(in.State)}, in.page())
			return operationList{Operations: convert(list.Items, operationOf), NextPageToken: list.Next}, err
		})
	byID := func(do func(context.Context, catalog.OperationID) (catalog.Operation, error)) func(context.Context, *OperationPath) (operation, error) {
		return func(ctx context.Context, in *OperationPath) (operation, error) {
			id, err := in.id()
			if err != nil {
				return operation{}, err
			}
			o, err := do(ctx, id)
			return operationOf(o), err
		}
	}
	add(api, rt.with("GET", operationsBase+"/{operation_id}", "getOperation", "Get an operation").because("For its owner, and for holders of org:update."), byID(operations.Get))
	add(api, rt.with("DELETE", operationsBase+"/{operation_id}", "cancelOperation", "Cancel an operation").
		because("Stops one that has not ended; removes the rows that one which has ended keeps. The record stays until it expires."), byID(operations.Cancel))

	result := route{method: "GET", path: operationsBase + "/{operation_id}/result", id: "getOperationResult", tag: "Operations", scope: auth.ScopeTablesQuery, camel: true, rows: reflect.TypeFor[QueryResult](),
		summary: "Read the rows of a query", description: "For the owner, while its role, attributes and policies are those that the rows were made under (409 result_stale). X-Truncated and truncated tell of a cut, of the query's or of this reply's."}
	addStream(api, result, room, func(ctx context.Context, in *operationResultInput) (*streaming, error) {
		return readStored(ctx, stored, in)
	})
	start := route{method: "POST", path: "/v1/queries", id: "startQuery", tag: "Query", scope: auth.ScopeTablesQuery,
		summary: "Start a query whose rows are kept", description: "The same as POST /v1/query with Prefer: respond-async."}
	addAccepted(api, start, func(ctx context.Context, in *startQueryInput) (*streaming, error) {
		return startStored(ctx, stored, in.Body)
	})
}

func readStored(ctx context.Context, stored query.Stored, in *operationResultInput) (*streaming, error) {
	f, err := format(in.Accept)
	if err != nil {
		return nil, err
	}
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	rows, err := stored.Result(ctx, id)
	if err != nil {
		return nil, err
	}
	return &streaming{rows: rows, id: rows.QueryID, elapsed: rows.Elapsed, cut: rows.Truncated, format: f, limits: limitsFor(f, 0, 0, in.Integers)}, nil
}
