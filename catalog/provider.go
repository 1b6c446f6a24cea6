package catalog

import (
	"regexp"
	"strings"
	"time"
)

// Provider is an OAuth provider of storage for which an organisation can register an
// application of its own.
type Provider string

// The providers. ProviderOne and ProviderThree provide cloud storage, ProviderTwo is any
// OpenID provider that the operator names.
const (
	ProviderOne   Provider = "provider_one"
	ProviderTwo   Provider = "provider_two"
	ProviderThree Provider = "provider_three"
)

// Providers returns all providers in a fixed order.
func Providers() []Provider { return []Provider{ProviderOne, ProviderTwo, ProviderThree} }

// HasTenant reports whether an application of the provider belongs to a tenant there.
func (p Provider) HasTenant() bool { return p == ProviderThree }

// ProviderApp is an organisation's OAuth application at a provider. Its client secret is
// not part of the record.
type ProviderApp struct {
	Org      OrgID
	Provider Provider
	ClientID string
	// Tenant is empty for a provider without tenants.
	Tenant    string
	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time
}

// NewProviderApp is the input of [ProviderApps.PutProviderApp].
type NewProviderApp struct {
	Org      OrgID
	Provider Provider
	ClientID string
	Tenant   string
	// SealedSecret is the client secret, encrypted by the caller.
	SealedSecret []byte
}

// tenantName matches ids and domain names: a tenant becomes a segment of a URL's path.
var tenantName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]|\.[A-Za-z0-9])*$`)

// Validate returns nil or [FieldErrors].
func (n NewProviderApp) Validate() error {
	var e FieldErrors
	e.provider(n.Provider)
	e.text("client_id", n.ClientID, 1, 255)
	switch {
	case !n.Provider.HasTenant() && n.Tenant != "":
		e.add("tenant", "is not for this provider")
	case n.Provider.HasTenant() && n.Tenant == "":
		e.add("tenant", "is required for this provider")
	case n.Tenant != "" && (len(n.Tenant) > 253 || !tenantName.MatchString(n.Tenant)):
		e.add("tenant", "must be the id or the domain name of a tenant")
	}
	e.sealed(n.SealedSecret)
	return e.Err()
}

// ProviderLinkKey identifies a member's link to a provider.
type ProviderLinkKey struct {
	Org      OrgID
	Provider Provider
	User     UserID
}

// ProviderLink is a member's delegation of access to their storage at a provider. Its
// tokens are not part of the record.
type ProviderLink struct {
	ProviderLinkKey
	// Subject identifies the user at the provider; empty if the provider did not tell.
	Subject string
	// Scopes are those that the provider granted.
	Scopes []string
	// BrokenAt is the time at which the provider refused the refresh token, or zero. The
	// member has to link again.
	BrokenAt time.Time
	// Version grows with every exchange of the refresh token, too.
	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time
}

// NewProviderLink is the input of [ProviderLinks.PutProviderLink].
type NewProviderLink struct {
	ProviderLinkKey
	Subject string
	Scopes  []string
	// AppVersion is the version of the application that the member agreed to.
	AppVersion int64
	// SealedToken holds the tokens, encrypted by the caller.
	SealedToken []byte
}

// Validate returns nil or [FieldErrors].
func (n NewProviderLink) Validate() error {
	var e FieldErrors
	e.provider(n.Provider)
	if !storableText(n.Subject) || len(n.Subject) > 255 {
		e.add("subject", "must be text of at most 255 bytes")
	}
	if scopes := strings.Join(n.Scopes, " "); !storableText(scopes) || len(scopes) > 4096 {
		e.add("scopes", "must be text of at most 4096 bytes")
	}
	e.sealed(n.SealedToken)
	return e.Err()
}

// ProviderLinkToken is the encrypted token of a link, for the server itself.
type ProviderLinkToken struct {
	Sealed []byte
	// Version is that of the link.
	Version int64
	// Broken reports that the provider refused the refresh token.
	Broken bool
	// ClaimedUntil is the time until which a replica exchanges the token, or zero.
	ClaimedUntil time.Time
}

func (e *FieldErrors) provider(p Provider) {
	for _, known := range Providers() {
		if p == known {
			return
		}
	}
	e.add("provider", "must be one of provider_one, provider_two, provider_three")
}

// sealed checks a secret that must exist.
func (e *FieldErrors) sealed(secret []byte) {
	if len(secret) == 0 {
		e.add("sealed_secret", "must not be empty")
	}
	checkSealed(e, secret)
}
