package queries

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/query"
	v1 "github.com/lakewarden/lakewarden/api/v1"
)

// startStored starts a query whose rows are stored.
func startStored(ctx context.Context, stored query.Stored, body queryBody) (*streaming, error) {
	q, err := body.query()
	if err != nil {
		return nil, err
	}
	started, err := stored.Start(ctx, query.StoredStatement{Statement: q, Rows: body.RowLimit, Bytes: body.ByteLimit})
	if err != nil {
		return nil, err
	}
	return &streaming{accepted: &v1.Accepted{Operation: v1.OperationOf(started)}}, nil
}

// addAccepted registers an operation that always replies with 202.
func addAccepted[I any](api huma.API, rt v1.Route, start func(context.Context, *I) (*streaming, error)) {
	op := rt.OrAccepted().Operation(api)
	op.DefaultStatus = http.StatusAccepted
	register(api, rt, op, nil, start)
}
