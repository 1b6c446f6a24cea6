package authz_test

import (
	"context"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

const someHash = "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$a2V5a2V5a2V5"

// identityMethods returns the cases of the roles in catalog/identitystore.go.
var identityMethods = map[string]method{
	"SetPassword": {
		call: func(f *fixture, ctx context.Context) error {
			return f.store.SetPassword(ctx, f.users["viewer"], someHash)
		},
		denied: catalog.ErrDenied,
	},
	"ReplacePassword": {
		call: func(f *fixture, ctx context.Context) error {
			require.NoError(f, f.inner.SetPassword(ctx, f.users["viewer"], someHash))
			return f.store.ReplacePassword(ctx, f.users["viewer"], someHash, someHash)
		},
		denied: catalog.ErrDenied,
	},
	"Password": {
		call: func(f *fixture, ctx context.Context) error {
			require.NoError(f, f.inner.SetPassword(ctx, f.users["viewer"], someHash))
			return drop(f.store.Password(ctx, f.users["viewer"]))
		},
		denied: catalog.ErrDenied,
	},
}
