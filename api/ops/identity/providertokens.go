package identity

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/feature"
	"github.com/lakewarden/lakewarden/auth/provider"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// ErrLinkRequired is returned if a member has no link to a provider, or the provider has
// refused it: 409.
var ErrLinkRequired = fault.New("provider_link_required", "member has not linked the provider")

const (
	// tokenMargin is the remaining life below which an access token is replaced.
	tokenMargin = time.Minute
	// unknownLife is the assumed life of an access token whose provider does not tell.
	unknownLife = 5 * time.Minute
	// claimPoll is the interval in which the end of another replica's exchange is awaited.
	claimPoll = 100 * time.Millisecond
	// claimMargin exceeds the time that a claim takes and the difference between the clocks
	// of replicas, by which a claim must outlast the exchange.
	claimMargin = 15 * time.Second
	// storeTime is how long storing the result of an exchange is tried.
	storeTime = claimMargin
)

// ProviderTokens provides access tokens of linked members. It is safe for concurrent use.
//
// A provider that rotates refresh tokens revokes a link whose refresh token is used twice.
// So only one exchange of a token runs at a time: within the process by single flight, and
// across replicas by a claim on the link. Everybody else waits for its result, which is
// stored with the link.
type ProviderTokens struct {
	apps    ProviderApps
	now     func() time.Time
	flights singleflight.Group
}

// NewProviderTokens returns the tokens of the links of the given applications.
func NewProviderTokens(apps ProviderApps, now func() time.Time) *ProviderTokens {
	return &ProviderTokens{apps: apps, now: now}
}

// AccessToken returns an access token for a member's storage, valid for a minute at
// least. It returns [ErrLinkRequired], [*feature.DisabledError], and errors of package
// provider if the provider cannot be asked.
func (o *ProviderTokens) AccessToken(ctx context.Context, org catalog.OrgID, user catalog.UserID, name catalog.Provider) (string, error) {
	key := catalog.ProviderLinkKey{Org: org, Provider: name, User: user}
	flight := o.flights.DoChan(fmt.Sprint(key), func() (any, error) {
		// The exchange goes on if the caller that started it gives up, for the others and
		// because its result would be lost.
		ctx, cancel := context.WithTimeout(authz.System(context.WithoutCancel(ctx), "delegated token"), 2*(provider.ExchangeTime+claimMargin))
		defer cancel()
		return o.accessToken(ctx, key)
	})
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case done := <-flight:
		token, _ := done.Val.(string)
		return token, done.Err
	}
}

func (o *ProviderTokens) accessToken(ctx context.Context, key catalog.ProviderLinkKey) (string, error) {
	if err := feature.Require(ctx, o.apps.Store, key.Org, catalog.FeatureDelegatedStorage); err != nil {
		return "", err
	}
	for {
		stored, err := o.apps.Store.ProviderLinkToken(ctx, key)
		if errors.Is(err, catalog.ErrNotFound) || err == nil && stored.Broken {
			return "", ErrLinkRequired
		}
		if err != nil {
			return "", err
		}
		tokens, err := openTokens(o.apps.Keys, key, stored.Sealed)
		if err != nil {
			return "", err
		}
		now := o.now()
		if tokens.Expiry.After(now.Add(tokenMargin)) {
			return tokens.Access, nil
		}
		if stored.ClaimedUntil.After(now) {
			if err := pause(ctx, claimPoll); err != nil {
				return "", err
			}
			continue
		}
		token, err := o.exchange(ctx, key, stored.Version, tokens.Refresh)
		if !errors.Is(err, catalog.ErrVersionConflict) { // after a lost race the link is read again
			return token, err
		}
	}
}

// exchange claims a link, exchanges its refresh token, stores the result and returns the
// access token. It returns catalog.ErrVersionConflict if the link was changed since it was
// read.
func (o *ProviderTokens) exchange(ctx context.Context, key catalog.ProviderLinkKey, version int64, refresh string) (string, error) {
	at, err := o.apps.Providers.Provider(string(key.Provider))
	if err != nil {
		return "", err
	}
	app, _, err := o.apps.app(ctx, key.Org, key.Provider)
	if err != nil {
		return "", err
	}
	version, err = o.apps.Store.ClaimProviderLink(ctx, key, version, o.now().Add(provider.ExchangeTime+claimMargin))
	if err != nil {
		return "", err
	}
	tokens, err := at.Refresh(ctx, app, refresh)
	stored := context.WithoutCancel(ctx) // the refresh token was used
	switch {
	case errors.Is(err, provider.ErrGrant):
		if err := o.apps.Store.RenewProviderLink(stored, key, version, nil, true); err != nil {
			return "", err
		}
		return "", ErrLinkRequired
	case err != nil:
		// The claim ends with the failure, so that a retry need not wait.
		_ = o.apps.Store.RenewProviderLink(stored, key, version, nil, false) // it ends by itself, too
		return "", err
	}
	if tokens.Expiry.IsZero() {
		tokens.Expiry = o.now().Add(unknownLife)
	}
	sealed, err := sealTokens(o.apps.Keys, key, tokens)
	if err != nil {
		return "", err
	}
	return tokens.Access, o.store(stored, key, version, sealed)
}

// store stores exchanged tokens. They are the only copy if the provider rotates refresh
// tokens, so it tries again while the catalog is unavailable.
func (o *ProviderTokens) store(ctx context.Context, key catalog.ProviderLinkKey, version int64, sealed []byte) error {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	for {
		err := o.apps.Store.RenewProviderLink(ctx, key, version, sealed, false)
		if !errors.Is(err, catalog.ErrUnavailable) || pause(ctx, claimPoll) != nil {
			return err
		}
	}
}

// pause waits for d. It returns the error of ctx if that ends first.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
