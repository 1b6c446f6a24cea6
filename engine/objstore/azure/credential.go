package azure

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/remote"
)

// Credential proves the right to use a container. Exactly one field is set.
type Credential struct {
	// AccountKey is a key of the storage account, in base64.
	AccountKey string
	// SASToken is the query of a shared access signature.
	SASToken         string
	ServicePrincipal *ServicePrincipal
	ManagedIdentity  *ManagedIdentity
	// Ambient uses the identity of the machine: of its workload, or else the managed one.
	Ambient bool
	// Tokens requests the access tokens of somebody else. They are cached for their lifetime. Its
	// errors are passed on.
	Tokens func(ctx context.Context) (remote.Token, error)
}

// ServicePrincipal is an application of a tenant.
type ServicePrincipal struct {
	TenantID     string
	ClientID     string
	ClientSecret string
}

// ManagedIdentity is an identity of the machine that this server runs on.
type ManagedIdentity struct {
	// ClientID chooses one of several identities; empty is the one of the system.
	ClientID string
}

// String omits secrets, so that they do not reach logs and errors.
func (c Credential) String() string { return "azure.Credential(redacted)" }

// GoString is String.
func (c Credential) GoString() string { return c.String() }

// LogValue implements slog.LogValuer.
func (c Credential) LogValue() slog.Value { return slog.StringValue(c.String()) }

// String omits secrets, so that they do not reach logs and errors.
func (p ServicePrincipal) String() string { return "azure.ServicePrincipal(redacted)" }

// GoString is String.
func (p ServicePrincipal) GoString() string { return p.String() }

// LogValue implements slog.LogValuer.
func (p ServicePrincipal) LogValue() slog.Value { return slog.StringValue(p.String()) }

// String omits secrets, so that they do not reach logs and errors.
func (i Identity) String() string { return "azure.Identity(redacted)" }

// GoString is String.
func (i Identity) GoString() string { return i.String() }

// LogValue implements slog.LogValuer.
func (i Identity) LogValue() slog.Value { return slog.StringValue(i.String()) }

// modes returns the number of fields that are set.
func (c Credential) modes() (n int) {
	for _, set := range []bool{
		c.AccountKey != "", c.SASToken != "", c.ServicePrincipal != nil, c.ManagedIdentity != nil, c.Ambient, c.Tokens != nil,
	} {
		if set {
			n++
		}
	}
	return n
}

// tokens reports whether requests are authorised with bearer tokens.
func (c Credential) tokens() bool { return c.ServicePrincipal != nil || c.foreign() }

// foreign reports that the credential is not one that belongs to the container alone.
func (c Credential) foreign() bool { return c.ManagedIdentity != nil || c.Ambient || c.Tokens != nil }

// same reports whether two credentials that belong to their containers alone have the same rights.
func (c Credential) same(other Credential) bool {
	if c.foreign() || other.foreign() || c.AccountKey != other.AccountKey || c.SASToken != other.SASToken {
		return false
	}
	a, b := c.ServicePrincipal, other.ServicePrincipal
	return a == b || a != nil && b != nil && *a == *b
}

func (c Credential) sas() string { return strings.TrimPrefix(c.SASToken, "?") }

// resource is what tokens are requested for: the storage accounts of every cloud have this name.
const resource = "https://storage.azure.com/"

// source returns the tokens of a credential that needs some, else nil.
func (o Options) source(transport *http.Transport, limits Limits) *remote.Tokens {
	switch c := o.Credential; {
	case c.ServicePrincipal != nil:
		return exchange(transport, limits, func(ctx context.Context) (*http.Request, error) {
			return c.ServicePrincipal.request(ctx, cmp.Or(o.Identity.Authority, authority))
		})
	case c.Tokens != nil:
		return remote.NewTokens(c.Tokens)
	case c.Ambient && o.Identity.Workload.TokenFile != "":
		return exchange(remote.NewTransport(o.Identity.Dial, limits), limits, func(ctx context.Context) (*http.Request, error) {
			return o.Identity.Workload.request(ctx, cmp.Or(o.Identity.Authority, authority))
		})
	case c.foreign():
		var chosen ManagedIdentity
		if c.ManagedIdentity != nil {
			chosen = *c.ManagedIdentity
		}
		return exchange(remote.NewTransport(o.Identity.Dial, limits), limits, func(ctx context.Context) (*http.Request, error) {
			return chosen.request(ctx, o.Identity)
		})
	}
	return nil
}

// exchange returns the tokens that a request gets. The requests are not watched, because their
// outcome is not that of the write that follows.
func exchange(transport *http.Transport, limits Limits, request func(context.Context) (*http.Request, error)) *remote.Tokens {
	client := remote.NewClient(transport)
	return remote.NewTokens(func(ctx context.Context) (remote.Token, error) {
		defer transport.CloseIdleConnections()
		return remote.Exchange(ctx, client, limits, request)
	})
}

// request is the grant of client credentials with a secret.
func (p ServicePrincipal) request(ctx context.Context, authority string) (*http.Request, error) {
	return grant(ctx, authority, p.TenantID, url.Values{"client_id": {p.ClientID}, "client_secret": {p.ClientSecret}})
}

// request is the grant of client credentials with a signed assertion (RFC 7523).
func (w WorkloadIdentity) request(ctx context.Context, authority string) (*http.Request, error) {
	token, err := os.ReadFile(w.TokenFile)
	if err != nil {
		return nil, fmt.Errorf("%w: the token of the workload cannot be read", objstore.ErrUnavailable) // without the path
	}
	return grant(ctx, cmp.Or(w.Authority, authority), w.TenantID, url.Values{
		"client_id": {w.ClientID}, "client_assertion": {strings.TrimSpace(string(token))},
		"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"},
	})
}

// grant is the grant of client credentials, given by the fields of client.
func grant(ctx context.Context, authority, tenant string, client url.Values) (*http.Request, error) {
	client.Set("grant_type", "client_credentials")
	client.Set("scope", resource+".default")
	address := strings.TrimRight(authority, "/") + "/" + url.PathEscape(tenant) + "/oauth2/v2.0/token"
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(client.Encode()))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r, nil
}

// request is that of App Service or of the instance metadata service.
func (m ManagedIdentity) request(ctx context.Context, identity Identity) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, identity.Endpoint, nil)
	if err != nil {
		return nil, err
	}
	query := r.URL.Query()
	query.Set("resource", resource)
	if m.ClientID != "" {
		query.Set("client_id", m.ClientID)
	}
	if identity.Header != "" {
		query.Set("api-version", "2019-08-01")
		r.Header.Set("X-IDENTITY-HEADER", identity.Header)
	} else {
		query.Set("api-version", "2018-02-01")
		r.Header.Set("Metadata", "true")
	}
	r.URL.RawQuery = query.Encode()
	return r, nil
}
