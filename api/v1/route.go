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

// route describes one operation of the interface.
type route struct {
	method, path, id, tag string
	summary, description  string
	// scope is what the caller must hold; empty means that the operation asks
	// no scope of its own (it may still refuse).
	scope auth.Scope
	// local marks work on a table or configuration of a workspace, where the
	// caller's role in that workspace counts too. Here only the credential is
	// asked; the operation asks for the scope where the thing is.
	local bool
	// created makes 201 the status of success.
	created bool
	// camel marks resources whose fields are camelCase, errors included.
	camel bool
	// accepted says that 202 with an operation is an answer too.
	accepted bool
	// rows is the type that describes the answer's JSON where it is rows, which
	// are there in other formats too.
	rows reflect.Type
}

// with completes a route of a group that shares tag, scope and style.
func (rt route) with(method, path, id, summary string) route {
	rt.method, rt.path, rt.id, rt.summary = method, path, id, summary
	return rt
}

// as201 makes 201 the status of success.
func (rt route) as201() route {
	rt.created = true
	return rt
}

// orAccepted makes 202 with an operation one more answer.
func (rt route) orAccepted() route {
	rt.accepted = true
	return rt
}

// because adds a description.
func (rt route) because(description string) route {
	rt.description = description
	return rt
}

// reply carries a handler's answer as the response body.
type reply[T any] struct{ Body T }

// empty is the answer {}.
type empty struct{}

// noInput is the input of an operation without parameters.
type noInput struct{}

// answerTime bounds an operation that is no stream.
const answerTime = 2 * time.Minute

// add registers an operation whose answer is one JSON document.
func add[I, T any](api huma.API, rt route, handler func(context.Context, *I) (T, error)) {
	huma.Register(api, rt.operation(api), func(ctx context.Context, in *I) (*reply[T], error) {
		ctx, cancel := context.WithTimeout(ctx, answerTime)
		defer cancel()
		out, err := handler(ctx, in)
		if err != nil {
			return nil, rt.fail(ctx, err)
		}
		return &reply[T]{Body: out}, nil
	})
}

// authorise checks the scopes that every caller of the route needs.
func (rt route) authorise(ctx context.Context) error {
	p, err := auth.PrincipalFrom(ctx)
	if err != nil {
		return err
	}
	if rt.scope == "" {
		return nil
	}
	if rt.local && p.Granted.Has(rt.scope) {
		return nil
	}
	return p.Require(rt.scope)
}

func (rt route) fail(ctx context.Context, err error) error {
	return problem.Respond(ctx, err, rt.camel)
}

func (rt route) operation(api huma.API) huma.Operation {
	op := huma.Operation{
		OperationID: rt.id, Method: rt.method, Path: rt.path, Tags: []string{rt.tag},
		Summary: rt.summary, Description: rt.description,
		DefaultStatus: http.StatusOK,
		// The size of bodies is bounded by middleware, which answers as the
		// interface asks; the framework's own limit is off.
		MaxBodyBytes: -1, BodyReadTimeout: -1,
		Security:  []map[string][]string{{"BearerAuth": rt.scopes()}},
		Responses: map[string]*huma.Response{},
		Metadata:  map[string]any{"camel": rt.camel},
		// The scope is checked before parameters and body are decoded, so that a
		// caller without it learns nothing else and costs little.
		Middlewares: huma.Middlewares{func(ctx huma.Context, next func(huma.Context)) {
			if err := rt.authorise(ctx.Context()); err != nil {
				_ = huma.WriteErr(api, ctx, 0, "", rt.fail(ctx.Context(), err)) // the client may be gone
				return
			}
			next(ctx)
		}, rt.strictQuery(api)},
	}
	if rt.created {
		op.DefaultStatus = http.StatusCreated
	}
	addErrors(api, &op)
	if rt.rows != nil {
		op.Responses["200"] = rowsResponse(api, rt.rows)
	}
	if rt.accepted {
		op.Responses["202"] = acceptedResponse(api)
	}
	return op
}

func (rt route) scopes() []string {
	if rt.scope == "" {
		return []string{}
	}
	return []string{string(rt.scope)}
}

// addErrors lists the nine statuses with the error body and the two without.
func addErrors(api huma.API, op *huma.Operation) {
	schema := api.OpenAPI().Components.Schemas.Schema(problem.BodyType, true, "Error")
	for _, status := range problem.Statuses {
		op.Responses[strconv.Itoa(status)] = &huma.Response{
			Description: http.StatusText(status), Headers: headers(api, errorHeaders[status]...),
			Content: map[string]*huma.MediaType{"application/json": {Schema: schema}},
		}
	}
	for _, status := range problem.EmptyStatuses {
		op.Responses[strconv.Itoa(status)] = &huma.Response{Description: http.StatusText(status) + " (no body)", Headers: headers(api, errorHeaders[status]...)}
	}
}

// errorHeaders are the headers of the statuses that say more in one.
var errorHeaders = map[int][]string{
	http.StatusUnauthorized:       {"WWW-Authenticate"},
	http.StatusMethodNotAllowed:   {"Allow"},
	http.StatusTooManyRequests:    {"Retry-After"},
	http.StatusServiceUnavailable: {"Retry-After"},
}
