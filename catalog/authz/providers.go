package authz

import (
	"context"
	"time"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// PutProviderApp needs provider_apps:write.
func (s *Store) PutProviderApp(ctx context.Context, app catalog.NewProviderApp) (catalog.ProviderApp, error) {
	if err := inOrg(ctx, app.Org, auth.ScopeProviderAppsWrite); err != nil {
		return catalog.ProviderApp{}, err
	}
	return s.inner.PutProviderApp(ctx, app)
}

// ProviderApp needs provider_apps:write.
func (s *Store) ProviderApp(ctx context.Context, org catalog.OrgID, provider catalog.Provider) (catalog.ProviderApp, error) {
	if err := inOrg(ctx, org, auth.ScopeProviderAppsWrite); err != nil {
		return catalog.ProviderApp{}, err
	}
	return s.inner.ProviderApp(ctx, org, provider)
}

// ProviderApps needs provider_apps:write.
func (s *Store) ProviderApps(ctx context.Context, org catalog.OrgID) ([]catalog.ProviderApp, error) {
	if err := inOrg(ctx, org, auth.ScopeProviderAppsWrite); err != nil {
		return nil, err
	}
	return s.inner.ProviderApps(ctx, org)
}

// DeleteProviderApp needs provider_apps:write.
func (s *Store) DeleteProviderApp(ctx context.Context, org catalog.OrgID, provider catalog.Provider) error {
	if err := inOrg(ctx, org, auth.ScopeProviderAppsWrite); err != nil {
		return err
	}
	return s.inner.DeleteProviderApp(ctx, org, provider)
}

// ProviderAppSecret is for the system: callers cannot read a secret back.
func (s *Store) ProviderAppSecret(ctx context.Context, org catalog.OrgID, provider catalog.Provider) (catalog.ProviderApp, []byte, error) {
	if err := systemOnly(ctx); err != nil {
		return catalog.ProviderApp{}, nil, err
	}
	return s.inner.ProviderAppSecret(ctx, org, provider)
}

// PutProviderLink is for the system, which has the tokens from the provider.
func (s *Store) PutProviderLink(ctx context.Context, link catalog.NewProviderLink) (catalog.ProviderLink, error) {
	if err := systemOnly(ctx); err != nil {
		return catalog.ProviderLink{}, err
	}
	return s.inner.PutProviderLink(ctx, link)
}

// ProviderLinks is open to the member itself, with any credential.
func (s *Store) ProviderLinks(ctx context.Context, org catalog.OrgID, user catalog.UserID) ([]catalog.ProviderLink, error) {
	if err := ownLink(ctx, org, user); err != nil {
		return nil, err
	}
	return s.inner.ProviderLinks(ctx, org, user)
}

// DeleteProviderLink is open to the member itself, with any credential.
func (s *Store) DeleteProviderLink(ctx context.Context, link catalog.ProviderLinkKey) error {
	if err := ownLink(ctx, link.Org, link.User); err != nil {
		return err
	}
	return s.inner.DeleteProviderLink(ctx, link)
}

// ownLink checks that the actor is the member. The links of others are not found.
func ownLink(ctx context.Context, org catalog.OrgID, user catalog.UserID) error {
	a, err := actorFrom(ctx)
	if err != nil {
		return err
	}
	if err := a.in(org); err != nil {
		return err
	}
	if !a.system && !a.isUser(user) {
		return catalog.ErrNotFound
	}
	return nil
}

// ProviderLinkToken is for the system: callers never see a delegated token.
func (s *Store) ProviderLinkToken(ctx context.Context, link catalog.ProviderLinkKey) (catalog.ProviderLinkToken, error) {
	if err := systemOnly(ctx); err != nil {
		return catalog.ProviderLinkToken{}, err
	}
	return s.inner.ProviderLinkToken(ctx, link)
}

// ClaimProviderLink is for the system, which exchanges the token.
func (s *Store) ClaimProviderLink(ctx context.Context, link catalog.ProviderLinkKey, expectedVersion int64,
	until time.Time) (int64, error) {
	if err := systemOnly(ctx); err != nil {
		return 0, err
	}
	return s.inner.ClaimProviderLink(ctx, link, expectedVersion, until)
}

// RenewProviderLink is for the system, which exchanges the token.
func (s *Store) RenewProviderLink(ctx context.Context, link catalog.ProviderLinkKey, expectedVersion int64, sealed []byte,
	broken bool) error {
	if err := systemOnly(ctx); err != nil {
		return err
	}
	return s.inner.RenewProviderLink(ctx, link, expectedVersion, sealed, broken)
}

// HasSealedSecrets is for the system: it spans organisations.
func (s *Store) HasSealedSecrets(ctx context.Context) (bool, error) {
	if err := systemOnly(ctx); err != nil {
		return false, err
	}
	return s.inner.HasSealedSecrets(ctx)
}

// ListSealedSecrets is for the system: it spans organisations.
func (s *Store) ListSealedSecrets(ctx context.Context, after catalog.SealedSecret, limit int) ([]catalog.SealedSecret, error) {
	if err := systemOnly(ctx); err != nil {
		return nil, err
	}
	return s.inner.ListSealedSecrets(ctx, after, limit)
}

// ReplaceSealedSecret is for the system: it spans organisations.
func (s *Store) ReplaceSealedSecret(ctx context.Context, read catalog.SealedSecret, sealed []byte) (bool, error) {
	if err := systemOnly(ctx); err != nil {
		return false, err
	}
	return s.inner.ReplaceSealedSecret(ctx, read, sealed)
}
