package identity

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"

	"github.com/lakewarden/lakewarden/api/browser"
	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/api/problem"
)

// Door holds what the routes for browsers need besides their use cases.
type Door struct {
	Cookies browser.Cookies
	// Remote returns the network address of the client of a request.
	Remote func(*http.Request) string
}

// origin returns the origin of a request.
func (d Door) origin(r *http.Request) identity.Origin {
	return identity.Origin{Remote: d.Remote(r), RequestID: problem.RequestID(r.Context())}
}

// Incoming is the part of an input that holds the request itself, for its cookies and the
// remote address.
type Incoming struct{ request *http.Request }

// Resolve implements huma.Resolver.
func (i *Incoming) Resolve(ctx huma.Context) []error {
	i.request, _ = humachi.Unwrap(ctx)
	return nil
}
