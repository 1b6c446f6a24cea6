package v1

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/catalog"
)

// Prefer is the header of RFC 7240.
type Prefer string

const preferAsync = "respond-async"

// async reports whether the client would rather have an operation than wait.
// Other preferences may be left alone, and are.
func (p Prefer) async() bool {
	for preference := range strings.SplitSeq(string(p), ",") {
		token, _, _ := strings.Cut(preference, ";")
		if strings.EqualFold(strings.TrimSpace(token), preferAsync) {
			return true
		}
	}
	return false
}

// accepted is an answer 202: the work goes on as an operation.
type accepted struct{ operation operation }

func location(o operation) string { return operationsBase + "/" + o.ID }

func (a accepted) write(ctx huma.Context) {
	ctx.SetHeader("Content-Type", "application/json")
	ctx.SetHeader("Location", location(a.operation))
	ctx.SetHeader("Preference-Applied", preferAsync)
	ctx.SetStatus(http.StatusAccepted)
	_ = json.NewEncoder(ctx.BodyWriter()).Encode(a.operation) // the client may be gone
}

func acceptedResponse(api huma.API) *huma.Response {
	schema := api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[operation](), true, "Operation")
	return &huma.Response{
		Description: "The work goes on as an operation", Content: map[string]*huma.MediaType{"application/json": {Schema: schema}},
		Headers: headers(api, "Location", "Preference-Applied"),
	}
}

// startStored starts a query whose rows are kept.
func startStored(ctx context.Context, stored query.Stored, body queryBody) (*streaming, error) {
	q, err := body.query()
	if err != nil {
		return nil, err
	}
	started, err := stored.Start(ctx, query.StoredStatement{Statement: q, Rows: body.RowLimit, Bytes: body.ByteLimit})
	if err != nil {
		return nil, err
	}
	return &streaming{instead: &accepted{operationOf(started)}}, nil
}

// addAccepted registers an operation that always answers 202.
func addAccepted[I any](api huma.API, rt route, start func(context.Context, *I) (*streaming, error)) {
	op := rt.orAccepted().operation(api)
	op.DefaultStatus = http.StatusAccepted
	register(api, rt, op, nil, start)
}

// addPatient registers an operation whose answer is one JSON document, or an
// operation that goes on when the answer takes its time.
func addPatient[I, T any](api huma.API, rt route, handler func(context.Context, *I) (T, *catalog.Operation, error)) {
	op := rt.orAccepted().operation(api)
	schema := api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
	op.Responses["200"] = &huma.Response{Description: http.StatusText(http.StatusOK), Content: map[string]*huma.MediaType{"application/json": {Schema: schema}}}
	huma.Register(api, op, func(ctx context.Context, in *I) (*huma.StreamResponse, error) {
		ctx, cancel := context.WithTimeout(ctx, answerTime)
		defer cancel()
		out, goesOn, err := handler(ctx, in)
		if err != nil {
			return nil, rt.fail(ctx, err)
		}
		return &huma.StreamResponse{Body: func(ctx huma.Context) {
			if goesOn != nil {
				accepted{operationOf(*goesOn)}.write(ctx)
				return
			}
			ctx.SetHeader("Content-Type", "application/json")
			ctx.SetStatus(http.StatusOK)
			_ = json.NewEncoder(ctx.BodyWriter()).Encode(out) // the client may be gone
		}}, nil
	})
}
