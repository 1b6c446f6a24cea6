package catalog

import (
	"context"
	"time"
)

// ProviderApps stores organisations' applications at OAuth providers.
type ProviderApps interface {
	// PutProviderApp registers an application or replaces the one of the same provider.
	// If the client or the tenant changes, the links of members are removed, because
	// their tokens belong to the former client.
	PutProviderApp(ctx context.Context, app NewProviderApp) (ProviderApp, error)
	// ProviderApp returns an application.
	ProviderApp(ctx context.Context, org OrgID, provider Provider) (ProviderApp, error)
	// ProviderApps returns the applications of an organisation, ordered by provider.
	ProviderApps(ctx context.Context, org OrgID) ([]ProviderApp, error)
	// DeleteProviderApp removes an application and all links to it.
	DeleteProviderApp(ctx context.Context, org OrgID, provider Provider) error
	// ProviderAppSecret returns an application with its sealed client secret, for the
	// server itself.
	ProviderAppSecret(ctx context.Context, org OrgID, provider Provider) (ProviderApp, []byte, error)
}

// ProviderLinks stores the links of members to providers. A link ends with the
// membership and with the application.
type ProviderLinks interface {
	// PutProviderLink stores a link and replaces an earlier one of the member. It returns
	// [ErrNotFound] if the user is not a member, and [*VersionConflictError] if the
	// application is not at the version that the member agreed to.
	PutProviderLink(ctx context.Context, link NewProviderLink) (ProviderLink, error)
	// ProviderLinks returns the links of a member, ordered by provider.
	ProviderLinks(ctx context.Context, org OrgID, user UserID) ([]ProviderLink, error)
	// DeleteProviderLink removes a link.
	DeleteProviderLink(ctx context.Context, link ProviderLinkKey) error
	// ProviderLinkToken returns the sealed tokens of a link, for the server itself.
	ProviderLinkToken(ctx context.Context, link ProviderLinkKey) (ProviderLinkToken, error)
	// ClaimProviderLink reserves the exchange of the refresh token until the given time
	// and returns the new version. Providers that rotate refresh tokens revoke a link
	// whose token is used twice, so that only one replica may use it. It returns
	// [*VersionConflictError] if the link was changed or claimed since it was read. An
	// unexpired claim raises the version, so it conflicts, too. It does not raise the
	// epoch.
	ClaimProviderLink(ctx context.Context, link ProviderLinkKey, expectedVersion int64, until time.Time) (int64, error)
	// RenewProviderLink ends a claim and replaces the sealed tokens, unless sealed is
	// empty. broken marks the link as refused by the provider. It does not raise the
	// epoch.
	RenewProviderLink(ctx context.Context, link ProviderLinkKey, expectedVersion int64, sealed []byte, broken bool) error
}
