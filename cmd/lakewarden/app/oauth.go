package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/lakewarden/lakewarden/api/middleware"
	"github.com/lakewarden/lakewarden/api/oauth2"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/jwt"
	"github.com/lakewarden/lakewarden/auth/oauth"
	signin "github.com/lakewarden/lakewarden/auth/sqlstore"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/catalog/principal"
	"github.com/lakewarden/lakewarden/catalog/secret"
	"github.com/lakewarden/lakewarden/catalog/sqlstore"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
)

// expireEvery is the interval in which expired tokens are removed and the age of the
// signing key is checked.
const expireEvery = time.Hour

// signingSealer lets clients of the authorization server retry while the keys of the
// server cannot be used.
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
func newSigningKeys(
	ctx, background context.Context, store *sqlstore.Store, signIns *signin.Store, keyring *secret.Keyring, log *slog.Logger, s *Service,
) (*signin.SigningKeys, error) {
	keys := signin.NewSigningKeys(store.DB(), signingSealer{secret.SigningKeys{Keyring: keyring}})
	if err := keys.Ensure(ctx); err != nil {
		return nil, err
	}
	expire := func(ctx context.Context) {
		if err := errors.Join(keys.RotateOld(ctx), signIns.Expire(ctx)); err != nil && ctx.Err() == nil {
			log.Warn("signing keys and expired tokens", "error", err)
		}
	}
	s.background(background, expire) // also of a server that restarts more often
	s.every(background, expireEvery, expire)
	return keys, nil
}

// ownIssuer returns the server as an issuer of access tokens.
func ownIssuer(settings config.Settings, keys *signin.SigningKeys, signIns *signin.Store) jwt.Issuer {
	return jwt.Issuer{URL: settings.PublicURL, Algorithms: []string{jwt.ES256}, Keys: keys, AccessTokensOnly: true,
		Sessions: signIns, Orgless: true}
}

// newAuthorizationServer builds the authorization server.
func newAuthorizationServer(
	settings config.Settings, store *authz.Store, signIns *signin.Store, keys *signin.SigningKeys, tokens *jwt.Authenticator,
	pages oauth.Pages, auditor *caller.Auditor, log *slog.Logger,
) *oauth.Server {
	return oauth.New(oauth.Config{
		Issuer: settings.PublicURL, Clients: principal.New(store), Sessions: signIns, Grants: signIns, Keys: keys, Tokens: tokens,
		Access: identity.Access{Store: store}, Pages: pages, Logger: log,
		Monitor: oauth2.Monitor{Audit: auditor, Failures: middleware.NewFailures(middleware.DefaultFailureRate, nil),
			Tokens: middleware.NewLimiter(oauth2.TokenRate, nil)},
	})
}
