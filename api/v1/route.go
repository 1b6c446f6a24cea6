package v1

import (
	"context"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/problem"
	"github.com/lakewarden/lakewarden/auth"
)

// Route describes one route of the interface.
type Route struct {
	Method, Path, ID, Tag string
	Summary, Description  string
	// Scope is the scope that callers need. If it is empty, the route requires none, but
	// its operation may still refuse.
	Scope auth.Scope
	// Local reports that the work is on a table or configuration of a workspace, where
	// the caller's role in that workspace counts too. The route checks the credential
	// only; the operation checks the scope in the workspace.
	Local bool
	// OrScope is a further scope that suffices in some configurations. It is for routes
	// with Local.
	OrScope auth.Scope
	// Open reports that the route needs no credential and ignores one that is sent. It
	// has no principal. Its calls are limited by address.
	Open bool
	// Orgless reports that the route also serves people whose token names no
	// organisation. All other routes refuse them.
	Orgless bool
	// Created makes 201 the status of success.
	Created bool
	// Camel reports that the fields of the resource are camelCase, in errors too.
	Camel bool
	// accepted adds 202 with an operation to the replies.
	accepted bool
	// Rows describes the JSON of a reply of rows, which has other formats too. It is nil
	// for other replies.
	Rows reflect.Type
}

// With returns a route of a group with the same tag, scope and style.
func (rt Route) With(method, path, id, summary string) Route {
	rt.Method, rt.Path, rt.ID, rt.Summary = method, path, id, summary
	return rt
}

// As201 returns the route with 201 as the status of success.
func (rt Route) As201() Route {
	rt.Created = true
	return rt
}

// OrAccepted returns the route with 202 and an operation as a further reply.
func (rt Route) OrAccepted() Route {
	rt.accepted = true
	return rt
}

// Describe returns the route with a description.
func (rt Route) Describe(description string) Route {
	rt.Description = description
	return rt
}

// Reply carries a handler's result as the response body.
type Reply[T any] struct{ Body T }

// Empty is the reply {}.
type Empty struct{}

// NoInput is the input of an operation without parameters.
type NoInput struct{}

// answerTime bounds an operation that does not stream.
const answerTime = 2 * time.Minute

// Add registers a route whose reply is one JSON document.
func Add[I, T any](api huma.API, rt Route, handler func(context.Context, *I) (T, error)) {
	huma.Register(api, rt.Operation(api), func(ctx context.Context, in *I) (*Reply[T], error) {
		ctx, cancel := context.WithTimeout(ctx, answerTime)
		defer cancel()
		out, err := handler(ctx, in)
		if err != nil {
			return nil, rt.Fail(ctx, err)
		}
		return &Reply[T]{Body: out}, nil
	})
}

// authorise checks the organisation and the scopes that every caller of the route needs.
func (rt Route) authorise(ctx context.Context) error {
	if rt.Open {
		return nil
	}
	p, err := auth.PrincipalFrom(ctx)
	if err != nil {
		return err
	}
	if !rt.Orgless {
		if err := p.InOrganisation(); err != nil {
			return err
		}
	}
	if rt.Scope == "" {
		return nil
	}
	if rt.Local && (p.Granted.Has(rt.Scope) || rt.OrScope != "" && p.Granted.Has(rt.OrScope)) {
		return nil
	}
	return p.Require(rt.Scope)
}

// Fail returns the error as the route's reply.
func (rt Route) Fail(ctx context.Context, err error) error {
	return problem.Respond(ctx, err, rt.Camel)
}

// Operation returns the description of the route, which checks the scope and the query
// string before anything is decoded.
func (rt Route) Operation(api huma.API) huma.Operation {
	op := huma.Operation{
		OperationID: rt.ID, Method: rt.Method, Path: rt.Path, Tags: []string{rt.Tag},
		Summary: rt.Summary, Description: rt.Description,
		DefaultStatus: http.StatusOK,
		// Middleware bounds the size of bodies, because its reply has the API's form. The
		// framework's own limit is disabled.
		MaxBodyBytes: -1, BodyReadTimeout: -1,
		Security:  rt.security(),
		Responses: map[string]*huma.Response{},
		Metadata:  map[string]any{"camel": rt.Camel, openKey: rt.Open},
		// The scope is checked before parameters and body are decoded, so that a caller
		// without it learns nothing else and causes little work.
		Middlewares: huma.Middlewares{func(ctx huma.Context, next func(huma.Context)) {
			if err := rt.authorise(ctx.Context()); err != nil {
				_ = huma.WriteErr(api, ctx, 0, "", rt.Fail(ctx.Context(), err)) // the client may have disconnected
				return
			}
			next(ctx)
		}, rt.strictQuery(api)},
	}
	if rt.Created {
		op.DefaultStatus = http.StatusCreated
	}
	addErrors(api, &op)
	if rt.Rows != nil {
		op.Responses["200"] = rowsResponse(api, rt.Rows)
	}
	if rt.accepted {
		op.Responses["202"] = acceptedResponse(api)
	}
	return op
}

// security describes the credential that the route needs; nil means none.
func (rt Route) security() []map[string][]string {
	scopes := []string{}
	switch {
	case rt.Open:
		return nil
	case rt.Scope != "":
		scopes = append(scopes, string(rt.Scope))
	}
	return []map[string][]string{{"BearerAuth": scopes}}
}

// addErrors adds the statuses with the error body and those without.
func addErrors(api huma.API, op *huma.Operation) {
	schema := api.OpenAPI().Components.Schemas.Schema(problem.BodyType, true, "Error")
	for _, status := range problem.Statuses {
		op.Responses[strconv.Itoa(status)] = &huma.Response{
			Description: http.StatusText(status), Headers: headers(api, errorHeaders[status]...),
			Content: map[string]*huma.MediaType{"application/json": {Schema: schema}},
		}
	}
	for _, status := range problem.EmptyStatuses {
		op.Responses[strconv.Itoa(status)] = &huma.Response{Description: http.StatusText(status) + " (no body)",
			Headers: headers(api, errorHeaders[status]...)}
	}
}

// errorHeaders maps statuses to the names of their further headers.
var errorHeaders = map[int][]string{
	http.StatusUnauthorized:       {"WWW-Authenticate"},
	http.StatusMethodNotAllowed:   {"Allow"},
	http.StatusTooManyRequests:    {"Retry-After"},
	http.StatusServiceUnavailable: {"Retry-After"},
}
