package identity

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/auth/sso"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// Once remembers identifiers that may be used once.
type Once interface {
	// Used reports whether a name was used before for a purpose.
	Used(ctx context.Context, purpose, name string) (bool, error)
	// UseOnce returns [session.ErrReused] for a name that was used before for the same
	// purpose, within life.
	UseOnce(ctx context.Context, purpose, name string, life time.Duration) error
}

// logoutPurpose is the purpose of the identifiers of logout tokens.
const logoutPurpose = "sso_logout"

// SSOLogout ends sign-ins.
type SSOLogout struct{ SSO SSO }

// Backchannel ends the sessions that a provider's logout token names. It returns
// [sso.ErrLogoutToken] for a token that is not valid or was used before, and
// [sso.ErrUnavailable].
func (l SSOLogout) Backchannel(ctx context.Context, token string, from Origin) error {
	ctx = authz.System(ctx, "back-channel logout")
	issuer, clients, err := sso.PeekLogout(token)
	if err != nil {
		return err
	}
	result := sso.ErrLogoutToken
	for _, client := range clients {
		configs, err := l.SSO.Store.SSOConfigsByClient(ctx, issuer, client)
		if err != nil {
			return err
		}
		if len(configs) == 0 { // no organisation uses the issuer, so its keys are not read
			continue
		}
		if result = l.end(ctx, configs, token, from); !errors.Is(result, sso.ErrLogoutToken) {
			return result
		}
	}
	return result
}

// end ends sessions of organisations that share a provider and a client there.
func (l SSOLogout) end(ctx context.Context, configs []catalog.SSOConfig, token string, from Origin) error {
	provider, err := l.SSO.Providers.Provider(ctx, configs[0].Issuer)
	if err != nil {
		return err
	}
	logout, err := provider.VerifyLogout(ctx, sso.Client{ID: configs[0].ClientID}, token)
	if err != nil {
		return err
	}
	id := configs[0].Issuer + " " + logout.TokenID
	used, err := l.SSO.Once.Used(ctx, logoutPurpose, id)
	if err == nil && used {
		err = sso.ErrLogoutToken
	}
	if err != nil {
		return err
	}
	for _, config := range configs {
		org, err := uuid.Parse(string(config.Org))
		if err != nil {
			return err
		}
		ended, err := l.SSO.Sessions.RevokeProvider(ctx, org, config.Issuer, logout.Subject, logout.Session)
		if err != nil {
			return err
		}
		if ended > 0 {
			l.SSO.Audit.Record(catalog.AuditEntry{Org: config.Org, Action: "sign_out.provider", Outcome: catalog.OutcomeAllow,
				RequestID: from.RequestID, Remote: from.Remote})
		}
	}
	// The token is used now and not before, so that the provider can repeat it after a
	// failure.
	err = l.SSO.Once.UseOnce(ctx, logoutPurpose, id, 2*sso.LogoutTokenAge)
	if errors.Is(err, session.ErrReused) {
		return sso.ErrLogoutToken
	}
	return err
}

// SignOut ends the caller's own session. It returns the URL at which the person also
// ends the session at the provider, or "".
func (l SSOLogout) SignOut(ctx context.Context) (logoutURL string, err error) {
	a, err := caller.From(ctx)
	if err != nil {
		return "", err
	}
	if a.SessionID == uuid.Nil { // an API key, or a token of a foreign issuer
		return "", nil
	}
	system := authz.System(ctx, "sign out")
	ended, err := l.SSO.Sessions.Session(system, a.SessionID)
	if err != nil {
		return "", err
	}
	if err := l.SSO.Sessions.RevokeSession(system, a.SessionID); err != nil {
		return "", err
	}
	l.SSO.Audit.Record(caller.NewEntry(a, "sign_out", "session/"+ended.ID.String(), catalog.OutcomeAllow))
	if ended.Method != session.MethodSSO {
		return "", nil
	}
	config, err := l.SSO.Store.SSOConfig(system, catalog.OrgID(ended.Org.String()))
	if err != nil || config.Issuer != ended.Issuer {
		return "", ignoreMissing(err)
	}
	provider, err := l.SSO.Providers.Provider(system, config.Issuer)
	if err != nil { // the session here has ended
		return "", nil
	}
	return provider.LogoutURL(sso.Client{ID: config.ClientID}, l.SSO.PublicURL+SignedOutPath), nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, catalog.ErrNotFound) {
		return nil
	}
	return err
}
