package app

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/api/ops/identity/throttle"
	signin "github.com/lakewarden/lakewarden/auth/sqlstore"
	"github.com/lakewarden/lakewarden/auth/sso"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
	"github.com/lakewarden/lakewarden/engine/storage"
)

// singleSignOn is what the routes of single sign-on use.
type singleSignOn struct {
	settings identity.SSOSettings
	signIn   identity.SSO
	logout   identity.SSOLogout
}

// domainCheckEvery is the interval in which the server looks for domains whose record is
// due, which is once a day for each.
const domainCheckEvery = time.Hour

// newSingleSignOn builds single sign-on, and starts the daily checks of e-mail domains.
func newSingleSignOn(
	ctx context.Context, settings config.Settings, store *authz.Store, signIns *signin.Store, remote *remoteStores, issuer identity.Issuer,
	auditor *caller.Auditor, registry *prometheus.Registry, log *slog.Logger, s *Service,
) singleSignOn {
	client := egressClient(remote.egress)
	s.onClose(func(context.Context) error { client.CloseIdleConnections(); return nil })
	providers := sso.New(client, sso.Options{AllowInsecure: settings.AllowPrivateEndpoints})
	resolver := sso.NewResolver(settings.DNSServer)
	checks := identity.DomainChecks{
		Store: store, Resolver: resolver, Audit: auditor, Metrics: identity.NewDomainMetrics(registry), Logger: log,
	}
	s.every(ctx, domainCheckEvery, func(ctx context.Context) {
		if err := checks.Run(ctx); err != nil && ctx.Err() == nil {
			log.Warn("periodic check of e-mail domains", "error", err)
		}
	})
	signIn := identity.SSO{
		Store: store, Providers: providers, Keys: remote.keys, Tokens: signIns, Sessions: signIns, Browsers: signIns, Once: signIns,
		Issuer: issuer, Audit: auditor, Refusals: throttle.NewRefusals(nil), PublicURL: settings.PublicURL,
	}
	return singleSignOn{
		settings: identity.SSOSettings{
			Store: store, Check: providers.Check, Resolver: resolver, Keys: remote.keys, Audit: auditor,
		},
		signIn: signIn, logout: identity.SSOLogout{SSO: signIn},
	}
}

// egressClient returns a client for addresses that users supply. It reaches those that an
// [storage.Egress] allows, and uses no proxy, which would connect for it.
func egressClient(egress storage.Egress) *http.Client {
	return &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DialContext: egress.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 5 * time.Second,
		ResponseHeaderTimeout: 10 * time.Second, MaxIdleConnsPerHost: 2, MaxIdleConns: 100, IdleConnTimeout: time.Minute,
		MaxResponseHeaderBytes: 64 << 10,
	}}
}
