package login

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/api/ops/identity/binding"
	"github.com/lakewarden/lakewarden/api/ops/identity/throttle"
	"github.com/lakewarden/lakewarden/api/ops/program"
	"github.com/lakewarden/lakewarden/api/ops/revocation"
	"github.com/lakewarden/lakewarden/api/pages"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/apikey"
	"github.com/lakewarden/lakewarden/auth/jwt"
	"github.com/lakewarden/lakewarden/auth/oauth"
	signin "github.com/lakewarden/lakewarden/auth/sqlstore"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/catalog/principal"
	"github.com/lakewarden/lakewarden/catalog/sqlstore"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/lifecycle"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/stores"
)

// Options holds what [New] builds upon. All fields are set.
type Options struct {
	Settings config.Settings
	// Catalog holds the signing keys, Store checks what callers may read, SignIns holds the
	// sessions.
	Catalog *sqlstore.Store
	Store   *authz.Store
	SignIns *signin.Store
	// Remote holds the keyring, the applications at OAuth providers, and the check of
	// addresses that users supply.
	Remote     *stores.Remote
	Epochs     *revocation.Epochs
	Audit      *caller.Auditor
	Registerer prometheus.Registerer
	Logger     *slog.Logger
	Parts      *lifecycle.Group
}

// Login holds what authenticates requests, and the use cases of signing in.
type Login struct {
	Authenticator auth.Authenticator
	Signing       *signin.SigningKeys
	// Flows is the authorization server.
	Flows *oauth.Server
	// OpenClients is nil if the operator allows no clients that nobody vouches for.
	OpenClients   *program.OpenClients
	Invitations   identity.Invitations
	Passwords     identity.Passwords
	Recovery      identity.Recovery
	Sessions      identity.SessionLists
	Pages         *pages.Pages
	SSO           identity.SSO
	SSOSettings   identity.SSOSettings
	Identities    binding.Identities
	SSOLogout     identity.SSOLogout
	ProviderLinks identity.ProviderLinks
}

// New builds the parts, and starts their background work, which ends with background or with
// the parts of o. Errors are those of the settings, the catalog and the keyring.
func New(ctx, background context.Context, o Options) (*Login, error) {
	l := &Login{}
	var err error
	if l.Signing, err = newSigningKeys(ctx, background, o); err != nil {
		return nil, err
	}
	tokens, err := l.addAuthenticator(o)
	if err != nil {
		return nil, err
	}
	if err := reportUnbound(ctx, o); err != nil {
		return nil, err
	}
	mails, err := newMails(background, o)
	if err != nil {
		return nil, err
	}
	l.Invitations = identity.Invitations{
		Store: o.Store, Mail: mails, Audit: o.Audit, Refusals: throttle.NewRefusals(nil), Sent: throttle.NewMailings(nil),
		PublicURL: o.Settings.PublicURL,
	}
	l.addPasswords(o, mails)
	l.Sessions = identity.SessionLists{Sessions: o.SignIns, Members: o.Store}
	l.addOpenClients(background, o)
	l.Flows = l.newAuthorizationServer(o, tokens)
	l.addSingleSignOn(background, o)
	l.addIdentities(o, tokens)
	l.ProviderLinks = identity.ProviderLinks{
		Apps: o.Remote.Apps, States: o.SignIns, Sessions: o.SignIns, Browsers: o.SignIns, PublicURL: o.Settings.PublicURL, Audit: o.Audit,
	}
	return l, nil
}

// addAuthenticator adds the check of API keys and tokens, and returns that of tokens.
func (l *Login) addAuthenticator(o Options) (*jwt.Authenticator, error) {
	members := principal.New(o.Store)
	issuers, err := issuersOf(o.Settings)
	if err != nil {
		return nil, err
	}
	own := jwt.Issuer{
		URL: o.Settings.PublicURL, Algorithms: []string{jwt.ES256}, Keys: l.Signing, AccessTokensOnly: true, Sessions: o.SignIns, Orgless: true,
	}
	tokens, err := jwt.New(members, append(issuers, own), jwt.Options{Epoch: o.Epochs.Current})
	if err != nil {
		return nil, err
	}
	keys := apikey.New(members, apikey.Options{Epoch: o.Epochs.Current, Logger: o.Logger})
	o.Parts.OnClose(func(context.Context) error { keys.Close(); return nil })
	l.Authenticator = auth.Split{KeyPrefix: apikey.Prefix, Keys: keys, Tokens: tokens}
	return tokens, nil
}

// reportUnbound logs, once, which credentials of earlier releases outlive the API keys that
// made them.
func reportUnbound(ctx context.Context, o Options) error {
	found, err := o.Store.TakeUnboundCredentials(authz.System(ctx, "credentials of earlier releases"))
	for _, u := range found {
		o.Logger.Warn("credentials of an earlier release do not end with the API keys that made them; revoke those that are not needed",
			"organisation", u.Org, "api_keys", u.Keys, "service_accounts", u.ServiceAccounts, "clients", u.Clients)
	}
	return err
}
