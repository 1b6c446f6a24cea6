package catalog

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// SSOConfig is the identity provider of an organisation. The client secret is not part of
// the record; see [SingleSignOn.SSOSecret].
type SSOConfig struct {
	Org      OrgID
	Issuer   string
	ClientID string
	// DefaultRole is the role of a new member whose claims name none, and MaxRole the
	// highest one that claims can give.
	DefaultRole, MaxRole Role
	// RoleClaim is the claim that holds a role or a list of roles; empty means none.
	RoleClaim string
	// AttributeClaims maps policy attributes to the claims that set them. It is never nil.
	AttributeClaims map[string]string
	Version         int64
	CreatedAt       time.Time
	UpdatedAt       time.Time
}

// NewSSOConfig is the input of [SingleSignOn.PutSSOConfig].
type NewSSOConfig struct {
	Issuer, ClientID string
	// SealedSecret is encrypted. If it is empty, the stored one remains, which belongs to
	// the issuer.
	SealedSecret         []byte
	DefaultRole, MaxRole Role
	RoleClaim            string
	AttributeClaims      map[string]string
	// Domains are all e-mail domains of the organisation; each is lower-case ASCII.
	Domains []string
}

// Bounds of a configuration.
const (
	MaxEmailDomains    = 100
	maxClaimName       = 128
	maxIssuer          = 2048
	maxClientID        = 512
	maxSealedSSOSecret = 64 << 10
)

// Validate returns nil or [FieldErrors]. Field names are those of the columns, and
// "domains[<i>]".
func (n NewSSOConfig) Validate() error {
	var e FieldErrors
	if u, err := url.Parse(n.Issuer); err != nil || u.Host == "" || len(n.Issuer) > maxIssuer || !storableText(n.Issuer) {
		e.add("issuer", "must be a URL of at most %d bytes", maxIssuer)
	}
	e.text("client_id", n.ClientID, 1, maxClientID)
	if len(n.SealedSecret) > maxSealedSSOSecret {
		e.add("client_secret", "is too long")
	}
	for _, r := range []struct {
		field string
		role  Role
	}{{"default_role", n.DefaultRole}, {"max_role", n.MaxRole}} {
		if !r.role.Valid() {
			e.add(r.field, "must be one of viewer, editor, builder, admin")
		}
	}
	if n.DefaultRole.Valid() && n.MaxRole.Valid() && !n.MaxRole.Includes(n.DefaultRole) {
		e.add("max_role", "must not be below the default role")
	}
	if n.RoleClaim != "" {
		e.text("role_claim", n.RoleClaim, 1, maxClaimName)
	}
	n.checkAttributes(&e)
	n.checkDomains(&e)
	return e.Err()
}

func (n NewSSOConfig) checkAttributes(e *FieldErrors) {
	if len(n.AttributeClaims) > MaxAttributes {
		e.add("attribute_claims", "must have at most %d entries", MaxAttributes)
		return
	}
	for _, name := range sortedKeys(n.AttributeClaims) {
		if !attributeName(name) {
			e.add("attribute_claims", "has a name that is not 1 to %d letters, digits, '_', '-' or '.', starting with a letter or '_'",
				MaxAttributeNameLength)
			continue
		}
		e.text("attribute_claims", n.AttributeClaims[name], 1, maxClaimName)
	}
}

func (n NewSSOConfig) checkDomains(e *FieldErrors) {
	if len(n.Domains) > MaxEmailDomains {
		e.add("domains", "must have at most %d entries", MaxEmailDomains)
		return
	}
	seen := map[string]bool{}
	for i, domain := range n.Domains {
		switch {
		case !emailDomain(domain):
			e.add(fmt.Sprintf("domains[%d]", i), "must be a domain")
		case seen[domain]:
			e.add(fmt.Sprintf("domains[%d]", i), "is listed twice")
		}
		seen[domain] = true
	}
}

// emailDomain reports whether a text has the form in which domains are stored: several
// lower-case ASCII labels.
func emailDomain(domain string) bool {
	if len(domain) > 253 || !strings.Contains(domain, ".") {
		return false
	}
	for label := range strings.SplitSeq(domain, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, c := range label {
			if c != '-' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
				return false
			}
		}
	}
	return true
}

// DomainMethod is how a domain was verified.
type DomainMethod string

// The methods. The empty one means that the domain is not verified.
const (
	DomainByDNS      DomainMethod = "dns"
	DomainByOperator DomainMethod = "operator"
)

// EmailDomain is a domain whose addresses an organisation claims as its own. A verified
// one belongs to one organisation.
type EmailDomain struct {
	Org    OrgID
	Domain string
	// Challenge is what a TXT record of the domain has to contain.
	Challenge string
	// Method is empty and VerifiedAt zero, unless the domain is verified.
	Method     DomainMethod
	VerifiedAt time.Time
	// CheckedAt is the time of the last look-up of the record, or zero. FailedAt is the time of
	// the first look-up that failed since the last one that succeeded, or zero.
	CheckedAt, FailedAt time.Time
	CreatedAt           time.Time
}

// Verified reports whether the organisation has proved that the domain is its own.
func (d EmailDomain) Verified() bool { return d.Method != "" }

// Lapsed reports whether a domain that was verified by DNS loses that at the given time,
// because its record has been missing for at least grace.
func (d EmailDomain) Lapsed(at time.Time, grace time.Duration) bool {
	return d.Method == DomainByDNS && !d.FailedAt.IsZero() && at.Sub(d.FailedAt) >= grace
}

// SingleSignOn stores the identity providers of organisations and their e-mail domains.
// Sign-ins that a change makes invalid end in the same transaction: all of the organisation's
// single sign-on if the issuer or the client id changes or the configuration is removed, and
// those of people with an address of a domain that is no longer verified.
type SingleSignOn interface {
	// PutSSOConfig creates or replaces the configuration of an organisation, and makes
	// its e-mail domains those that are listed: a domain that was listed before keeps its
	// challenge and its verification. It returns [ErrDomainTaken] for a domain that another
	// organisation has verified, and [FieldErrors] for client_secret if none is given and
	// none is stored for the issuer.
	PutSSOConfig(ctx context.Context, org OrgID, config NewSSOConfig) (SSOConfig, error)
	// SSOConfig returns the configuration of an organisation.
	SSOConfig(ctx context.Context, org OrgID) (SSOConfig, error)
	// SSOConfigsByClient lists the configurations with an issuer and client id. Several
	// organisations may share a provider.
	SSOConfigsByClient(ctx context.Context, issuer, clientID string) ([]SSOConfig, error)
	// SSOSecret returns the sealed client secret, for the server itself.
	SSOSecret(ctx context.Context, org OrgID) ([]byte, error)
	// DeleteSSOConfig removes the configuration and the e-mail domains.
	DeleteSSOConfig(ctx context.Context, org OrgID) error
	// EmailDomains lists the e-mail domains of an organisation by name.
	EmailDomains(ctx context.Context, org OrgID) ([]EmailDomain, error)
	// VerifiedDomain returns a domain that an organisation has verified.
	VerifiedDomain(ctx context.Context, domain string) (EmailDomain, error)
	// VerifyEmailDomain marks a domain as verified, after the proof. An operator's
	// verification remains one. Idempotent. It returns [ErrDomainTaken].
	VerifyEmailDomain(ctx context.Context, org OrgID, domain string, method DomainMethod) (EmailDomain, error)
	// RecordDomainCheck stores the result of a look-up of the record. If the domain has
	// lapsed (see [EmailDomain.Lapsed]), it is no longer verified, and the sign-ins by
	// its addresses end.
	RecordDomainCheck(ctx context.Context, org OrgID, domain string, found bool, grace time.Duration) (EmailDomain, error)
	// DomainsToCheck lists up to limit domains that were verified by DNS and not looked up
	// since a time, in the order of their last look-up.
	DomainsToCheck(ctx context.Context, since time.Time, limit int) ([]EmailDomain, error)
}
