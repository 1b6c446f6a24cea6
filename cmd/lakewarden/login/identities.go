package login

import (
	"context"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/api/ops/identity/binding"
	"github.com/lakewarden/lakewarden/auth/jwt"
)

// addIdentities adds the use cases by which subjects of identity providers are bound to members.
func (l *Login) addIdentities(o Options, tokens *jwt.Authenticator) {
	l.Identities = binding.Identities{Store: o.Store, Audit: o.Audit}
	l.Pages.Confirmations = binding.Confirmations{
		Store: o.Store, Tokens: o.SignIns, Browsers: o.SignIns, Audit: o.Audit,
		Subject: func(ctx context.Context, token string) (org uuid.UUID, issuer, subject, email string, err error) {
			of, err := tokens.Subject(ctx, token)
			return of.Org, of.Issuer, of.ID, of.Email, err
		},
	}
}
