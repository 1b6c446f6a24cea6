package identity

import (
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/secret"
)

// Keyring encrypts secrets for the catalog: a [secret.Keyring].
type Keyring interface {
	Seal(b secret.Binding, plain []byte) ([]byte, error)
	Open(b secret.Binding, sealed []byte) ([]byte, error)
}

// ssoBinding binds the client secret of an organisation to its identity provider.
func ssoBinding(org catalog.OrgID, issuer string) secret.Binding {
	return secret.Binding{Kind: catalog.SealedSSOSecret, Org: org, Subject: issuer}
}

// appBinding binds the client secret of an application to its provider.
func appBinding(org catalog.OrgID, name catalog.Provider) secret.Binding {
	return secret.Binding{Kind: catalog.SealedProviderAppSecret, Org: org, Subject: string(name)}
}

// linkBinding binds the tokens of a link to its member and provider.
func linkBinding(k catalog.ProviderLinkKey) secret.Binding {
	return secret.Binding{Kind: catalog.SealedProviderLinkTokens, Org: k.Org, Subject: catalog.LinkSubject(k)}
}
