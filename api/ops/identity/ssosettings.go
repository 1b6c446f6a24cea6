package identity

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/auth/sso"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// SSOSettings manages the identity provider and the e-mail domains of an organisation.
type SSOSettings struct {
	Store catalog.SingleSignOn
	// Check checks an issuer by discovery; see [sso.Providers.Check].
	Check    func(ctx context.Context, issuer string) error
	Resolver sso.Resolver
	Keys     Keyring
	Audit    Recorder
}

// NewSSO is a configuration as a caller sends it.
type NewSSO struct {
	Issuer, ClientID string
	// ClientSecret may be empty if the issuer stays the same.
	ClientSecret string
	Domains      []string
	DefaultRole  catalog.Role
	// MaxRole is the default role if it is empty.
	MaxRole         catalog.Role
	RoleClaim       string
	AttributeClaims map[string]string
	// DryRun checks everything and stores nothing.
	DryRun bool
}

// SSOStatus is a configuration with its domains.
type SSOStatus struct {
	catalog.SSOConfig
	// Domains are in the order of their names. After a dry run, new ones have no challenge.
	Domains []catalog.EmailDomain
}

// DomainRecord returns the name and the content of the TXT record that verifies a domain.
func DomainRecord(d catalog.EmailDomain) (name, content string) {
	return sso.Record(d.Domain, d.Challenge)
}

// Get returns the configuration of an organisation.
func (s SSOSettings) Get(ctx context.Context, org catalog.OrgID) (SSOStatus, error) {
	if _, err := caller.In(ctx, org); err != nil {
		return SSOStatus{}, err
	}
	return s.status(ctx, org)
}

func (s SSOSettings) status(ctx context.Context, org catalog.OrgID) (SSOStatus, error) {
	config, err := s.Store.SSOConfig(ctx, org)
	if err != nil {
		return SSOStatus{}, err
	}
	domains, err := s.Store.EmailDomains(ctx, org)
	return SSOStatus{SSOConfig: config, Domains: domains}, err
}

// Put creates or replaces the configuration of an organisation, after the issuer was checked
// by discovery. [catalog.SingleSignOn] says which sign-ins end. It returns [sso.ErrIssuer]
// and [catalog.ErrDomainTaken].
func (s SSOSettings) Put(ctx context.Context, org catalog.OrgID, n NewSSO) (SSOStatus, error) {
	a, err := caller.In(ctx, org)
	if err != nil {
		return SSOStatus{}, err
	}
	config, err := n.catalog()
	if err != nil {
		return SSOStatus{}, err
	}
	// The store checks this, too, but after the issuer was asked.
	if own := catalog.Role(a.Role); !own.Includes(config.DefaultRole) || !own.Includes(config.MaxRole) || !a.Scopes.Contains(a.Role.Scopes()) {
		return SSOStatus{}, &catalog.DeniedError{Reason: "role_escalation"}
	}
	before, err := s.status(ctx, org)
	if err != nil && !errors.Is(err, catalog.ErrNotFound) {
		return SSOStatus{}, err
	}
	if n.ClientSecret == "" && before.Issuer != n.Issuer {
		return SSOStatus{}, fault.Invalid("client_secret", "must be given for a new issuer")
	}
	if err := s.Check(ctx, n.Issuer); err != nil {
		return SSOStatus{}, err
	}
	if n.DryRun {
		return s.dryRun(ctx, org, config, before)
	}
	if n.ClientSecret != "" {
		if config.SealedSecret, err = s.Keys.Seal(ssoBinding(org, n.Issuer), []byte(n.ClientSecret)); err != nil {
			return SSOStatus{}, err
		}
	}
	if _, err := s.Store.PutSSOConfig(ctx, org, config); err != nil {
		return SSOStatus{}, err
	}
	return s.status(ctx, org)
}

// catalog returns the record of the input, without the secret.
func (n NewSSO) catalog() (catalog.NewSSOConfig, error) {
	if n.MaxRole == "" {
		n.MaxRole = n.DefaultRole
	}
	domains := make([]string, len(n.Domains))
	for i, text := range n.Domains {
		domain, err := sso.NormaliseDomain(text)
		if err != nil {
			return catalog.NewSSOConfig{}, fault.Invalid(fmt.Sprintf("domains[%d]", i), "must be a domain that an organisation can own")
		}
		domains[i] = domain
	}
	config := catalog.NewSSOConfig{
		Issuer: n.Issuer, ClientID: n.ClientID, DefaultRole: n.DefaultRole, MaxRole: n.MaxRole, RoleClaim: n.RoleClaim,
		AttributeClaims: n.AttributeClaims, Domains: domains,
	}
	if len(n.ClientSecret) > maxClientSecret {
		return config, fault.Invalid("client_secret", "must have at most %d bytes", maxClientSecret)
	}
	return config, config.Validate()
}

// dryRun returns what Put would store.
func (s SSOSettings) dryRun(ctx context.Context, org catalog.OrgID, n catalog.NewSSOConfig, before SSOStatus) (SSOStatus, error) {
	after := SSOStatus{SSOConfig: before.SSOConfig}
	after.Org, after.Issuer, after.ClientID, after.DefaultRole, after.MaxRole = org, n.Issuer, n.ClientID, n.DefaultRole, n.MaxRole
	after.RoleClaim, after.AttributeClaims = n.RoleClaim, n.AttributeClaims
	for _, domain := range slices.Sorted(slices.Values(n.Domains)) {
		d := catalog.EmailDomain{Org: org, Domain: domain}
		if i := slices.IndexFunc(before.Domains, func(b catalog.EmailDomain) bool { return b.Domain == domain }); i >= 0 {
			d = before.Domains[i]
		} else {
			_, err := s.Store.VerifiedDomain(authz.System(ctx, "dry run"), domain)
			if err == nil {
				err = catalog.ErrDomainTaken
			}
			if !errors.Is(err, catalog.ErrNotFound) {
				return SSOStatus{}, err
			}
		}
		after.Domains = append(after.Domains, d)
	}
	return after, nil
}

// Delete removes the configuration and the domains of an organisation, and ends the sign-ins
// that came from it. It returns [catalog.ErrNotFound] for an organisation without a
// configuration.
func (s SSOSettings) Delete(ctx context.Context, org catalog.OrgID) error {
	if _, err := caller.In(ctx, org); err != nil {
		return err
	}
	return s.Store.DeleteSSOConfig(ctx, org)
}

// VerifyDomain looks up the record of a domain now, and returns the verified domain. Errors
// are [sso.ErrRecord], [sso.ErrResolver] and [catalog.ErrDomainTaken].
func (s SSOSettings) VerifyDomain(ctx context.Context, org catalog.OrgID, text string) (catalog.EmailDomain, error) {
	a, err := caller.In(ctx, org)
	if err != nil {
		return catalog.EmailDomain{}, err
	}
	domains, err := s.Store.EmailDomains(ctx, org) // checks the caller's scope
	if err != nil {
		return catalog.EmailDomain{}, err
	}
	domain, err := sso.NormaliseDomain(text)
	i := slices.IndexFunc(domains, func(d catalog.EmailDomain) bool { return d.Domain == domain })
	if err != nil || i < 0 {
		return catalog.EmailDomain{}, catalog.ErrNotFound
	}
	system := authz.System(ctx, "verify a domain")
	err = sso.CheckRecord(ctx, s.Resolver, domain, domains[i].Challenge)
	if errors.Is(err, sso.ErrRecord) {
		if _, recordErr := s.Store.RecordDomainCheck(system, org, domain, false, DomainGrace); recordErr != nil {
			return catalog.EmailDomain{}, recordErr
		}
	}
	if err != nil {
		return catalog.EmailDomain{}, err
	}
	verified, err := s.Store.VerifyEmailDomain(system, org, domain, catalog.DomainByDNS)
	outcome := catalog.OutcomeAllow
	if err != nil {
		outcome = catalog.OutcomeDeny
	}
	s.Audit.Record(caller.NewEntry(a, "sso.domain_verified", "domain/"+domain, outcome))
	return verified, err
}
