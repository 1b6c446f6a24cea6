package login

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lakewarden/lakewarden/api/middleware"
	"github.com/lakewarden/lakewarden/api/oauth2"
	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/jwt"
	"github.com/lakewarden/lakewarden/auth/oauth"
	signin "github.com/lakewarden/lakewarden/auth/sqlstore"
	"github.com/lakewarden/lakewarden/catalog/principal"
	"github.com/lakewarden/lakewarden/catalog/secret"
)

// expireEvery is the interval in which expired tokens are removed and the age of the
// signing key is checked.
const expireEvery = time.Hour

// signingSealer marks errors of unavailable keys as [auth.ErrUnavailable], so that
// clients retry.
type signingSealer struct{ secret.SigningKeys }

// Open implements [signin.Sealer].
func (s signingSealer) Open(id string, sealed []byte) ([]byte, error) {
	plain, err := s.SigningKeys.Open(id, sealed)
	if errors.Is(err, secret.ErrUnavailable) {
		err = fmt.Errorf("%w: %w", auth.ErrUnavailable, err)
	}
	return plain, err
}

// newSigningKeys opens the keys that sign access tokens, creates the first one, and starts
// their rotation.
func newSigningKeys(ctx, background context.Context, o Options) (*signin.SigningKeys, error) {
	keys := signin.NewSigningKeys(o.Catalog.DB(), signingSealer{secret.SigningKeys{Keyring: o.Remote.Keys}})
	if err := keys.Ensure(ctx); err != nil {
		return nil, err
	}
	// At once as well, for a server that restarts more often than the interval.
	o.Parts.Repeat(background, expireEvery, func(ctx context.Context) {
		if err := errors.Join(keys.RotateOld(ctx), o.SignIns.Expire(ctx)); err != nil && ctx.Err() == nil {
			o.Logger.Warn("signing keys and expired tokens", "error", err)
		}
	})
	return keys, nil
}

// newAuthorizationServer builds the authorization server.
func (l *Login) newAuthorizationServer(o Options, tokens *jwt.Authenticator) *oauth.Server {
	config := oauth.Config{
		Issuer: o.Settings.PublicURL, Clients: principal.New(o.Store), Sessions: o.SignIns, Grants: o.SignIns, Keys: l.Signing, Tokens: tokens,
		Access: identity.Access{Store: o.Store}, People: identity.Names{Store: o.Store}, Pages: l.Pages, Logger: o.Logger,
		Monitor: monitor{
			Monitor: oauth2.Monitor{Audit: o.Audit, Failures: middleware.NewFailures(middleware.DefaultFailureRate, nil),
				Tokens: middleware.NewLimiter(oauth2.TokenRate, nil)},
			signIns: identity.OrganisationSignIns{Sessions: o.SignIns, Once: o.SignIns, Audit: o.Audit}, log: o.Logger,
		},
	}
	if l.OpenClients != nil {
		config.Documents = documents{*l.OpenClients}
	}
	return oauth.New(config)
}
