package identity

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"

	"github.com/lakewarden/lakewarden/api/browser"
	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/api/problem"
	v1 "github.com/lakewarden/lakewarden/api/v1"
)

// Screens are the pages that browsers get in place of JSON: [pages.Pages].
type Screens interface {
	Failed(r *http.Request, err error, again string) browser.Document
	Linked() browser.Document
}

// Door holds what the routes for browsers need besides their use cases.
type Door struct {
	Screens Screens
	Cookies browser.Cookies
	// Remote returns the network address of the client of a request.
	Remote func(*http.Request) string
}

// origin returns the origin of a request.
func (d Door) origin(r *http.Request) identity.Origin {
	return identity.Origin{Remote: d.Remote(r), RequestID: problem.RequestID(r.Context())}
}

// fail returns an error as the reply: a page for a browser, otherwise that of the route.
func (d Door) fail(ctx context.Context, rt v1.Route, r *http.Request, err error, again string) (*huma.StreamResponse, error) {
	if !browser.Navigates(r) || errors.Is(err, context.Canceled) {
		return nil, rt.Fail(ctx, err)
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) { show(ctx, d.Screens.Failed(r, err, again)) }}, nil
}

// show writes a page.
func show(ctx huma.Context, d browser.Document) {
	for name, values := range d.Header {
		for _, value := range values {
			ctx.SetHeader(name, value)
		}
	}
	ctx.SetStatus(d.Status)
	_, _ = ctx.BodyWriter().Write(d.Body) // the client may have disconnected
}

// Incoming is the part of an input that holds the request itself, for its cookies and the
// remote address.
type Incoming struct{ request *http.Request }

// Resolve implements huma.Resolver.
func (i *Incoming) Resolve(ctx huma.Context) []error {
	i.request, _ = humachi.Unwrap(ctx)
	return nil
}
