package storage

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// warnBefore is the time before the end of a credential from which the server warns.
const warnBefore = 7 * 24 * time.Hour

// CredentialState tells how close a credential is to its end.
type CredentialState string

// The states of a credential with a known end.
const (
	CredentialValid    CredentialState = "valid"
	CredentialExpiring CredentialState = "expiring"
	CredentialExpired  CredentialState = "expired"
)

// CredentialStateOf returns the state of a configuration's credential at a time. It is
// empty if the credential does not expire, or if its end is unknown.
func CredentialStateOf(config catalog.StorageConfig, now time.Time) CredentialState {
	end := config.CredentialExpiresAt
	switch {
	case end.IsZero():
		return ""
	case !end.After(now):
		return CredentialExpired
	case !end.After(now.Add(warnBefore)):
		return CredentialExpiring
	}
	return CredentialValid
}

// Expiry counts the credentials that have expired or will expire within 7 days, in the
// metrics of the server. Those that nobody can replace do not count.
type Expiry struct {
	store configLister
	now   func() time.Time
	count *prometheus.GaugeVec
}

// configLister is the part of the catalog that lists all configurations.
type configLister interface {
	catalog.Organisations
	catalog.StorageConfigs
	memberships
}

// NewExpiry returns counters that [Expiry.Update] sets.
func NewExpiry(store configLister, now func() time.Time, registerer prometheus.Registerer) *Expiry {
	count := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "lakewarden_storage_credentials_ending",
		Help: "Credentials of storage configurations that have expired or expire within 7 days.",
	}, []string{"kind", "state"})
	registerer.MustRegister(count)
	return &Expiry{store: store, now: now, count: count}
}

// Update counts anew. After an error the former counts stay.
func (e *Expiry) Update(ctx context.Context) error {
	type labels struct {
		kind  catalog.ConfigKind
		state CredentialState
	}
	found, now := map[labels]float64{}, e.now()
	for _, kind := range []catalog.ConfigKind{catalog.KindS3, catalog.KindGCS, catalog.KindAzure} {
		found[labels{kind, CredentialExpiring}], found[labels{kind, CredentialExpired}] = 0, 0
	}
	for config, err := range catalog.AllStorageConfigs(authz.System(ctx, "expiry of credentials"), e.store) {
		if err != nil {
			return err
		}
		state := CredentialStateOf(config, now)
		if state != CredentialExpiring && state != CredentialExpired {
			continue
		}
		ownerless, err := orphaned(authz.System(ctx, "expiry of credentials"), e.store, config)
		if err != nil {
			return err
		}
		if !ownerless {
			found[labels{config.Kind, state}]++
		}
	}
	for at, n := range found {
		e.count.WithLabelValues(string(at.kind), string(at.state)).Set(n)
	}
	return nil
}
