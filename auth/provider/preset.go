package provider

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/oauth2"
)

// The names of the presets.
const (
	One   = "provider_one"
	Two   = "provider_two"
	Three = "provider_three"
)

// Preset describes a provider. In its addresses {tenant} stands for the tenant of an
// application.
type Preset struct {
	// Issuer is the issuer of an OpenID provider. If AuthURL or TokenURL is empty, they
	// are read from its discovery document.
	Issuer string
	// AuthURL and TokenURL are the endpoints of the authorization code flow.
	AuthURL, TokenURL string
	// RevokeURL is the endpoint that revokes tokens (RFC 7009), or empty.
	RevokeURL string
	// AdminConsentURL is the page where an administrator of the provider's tenant
	// approves the application, or empty. {client_id} stands for the client.
	AdminConsentURL string
	// Permissions are the scopes of delegated storage that an application needs.
	Permissions []string
	// Scopes are requested in addition to Permissions.
	Scopes []string
	// Parameters are added to the authorization request.
	Parameters map[string]string
	// SecretInBody sends the client secret in the body of requests instead of in the
	// header Authorization.
	SecretInBody bool
	// StorageURL is the URL of the provider's store, or empty. {account} stands for the
	// account.
	StorageURL string
}

// presets returns the providers that are known without configuration.
func presets() map[string]Preset {
	return map[string]Preset{
		One: {
			Issuer:  "https://accounts.google.com",
			AuthURL: "https://accounts.google.com/o/oauth2/v2/auth", TokenURL: "https://oauth2.googleapis.com/token",
			RevokeURL:   "https://oauth2.googleapis.com/revoke",
			Permissions: []string{"https://www.googleapis.com/auth/devstorage.read_write"}, Scopes: []string{"openid"},
			Parameters:   map[string]string{"access_type": "offline", "prompt": "consent"},
			SecretInBody: true,
		},
		Two: {
			Scopes: []string{"openid", "offline_access"}, Parameters: map[string]string{"prompt": "consent"},
		},
		Three: {
			AuthURL:         "https://login.microsoftonline.com/{tenant}/oauth2/v2.0/authorize",
			TokenURL:        "https://login.microsoftonline.com/{tenant}/oauth2/v2.0/token",
			AdminConsentURL: "https://login.microsoftonline.com/{tenant}/adminconsent?client_id={client_id}",
			Permissions:     []string{"https://storage.azure.com/user_impersonation"}, Scopes: []string{"openid", "offline_access"},
			Parameters:   map[string]string{"prompt": "select_account"},
			SecretInBody: true,
		},
	}
}

// override returns p with the fields that are set in o. New endpoints or a new issuer
// replace all addresses, so that no secret goes to the provider of the preset.
func (p Preset) override(o Preset) Preset {
	if o.Issuer != "" || o.AuthURL != "" || o.TokenURL != "" {
		p.Issuer, p.AuthURL, p.TokenURL, p.RevokeURL, p.AdminConsentURL = o.Issuer, o.AuthURL, o.TokenURL, "", ""
		p.SecretInBody = o.SecretInBody
	}
	p.RevokeURL = cmp.Or(o.RevokeURL, p.RevokeURL)
	p.AdminConsentURL = cmp.Or(o.AdminConsentURL, p.AdminConsentURL)
	if len(o.Permissions) > 0 {
		p.Permissions = o.Permissions
	}
	if len(o.Scopes) > 0 {
		p.Scopes = o.Scopes
	}
	if o.Parameters != nil {
		p.Parameters = o.Parameters
	}
	return p
}

// Validate checks the addresses of a preset from the configuration.
func (p Preset) Validate() error {
	if (p.AuthURL == "") != (p.TokenURL == "") {
		return errors.New("needs both auth_url and token_url, or neither")
	}
	for name, address := range map[string]string{
		"issuer": p.Issuer, "auth_url": p.AuthURL, "token_url": p.TokenURL, "revoke_url": p.RevokeURL, "admin_consent_url": p.AdminConsentURL,
		"storage_url": p.StorageURL,
	} {
		if address == "" {
			continue
		}
		u, err := url.Parse(fill(address, App{ClientID: "client", Tenant: "tenant"}))
		if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http" {
			return fmt.Errorf("%s: must be a plain http or https URL", name)
		}
		if i := strings.Index(address, "{"); i >= 0 && !strings.Contains(address[:i], u.Host) {
			return fmt.Errorf("%s: must have no placeholder in its host", name)
		}
	}
	return nil
}

// scopes returns all scopes that are requested.
func (p Preset) scopes() []string { return slices.Concat(p.Permissions, p.Scopes) }

func (p Preset) authStyle() oauth2.AuthStyle {
	if p.SecretInBody {
		return oauth2.AuthStyleInParams
	}
	return oauth2.AuthStyleInHeader
}

// fill replaces the placeholders of an address. The client may contain any character.
func fill(address string, app App) string {
	return strings.NewReplacer("{tenant}", url.PathEscape(app.Tenant), "{client_id}", url.QueryEscape(app.ClientID)).Replace(address)
}
