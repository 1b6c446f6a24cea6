package login

import (
	"context"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/api/ops/identity/throttle"
	"github.com/lakewarden/lakewarden/auth/sso"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/stores"
)

// domainCheckEvery is the interval in which the server looks for domains whose record is
// due, which is once a day for each.
const domainCheckEvery = time.Hour

// addSingleSignOn adds single sign-on, and starts the daily checks of e-mail domains.
func (l *Login) addSingleSignOn(background context.Context, o Options) {
	client := stores.EgressClient(o.Remote.Egress)
	o.Parts.OnClose(func(context.Context) error { client.CloseIdleConnections(); return nil })
	providers := sso.New(client, sso.Options{AllowInsecure: o.Settings.AllowPrivateEndpoints})
	resolver := sso.NewResolver(o.Settings.DNSServer)
	checks := identity.DomainChecks{
		Store: o.Store, Resolver: resolver, Audit: o.Audit, Metrics: identity.NewDomainMetrics(o.Registerer), Logger: o.Logger,
	}
	o.Parts.Every(background, domainCheckEvery, func(ctx context.Context) {
		if err := checks.Run(ctx); err != nil && ctx.Err() == nil {
			o.Logger.Warn("periodic check of e-mail domains", "error", err)
		}
	})
	signIn := identity.SSO{
		Store: o.Store, Providers: providers, Keys: o.Remote.Keys, Tokens: o.SignIns, Sessions: o.SignIns, Browsers: o.SignIns, Once: o.SignIns,
		Issuer: l.Flows, Audit: o.Audit, Refusals: throttle.NewRefusals(nil), PublicURL: o.Settings.PublicURL,
	}
	l.SSO, l.SSOLogout = signIn, identity.SSOLogout{SSO: signIn}
	l.SSOSettings = identity.SSOSettings{Store: o.Store, Check: providers.Check, Resolver: resolver, Keys: o.Remote.Keys, Audit: o.Audit}
	l.Pages.SSO = signIn
}
