package v1

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/catalog"
)

// Prefer is the header of RFC 7240.
type Prefer string

const preferAsync = "respond-async"

// Async reports whether the client prefers an operation to waiting. Other preferences are
// ignored.
func (p Prefer) Async() bool {
	for preference := range strings.SplitSeq(string(p), ",") {
		token, _, _ := strings.Cut(preference, ";")
		if strings.EqualFold(strings.TrimSpace(token), preferAsync) {
			return true
		}
	}
	return false
}

// Accepted is the reply 202: the work continues as an operation.
type Accepted struct{ Operation Operation }

func location(o Operation) string { return OperationsBase + "/" + o.ID }

// Write writes the reply.
func (a Accepted) Write(ctx huma.Context) {
	ctx.SetHeader("Content-Type", "application/json")
	ctx.SetHeader("Location", location(a.Operation))
	ctx.SetHeader("Preference-Applied", preferAsync)
	ctx.SetStatus(http.StatusAccepted)
	_ = json.NewEncoder(ctx.BodyWriter()).Encode(a.Operation) // the client may have disconnected
}

func acceptedResponse(api huma.API) *huma.Response {
	schema := api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Operation](), true, "Operation")
	return &huma.Response{
		Description: "The work continues as an operation", Content: map[string]*huma.MediaType{"application/json": {Schema: schema}},
		Headers: headers(api, "Location", "Preference-Applied"),
	}
}

// AddDeferrable registers a route whose reply is one JSON document or, if the work takes
// long, the operation, still running.
func AddDeferrable[I, T any](api huma.API, rt Route, handler func(context.Context, *I) (T, *catalog.Operation, error)) {
	op := rt.OrAccepted().Operation(api)
	schema := api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
	op.Responses["200"] = &huma.Response{Description: http.StatusText(http.StatusOK),
		Content: map[string]*huma.MediaType{"application/json": {Schema: schema}}}
	huma.Register(api, op, func(ctx context.Context, in *I) (*huma.StreamResponse, error) {
		ctx, cancel := context.WithTimeout(ctx, answerTime)
		defer cancel()
		out, goesOn, err := handler(ctx, in)
		if err != nil {
			return nil, rt.Fail(ctx, err)
		}
		return &huma.StreamResponse{Body: func(ctx huma.Context) {
			if goesOn != nil {
				Accepted{OperationOf(*goesOn)}.Write(ctx)
				return
			}
			ctx.SetHeader("Content-Type", "application/json")
			ctx.SetStatus(http.StatusOK)
			_ = json.NewEncoder(ctx.BodyWriter()).Encode(out) // the client may have disconnected
		}}, nil
	})
}
