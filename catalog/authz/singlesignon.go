package authz

import (
	"context"
	"time"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// PutSSOConfig needs org:update, and no role in the configuration may exceed the actor's.
// Who chooses the identity provider decides who every member with an address of the
// domains is, so the credential must also hold all scopes of its role.
func (s *Store) PutSSOConfig(ctx context.Context, org catalog.OrgID, config catalog.NewSSOConfig) (none catalog.SSOConfig, err error) {
	a, err := actorFrom(ctx)
	if err != nil {
		return none, err
	}
	if err := a.in(org, auth.ScopeOrgUpdate); err != nil {
		return none, err
	}
	for _, role := range []catalog.Role{config.DefaultRole, config.MaxRole} {
		if err := a.grants(auth.Role(role), a.principal.Role); err != nil {
			return none, err
		}
	}
	if err := a.holdsRole(); err != nil {
		return none, err
	}
	return s.inner.PutSSOConfig(ctx, org, config)
}

// holdsRole returns an error if the credential lacks a scope of the actor's role.
func (a actor) holdsRole() error {
	if !a.system && !a.principal.Scopes.Contains(a.principal.Role.Scopes()) {
		return &catalog.DeniedError{Reason: "role_escalation"}
	}
	return nil
}

// SSOConfig needs org:update.
func (s *Store) SSOConfig(ctx context.Context, org catalog.OrgID) (catalog.SSOConfig, error) {
	if err := inOrg(ctx, org, auth.ScopeOrgUpdate); err != nil {
		return catalog.SSOConfig{}, err
	}
	return s.inner.SSOConfig(ctx, org)
}

// SSOConfigsByClient is for the system, because it reveals other organisations.
func (s *Store) SSOConfigsByClient(ctx context.Context, issuer, clientID string) ([]catalog.SSOConfig, error) {
	if err := systemOnly(ctx); err != nil {
		return nil, err
	}
	return s.inner.SSOConfigsByClient(ctx, issuer, clientID)
}

// SSOSecret is for the system: callers cannot read a secret back.
func (s *Store) SSOSecret(ctx context.Context, org catalog.OrgID) ([]byte, error) {
	if err := systemOnly(ctx); err != nil {
		return nil, err
	}
	return s.inner.SSOSecret(ctx, org)
}

// DeleteSSOConfig needs what PutSSOConfig needs: without single sign-on, passwords decide who
// members are.
func (s *Store) DeleteSSOConfig(ctx context.Context, org catalog.OrgID) error {
	a, err := actorFrom(ctx)
	if err != nil {
		return err
	}
	if err := a.in(org, auth.ScopeOrgUpdate); err != nil {
		return err
	}
	if err := a.holdsRole(); err != nil {
		return err
	}
	return s.inner.DeleteSSOConfig(ctx, org)
}

// EmailDomains needs org:update.
func (s *Store) EmailDomains(ctx context.Context, org catalog.OrgID) ([]catalog.EmailDomain, error) {
	if err := inOrg(ctx, org, auth.ScopeOrgUpdate); err != nil {
		return nil, err
	}
	return s.inner.EmailDomains(ctx, org)
}

// VerifiedDomain is for the system, because it reveals other organisations.
func (s *Store) VerifiedDomain(ctx context.Context, domain string) (catalog.EmailDomain, error) {
	if err := systemOnly(ctx); err != nil {
		return catalog.EmailDomain{}, err
	}
	return s.inner.VerifiedDomain(ctx, domain)
}

// VerifyEmailDomain is for the system, which has seen the proof.
func (s *Store) VerifyEmailDomain(ctx context.Context, org catalog.OrgID, domain string,
	method catalog.DomainMethod) (catalog.EmailDomain, error) {
	if err := systemOnly(ctx); err != nil {
		return catalog.EmailDomain{}, err
	}
	return s.inner.VerifyEmailDomain(ctx, org, domain, method)
}

// RecordDomainCheck is for the system.
func (s *Store) RecordDomainCheck(ctx context.Context, org catalog.OrgID, domain string, found bool,
	grace time.Duration) (catalog.EmailDomain, error) {
	if err := systemOnly(ctx); err != nil {
		return catalog.EmailDomain{}, err
	}
	return s.inner.RecordDomainCheck(ctx, org, domain, found, grace)
}

// DomainsToCheck is for the system.
func (s *Store) DomainsToCheck(ctx context.Context, since time.Time, limit int) ([]catalog.EmailDomain, error) {
	if err := systemOnly(ctx); err != nil {
		return nil, err
	}
	return s.inner.DomainsToCheck(ctx, since, limit)
}
