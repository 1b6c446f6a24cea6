package azure

import (
	"log/slog"
	"net/url"
	"strings"
	"time"

	provider "github.com/lakewarden/lakewarden/engine/objstore/azure"
	"github.com/lakewarden/lakewarden/engine/storage/kind"
)

// Credential is the secret part of a configuration: exactly one of its fields is set.
type Credential struct {
	// AccountKey is an access key of the account.
	AccountKey string `json:"accountKey,omitempty"`
	// SASToken is a shared access signature for the container or the account.
	SASToken         string            `json:"sasToken,omitempty"`
	ServicePrincipal *ServicePrincipal `json:"servicePrincipal,omitempty"`
	ManagedIdentity  *ManagedIdentity  `json:"managedIdentity,omitempty"`
	kind.AmbientCredential
}

// ServicePrincipal is an application of Microsoft Entra ID with its secret.
type ServicePrincipal struct {
	TenantID     string `json:"tenantId"`
	ClientID     string `json:"clientId"`
	ClientSecret string `json:"clientSecret"`
}

// ManagedIdentity is an identity of the machine on which the server runs.
type ManagedIdentity struct {
	// ClientID chooses among several identities; empty means the machine's own.
	ClientID string `json:"clientId,omitempty"`
}

// String returns a text without secrets, for logs and errors.
func (c Credential) String() string { return "azure.Credential(redacted)" }

// GoString returns the same text as String.
func (c Credential) GoString() string { return c.String() }

// LogValue implements slog.LogValuer.
func (c Credential) LogValue() slog.Value { return slog.StringValue(c.String()) }

// String returns a text without secrets, for logs and errors.
func (ServicePrincipal) String() string { return "azure.ServicePrincipal(redacted)" }

// GoString returns the same text as String.
func (p ServicePrincipal) GoString() string { return p.String() }

// LogValue implements slog.LogValuer.
func (p ServicePrincipal) LogValue() slog.Value { return slog.StringValue(p.String()) }

// mode is one way of authentication, with the field of a request that chooses it.
type mode struct{ field, name string }

// modes returns the modes of a credential that are set. all contains every mode.
func (c Credential) modes() (set, all []mode) {
	for _, m := range []struct {
		mode
		set bool
	}{
		{mode{"accountKey", "account_key"}, c.AccountKey != ""},
		{mode{"sasToken", "sas_token"}, c.SASToken != ""},
		{mode{"servicePrincipal", "service_principal"}, c.ServicePrincipal != nil},
		{mode{"managedIdentity", "managed_identity"}, c.ManagedIdentity != nil},
		{mode{"credential", "ambient"}, c.Ambient()},
	} {
		all = append(all, m.mode)
		if m.set {
			set = append(set, m.mode)
		}
	}
	return set, all
}

// check checks that the credential has one mode and has not expired. The provider checks
// its form.
func (c Credential) check(now time.Time) error {
	if err := c.AmbientCredential.Check(); err != nil {
		return err
	}
	set, all := c.modes()
	wrong, message := set, "only one mode of authentication is allowed"
	if len(set) == 0 {
		wrong, message = all, "exactly one mode of authentication is required"
	}
	if len(set) != 1 {
		var fields kind.FieldErrors
		for _, m := range wrong {
			fields = append(fields, kind.FieldError{Field: m.field, Message: message})
		}
		return fields
	}
	if end := c.expiry(); !end.IsZero() && !end.After(now) {
		return kind.Refuse("sasToken", "has expired")
	}
	return nil
}

// provided returns the credential as the provider knows it.
func (c Credential) provided() provider.Credential {
	return provider.Credential{
		AccountKey: c.AccountKey, SASToken: c.SASToken,
		ServicePrincipal: (*provider.ServicePrincipal)(c.ServicePrincipal), ManagedIdentity: (*provider.ManagedIdentity)(c.ManagedIdentity),
		Ambient: c.Ambient(),
	}
}

// field returns the field of a request for an option of the provider.
func (c Credential) field(option string) string {
	switch option {
	case "account_key":
		return "accountKey"
	case "sas_token":
		return "sasToken"
	case "tenant_id":
		return "servicePrincipal.tenantId"
	case "client_secret":
		return "servicePrincipal.clientSecret"
	case "client_id":
		if c.ManagedIdentity != nil {
			return "managedIdentity.clientId"
		}
		return "servicePrincipal.clientId"
	case "identity_endpoint":
		if c.Ambient() {
			return "credential"
		}
		return "managedIdentity"
	}
	return option
}

// expiry returns the end that a shared access signature states, or zero.
func (c Credential) expiry() time.Time {
	query, err := url.ParseQuery(strings.TrimPrefix(c.SASToken, "?"))
	if err != nil {
		return time.Time{}
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z", time.DateOnly} {
		if end, err := time.Parse(layout, query.Get("se")); err == nil {
			return end.UTC()
		}
	}
	return time.Time{}
}
