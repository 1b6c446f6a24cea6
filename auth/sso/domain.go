package sso

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// maxDomain is the length of the longest domain whose verification record still has a name
// that DNS allows.
const maxDomain = 253 - len(recordLabel) - 1

const (
	recordLabel  = "_lakewarden-challenge"
	recordPrefix = "lakewarden-verification="
	// lookupTime bounds the lookup of a record.
	lookupTime = 5 * time.Second
)

// NormaliseDomain returns the form in which a domain is stored and compared: lower-case
// A-labels without a final dot. It returns [ErrDomain] for a text that is no domain, for an
// address, for a single label and for a public suffix, which no organisation owns.
func NormaliseDomain(text string) (string, error) {
	domain, err := idna.Lookup.ToASCII(strings.TrimSuffix(text, "."))
	if err != nil || domain == "" || len(domain) > maxDomain || !strings.Contains(domain, ".") {
		return "", ErrDomain
	}
	if _, err := netip.ParseAddr(domain); err == nil {
		return "", ErrDomain
	}
	labels := strings.Split(domain, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.Contains(label, "_") {
			return "", ErrDomain
		}
	}
	if last := labels[len(labels)-1]; strings.Trim(last, "0123456789") == "" { // a form of an IPv4 address
		return "", ErrDomain
	}
	if suffix, _ := publicsuffix.PublicSuffix(domain); suffix == domain {
		return "", ErrDomain
	}
	return domain, nil
}

// Record returns the name and the content of the TXT record that verifies a domain.
func Record(domain, challenge string) (name, content string) {
	return recordLabel + "." + domain, recordPrefix + challenge
}

// Resolver reads TXT records. [net.Resolver] implements it.
type Resolver interface {
	LookupTXT(ctx context.Context, name string) ([]string, error)
}

// NewResolver returns a resolver that asks the server at host:port, or, if server is empty,
// those of the system.
func NewResolver(server string) *net.Resolver {
	if server == "" {
		return net.DefaultResolver
	}
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, server)
	}}
}

// CheckRecord checks that a domain has the TXT record of a challenge. Other records of the
// same name are irrelevant. Errors match [ErrRecord] or [ErrResolver], or are that of ctx.
func CheckRecord(ctx context.Context, resolver Resolver, domain, challenge string) error {
	name, content := Record(domain, challenge)
	limited, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	records, err := resolver.LookupTXT(limited, name+".") // absolute: no search domain is appended
	var failure *net.DNSError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &failure) && failure.IsNotFound:
		return &RecordError{Name: name}
	case err != nil:
		return fmt.Errorf("%w: %s", ErrResolver, name)
	}
	for _, record := range records {
		if strings.TrimSpace(record) == content {
			return nil
		}
	}
	return &RecordError{Name: name, Found: records}
}
