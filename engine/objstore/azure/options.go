package azure

import (
	"cmp"
	"encoding/base64"
	"net/url"
	"regexp"
	"strings"

	"github.com/lakewarden/lakewarden/engine/objstore/remote"
)

// Options describe a container, its endpoint and the credential for it.
type Options struct {
	// Account is the name of the storage account.
	Account   string
	Container string
	// Endpoint is the URL of the account's blob service if it is not that of the public cloud. Its
	// path is empty, or the account's name, as emulators need it.
	Endpoint   string
	Credential Credential
	// Identity tells where tokens are requested.
	Identity Identity
	// Dial opens every connection but those of the machine's own identity; nil is the system's dialer. With
	// it a caller decides which addresses may be reached.
	Dial   remote.Dial
	Limits Limits
}

// Limits bound a request's duration and memory. Zero values are the defaults.
type Limits = remote.Limits

// Identity has the hosts that issue tokens. The operator of the server sets them.
type Identity struct {
	// Authority is the URL of Azure's identity service, which issues the tokens of service
	// principals; empty is that of the public cloud.
	Authority string
	// Endpoint is the URL at which this machine gets the tokens of its managed identities. Managed
	// identities are refused if it is empty.
	Endpoint string
	// Header is the secret that App Service demands at Endpoint. If it is empty, the requests are
	// those of the instance metadata service.
	Header string
	// Workload is the identity of an ambient credential. If it is empty, the managed identity of the
	// system is.
	Workload WorkloadIdentity
	// Dial opens the connections to Endpoint, which is usually a loopback or link-local address, and
	// those of Workload; nil is the system's dialer.
	Dial remote.Dial
}

// WorkloadIdentity is an application of a tenant that trusts the platform on which the server runs.
type WorkloadIdentity struct {
	TenantID string
	ClientID string
	// TokenFile is the file with the token of the platform, which replaces its content.
	TokenFile string
	// Authority is the URL of the identity service; empty is that of [Identity].
	Authority string
}

// authority is the identity service of the public cloud.
const authority = "https://login.microsoftonline.com"

// OptionError is an option that New refuses: account, container, endpoint, credential, account_key,
// sas_token, tenant_id, client_id, client_secret, authority or identity_endpoint.
type OptionError = remote.OptionError

var (
	// An account becomes a part of a host name.
	accountName   = regexp.MustCompile(`^[a-z0-9]{3,24}$`)
	containerName = regexp.MustCompile(`^[a-z0-9](?:-?[a-z0-9]){2,62}$`)
	tenantID      = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?$`)
	clientID      = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)
)

// Check reports the first option that New would refuse, as an [OptionError].
func (o Options) Check() error {
	switch {
	case !accountName.MatchString(o.Account):
		return remote.Refuse("account", "must be the name of a storage account: 3 to 24 of a-z and 0-9")
	case !containerName.MatchString(o.Container) || len(o.Container) > 63:
		return remote.Refuse("container", "must be the name of a container: 3 to 63 of a-z, 0-9 and single '-'")
	case o.Endpoint != "" && !remote.ValidEndpoint(o.Endpoint, o.Account):
		return remote.Refuse("endpoint", "must be a URL of scheme and host, without query and user; its path may be the account")
	case o.Identity.Authority != "" && !remote.ValidEndpoint(o.Identity.Authority, ""):
		return remote.Refuse("authority", "must be a URL of scheme and host, without path, query and user")
	}
	return o.checkCredential()
}

func (o Options) checkCredential() error {
	c := o.Credential
	if c.modes() != 1 {
		return remote.Refuse("credential", "must be exactly one of account key, SAS token, service principal, managed identity and ambient")
	}
	if c.tokens() && strings.HasPrefix(o.Endpoint, "http:") {
		return remote.Refuse("endpoint", "must begin with https: for a credential of tokens")
	}
	switch {
	case c.AccountKey != "":
		if key, err := base64.StdEncoding.DecodeString(c.AccountKey); err != nil || len(key) == 0 {
			return remote.Refuse("account_key", "must be a key in base64")
		}
	case c.SASToken != "":
		if query, err := url.ParseQuery(c.sas()); err != nil || query.Get("sig") == "" || query.Has("restype") || query.Has("comp") {
			return remote.Refuse("sas_token", "must be the query of a shared access signature")
		}
	case c.ServicePrincipal != nil:
		return c.ServicePrincipal.check()
	case c.Tokens != nil, c.Ambient && o.Identity.Workload.TokenFile != "":
		return nil
	case o.Identity.Endpoint == "" || !remote.ValidURL(o.Identity.Endpoint):
		return remote.Refuse("identity_endpoint", "must be a URL: this server has no managed identities")
	case c.ManagedIdentity != nil && c.ManagedIdentity.ClientID != "" && !clientID.MatchString(c.ManagedIdentity.ClientID):
		return remote.Refuse("client_id", "must be an identifier of letters, digits and '-'")
	}
	return nil
}

func (p ServicePrincipal) check() error {
	switch {
	case !tenantID.MatchString(p.TenantID) || strings.Contains(p.TenantID, ".."):
		return remote.Refuse("tenant_id", "must be the identifier or the domain of a tenant")
	case !clientID.MatchString(p.ClientID):
		return remote.Refuse("client_id", "must be an identifier of letters, digits and '-'")
	case p.ClientSecret == "":
		return remote.Refuse("client_secret", "must not be empty")
	}
	return nil
}

// service returns the URL of the account's blob service.
func (o Options) service() string {
	return strings.TrimRight(cmp.Or(o.Endpoint, "https://"+o.Account+".blob.core.windows.net"), "/")
}

// url returns the URL of the container.
func (o Options) url() string {
	address := o.service() + "/" + o.Container
	if o.Credential.SASToken != "" {
		address += "?" + o.Credential.sas()
	}
	return address
}
