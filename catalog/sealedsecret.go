package catalog

import "context"

// SealedKind names a column of sealed secrets.
type SealedKind string

// The kinds of sealed secrets, with the subjects of [SealedSecret].
const (
	// SealedStorageCredential is the credential of a storage configuration. The subject is
	// the configuration.
	SealedStorageCredential SealedKind = "storage_credential"
	// SealedSSOSecret is the client secret of an organisation at its identity provider. The
	// subject is the issuer.
	SealedSSOSecret SealedKind = "sso_secret"
	// SealedProviderAppSecret is the client secret of an OAuth application. The subject is
	// the provider.
	SealedProviderAppSecret SealedKind = "provider_app_secret"
	// SealedProviderLinkTokens are the tokens of a member's link. The subject is the provider
	// and the user: [LinkSubject].
	SealedProviderLinkTokens SealedKind = "provider_link_tokens"
	// SealedSigningKey is a private key that signs access tokens. The subject is its id. It
	// belongs to no organisation.
	SealedSigningKey SealedKind = "signing_key"
	// SealedAnalysisKey is an organisation's key of a vendor of models. The subject is the
	// family.
	SealedAnalysisKey SealedKind = "analysis_key"
)

// SealedKinds lists all kinds.
func SealedKinds() []SealedKind {
	return []SealedKind{
		SealedStorageCredential, SealedSSOSecret, SealedProviderAppSecret, SealedProviderLinkTokens, SealedSigningKey,
		SealedAnalysisKey,
	}
}

// SealedSecret is an encrypted secret with its owner.
type SealedSecret struct {
	Kind SealedKind
	// Org is empty for a secret of the server.
	Org OrgID
	// Subject identifies the record within the kind and the organisation.
	Subject string
	Sealed  []byte
}

// SealedSecrets gives access to all encrypted records, also those of deleted
// organisations, for the server itself.
type SealedSecrets interface {
	// HasSealedSecrets reports whether the catalog holds a secret of any kind.
	HasSealedSecrets(ctx context.Context) (bool, error)
	// ListSealedSecrets returns up to limit secrets of the kind of after, ordered by
	// organisation and subject. It begins behind the organisation and subject of after.
	ListSealedSecrets(ctx context.Context, after SealedSecret, limit int) ([]SealedSecret, error)
	// ReplaceSealedSecret stores another ciphertext of an unchanged secret. It returns false
	// if the record has been changed or removed since it was read. It raises neither the
	// epoch nor the version of the record, because the secret stays the same.
	ReplaceSealedSecret(ctx context.Context, read SealedSecret, sealed []byte) (bool, error)
}

// LinkSubject returns the subject of the tokens of a link.
func LinkSubject(k ProviderLinkKey) string { return string(k.Provider) + "/" + string(k.User) }
