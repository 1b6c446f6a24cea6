package queries

import (
	"context"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	longwork "github.com/lakewarden/lakewarden/api/ops/operation"
	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/api/spill"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

type operationList struct {
	Operations    []v1.Operation `json:"operations"`
	NextPageToken string         `json:"nextPageToken,omitempty"`
}

type listOperationsInput struct {
	v1.Page
	All   bool   `query:"all" doc:"Those of the whole organisation; needs org:update"`
	Kind  string `query:"kind" enum:"query,discover,optimize,vacuum,move,analyze,validate,rewrite"`
	State string `query:"state" enum:"queued,running,succeeded,failed,cancelled"`
}

// OperationPath holds the path parameter of an operation.
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

// OperationRoutes registers the routes of operations.
func OperationRoutes(api huma.API, operations longwork.Service, stored query.Stored, room *spill.Store) {
	rt := v1.Route{Tag: "Operations", Camel: true}
	v1.Add(api, rt.With("GET", v1.OperationsBase, "listOperations", "List operations").Describe("Those of the caller, newest first."),
		func(ctx context.Context, in *listOperationsInput) (operationList, error) {
			list, err := operations.List(ctx, in.All, catalog.OperationFilter{Kind: catalog.OperationKind(in.Kind),
				State: catalog.OperationState(in.State)}, in.Page.Catalog())
			return operationList{Operations: v1.Map(list.Items, v1.OperationOf), NextPageToken: list.Next}, err
		})
	byID := func(do func(context.Context, catalog.OperationID) (catalog.Operation, error)) func(context.Context, *OperationPath) (v1.Operation,
		error) {
		return func(ctx context.Context, in *OperationPath) (v1.Operation, error) {
			id, err := in.id()
			if err != nil {
				return v1.Operation{}, err
			}
			o, err := do(ctx, id)
			return v1.OperationOf(o), err
		}
	}
	v1.Add(api, rt.With("GET", v1.OperationsBase+"/{operation_id}", "getOperation",
		"Get an operation").Describe("For its owner, and for holders of org:update."), byID(operations.Get))
	v1.Add(api, rt.With("DELETE", v1.OperationsBase+"/{operation_id}", "cancelOperation", "Cancel an operation").
		Describe("Stops one that has not ended; removes the rows that one which has ended keeps. The record stays until it expires."),
		byID(operations.Cancel))

	result := v1.Route{Method: "GET", Path: v1.OperationsBase + "/{operation_id}/result", ID: "getOperationResult", Tag: "Operations",
		Scope: auth.ScopeTablesQuery, Camel: true, Rows: reflect.TypeFor[v1.QueryResult](),
		Summary: "Read the rows of a query", Description: "For the owner, while its role, attributes and policies are those that the rows were " +
			"made under (409 result_stale). X-Truncated and truncated tell of a cut, of the query's or of this reply's."}
	addStream(api, result, room, func(ctx context.Context, in *operationResultInput) (*streaming, error) {
		return readStored(ctx, stored, in)
	})
	start := v1.Route{Method: "POST", Path: "/v1/queries", ID: "startQuery", Tag: "Query", Scope: auth.ScopeTablesQuery,
		Summary: "Start a query whose rows are kept", Description: "The same as POST /v1/query with Prefer: respond-async."}
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
	return &streaming{rows: rows, id: rows.QueryID, elapsed: rows.Elapsed, cut: rows.Truncated, format: f,
		limits: limitsFor(f, 0, 0, in.Integers)}, nil
}
