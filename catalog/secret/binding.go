package secret

import "github.com/lakewarden/lakewarden/catalog"

// Binding identifies the owner of a secret. A ciphertext opens under its own binding
// only.
type Binding struct {
	Kind catalog.SealedKind
	// Org is empty for a secret of the server.
	Org catalog.OrgID
	// Subject is the record that the secret belongs to, as in [catalog.SealedSecret].
	Subject string
}

// BindingOf returns the binding of a stored secret.
func BindingOf(s catalog.SealedSecret) Binding {
	return Binding{Kind: s.Kind, Org: s.Org, Subject: s.Subject}
}

// purposes maps the kinds to their parts of the associated data. Nothing else can be
// sealed, so that a reseal finds every secret.
var purposes = map[catalog.SealedKind]string{
	catalog.SealedStorageCredential:  "credential",
	catalog.SealedSSOSecret:          "sso:",
	catalog.SealedProviderAppSecret:  "provider_app:client_secret",
	catalog.SealedProviderLinkTokens: "provider_link:token",
	catalog.SealedSigningKey:         "signing_key:",
	catalog.SealedAnalysisKey:        "analysis:key",
}

// associated returns the binding as bytes, and false for an unknown kind. Different
// bindings have different bytes: ids contain neither a bar nor a colon, only the last part
// may, and the second part has a colon unless it is the id of a configuration.
func (b Binding) associated() ([]byte, bool) {
	purpose, ok := purposes[b.Kind]
	if b.Kind == catalog.SealedStorageCredential {
		return []byte(string(b.Org) + "|" + b.Subject + "|" + purpose), ok
	}
	return []byte(string(b.Org) + "|" + purpose + "|" + b.Subject), ok
}
