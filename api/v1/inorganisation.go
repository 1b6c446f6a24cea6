package v1

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/catalog"
)

// AddIn is [Add] for a route of an organisation. Its input embeds [OrgPath].
func AddIn[I, T any, P interface {
	*I
	organisation() (catalog.OrgID, error)
}](api huma.API, rt Route, handler func(context.Context, catalog.OrgID, *I) (T, error)) {
	Add(api, rt, func(ctx context.Context, in *I) (none T, err error) {
		org, err := P(in).organisation()
		if err != nil {
			return none, err
		}
		return handler(ctx, org, in)
	})
}

// AddOne is [Add] for a route of one record of an organisation. The method IDs of its input
// parses the path parameters.
func AddOne[I, ID, T any, P interface {
	*I
	IDs() (catalog.OrgID, ID, error)
}](api huma.API, rt Route, handler func(context.Context, catalog.OrgID, ID, *I) (T, error)) {
	Add(api, rt, func(ctx context.Context, in *I) (none T, err error) {
		org, id, err := P(in).IDs()
		if err != nil {
			return none, err
		}
		return handler(ctx, org, id, in)
	})
}
