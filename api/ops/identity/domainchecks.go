package identity

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakewarden/lakewarden/auth/sso"
	"github.com/lakewarden/lakewarden/catalog"
)

const (
	// DomainGrace is how long the record of a verified domain may be missing.
	DomainGrace = 7 * 24 * time.Hour
	// domainCheckAge is the age at which a domain is looked up again.
	domainCheckAge = 24 * time.Hour
	// domainBatch is the number of domains that one check reads from the catalog at a time.
	domainBatch = 100
)

// DomainChecks checks once a day whether domains that were verified by DNS still have their
// records.
type DomainChecks struct {
	Store    catalog.SingleSignOn
	Resolver sso.Resolver
	Audit    Recorder
	Metrics  *DomainMetrics
	Logger   *slog.Logger
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
}

// DomainMetrics counts checks of domains. The labels name no domain.
type DomainMetrics struct{ checks *prometheus.CounterVec }

// The values of label outcome.
const (
	domainProved     = "proved"
	domainMissing    = "missing"
	domainLapsed     = "lapsed"
	domainUnanswered = "unanswered"
)

// NewDomainMetrics registers lakewarden_email_domain_checks_total{outcome}.
func NewDomainMetrics(registerer prometheus.Registerer) *DomainMetrics {
	m := &DomainMetrics{checks: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "lakewarden_email_domain_checks_total", Help: "Daily checks of verified e-mail domains.",
	}, []string{"outcome"})}
	for _, outcome := range []string{domainProved, domainMissing, domainLapsed, domainUnanswered} {
		m.checks.WithLabelValues(outcome)
	}
	registerer.MustRegister(m.checks)
	return m
}

// Run checks the domains that are due. A domain whose record has been missing for
// [DomainGrace] is no longer verified, and the sign-ins by its addresses end. A resolver that
// does not answer proves nothing. Replicas may run it at the same time: a check has no
// further effect on the same day.
func (d DomainChecks) Run(ctx context.Context) error {
	since := clock(d.Now).Add(-domainCheckAge)
	for tried := map[string]bool{}; ; {
		due, err := d.Store.DomainsToCheck(ctx, since, domainBatch)
		if err != nil {
			return err
		}
		progress := false
		for _, domain := range due {
			key := string(domain.Org) + " " + domain.Domain
			if tried[key] {
				continue // its resolver did not answer
			}
			tried[key], progress = true, true
			if err := d.check(ctx, domain); err != nil {
				return err
			}
		}
		if !progress || len(due) < domainBatch {
			return nil
		}
	}
}

func (d DomainChecks) check(ctx context.Context, domain catalog.EmailDomain) error {
	proof := sso.CheckRecord(ctx, d.Resolver, domain.Domain, domain.Challenge)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(proof, sso.ErrResolver):
		d.Metrics.checks.WithLabelValues(domainUnanswered).Inc()
		d.Logger.Warn("domain not checked", "domain", domain.Domain, "error", proof)
		return nil
	}
	after, err := d.Store.RecordDomainCheck(ctx, domain.Org, domain.Domain, proof == nil, DomainGrace)
	switch {
	case errors.Is(err, catalog.ErrNotFound): // removed meanwhile
		return nil
	case err != nil:
		return err
	case proof == nil:
		d.Metrics.checks.WithLabelValues(domainProved).Inc()
	case after.Verified():
		d.Metrics.checks.WithLabelValues(domainMissing).Inc()
		d.Logger.Warn("record of a verified domain is missing", "domain", domain.Domain, "since", after.FailedAt, "organisation", domain.Org)
	default:
		d.Metrics.checks.WithLabelValues(domainLapsed).Inc()
		d.Logger.Warn("domain is no longer verified", "domain", domain.Domain, "organisation", domain.Org)
		d.Audit.Record(catalog.AuditEntry{Org: domain.Org, Action: "sso.domain_lapsed", Resource: "domain/" + domain.Domain,
			Outcome: catalog.OutcomeDeny})
	}
	return nil
}
