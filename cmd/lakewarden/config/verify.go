package config

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lakewarden/lakewarden/api/middleware"
	"github.com/lakewarden/lakewarden/auth/mail"
	"github.com/lakewarden/lakewarden/auth/provider"
	"github.com/lakewarden/lakewarden/engine/storage/kind"
)

// Verify returns an error that names the first invalid setting in the order of
// [Settings]. The order is fixed, so that equal settings always give the same error.
func (c *Settings) Verify() error {
	for _, check := range []func() error{
		c.verifyAddresses, c.verifyStatements, c.verifyServing, c.verifyResults, c.verifyIssuers, c.verifyMail, c.verifyStores,
		c.verifyAnalysis, c.verifyTimeouts,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (c *Settings) verifyAddresses() error {
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		return fmt.Errorf("listen: must be host:port, is %q", c.Listen)
	}
	if c.MetricsAddr != "" {
		if _, _, err := net.SplitHostPort(c.MetricsAddr); err != nil {
			return fmt.Errorf("metrics_addr: must be host:port, is %q", c.MetricsAddr)
		}
	}
	if _, err := c.Proxies(); err != nil {
		return err
	}
	if err := c.verifyPublicURL(); err != nil {
		return err
	}
	if c.DatabaseURL != "" && !strings.HasPrefix(c.DatabaseURL, "postgres://") && !strings.HasPrefix(c.DatabaseURL, "postgresql://") {
		return errors.New("database_url: must begin with postgres://")
	}
	_, err := c.Level()
	return err
}

// verifyPublicURL checks that public_url is an origin, to which paths can be appended.
func (c *Settings) verifyPublicURL() error {
	u, err := url.Parse(c.PublicURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || c.PublicURL != u.Scheme+"://"+u.Host {
		return fmt.Errorf("public_url: must be http:// or https:// and a host, without a path, is %q", c.PublicURL)
	}
	return nil
}

// Proxies parses trusted_proxies. An address becomes a network of one address.
func (c *Settings) Proxies() (middleware.TrustedProxies, error) {
	networks := make(middleware.TrustedProxies, len(c.TrustedProxies))
	for i, text := range c.TrustedProxies {
		network, err := netip.ParsePrefix(text)
		if address, single := netip.ParseAddr(text); single == nil && address.Zone() == "" {
			address = address.Unmap()
			network, err = netip.PrefixFrom(address, address.BitLen()), nil
		}
		if err != nil || network.Addr().Is4In6() {
			return nil, fmt.Errorf("trusted_proxies[%d]: must be an address or a network such as 10.0.0.0/8, is %q", i, text)
		}
		networks[i] = network
	}
	return networks, nil
}

func (c *Settings) verifyStatements() error {
	return firstError(
		atLeast("memory_mib", c.Memory, 128), atLeast("statement_memory_mib", c.Lease, 128),
		atLeast("threads", c.Threads, 1), atLeast("temp_mib", c.TempBytes, 1),
		atLeast("spill_mib", c.SpillBytes, 1), atLeast("spill_org_mib", c.SpillOrgBytes, 1),
		atLeast("max_running", c.MaxRunning, 1), atLeast("max_queued", c.MaxQueued, 1),
		positive("query_timeout", c.QueryTimeout), positive("max_query_timeout", c.MaxTimeout),
	)
}

func (c *Settings) verifyServing() error {
	var notice error
	if c.DrainNotice < 0 {
		notice = errors.New("drain_notice: must not be negative")
	}
	var creators error
	if c.Organisations != OrganisationsByAnyone && c.Organisations != OrganisationsByOperator {
		creators = fmt.Errorf("organisations: must be %s or %s, is %q", OrganisationsByAnyone, OrganisationsByOperator, c.Organisations)
	}
	return firstError(
		atLeast("rate_per_minute", c.RatePerMinute, 1), atLeast("rate_burst", c.RateBurst, 1),
		atLeast("rate_org_per_minute", c.RateOrgPerMinute, 1), atLeast("rate_org_burst", c.RateOrgBurst, 1),
		positive("discovery_interval", c.DiscoveryEvery), positive("vanish_after", c.VanishAfter),
		positive("undo_window", c.UndoWindow),
		positive("drain_timeout", c.DrainTimeout), notice, creators,
	)
}

func (c *Settings) verifyResults() error {
	_, err := c.Results()
	return firstError(err,
		atLeast("result_mib", c.ResultBytes, 1), atLeast("results_org_mib", c.ResultsOrgBytes, 1), positive("results_keep", c.ResultsKeep))
}

func (c *Settings) verifyIssuers() error {
	for i, issuer := range c.Issuers {
		if issuer.URL == "" || (issuer.JWKSURL == "") == (issuer.JWKSFile == "") {
			return fmt.Errorf("issuers[%d]: needs url and exactly one of jwks_url and jwks_file", i)
		}
	}
	for name, changed := range c.Providers {
		if !slices.Contains([]string{provider.One, provider.Two, provider.Three}, name) {
			return fmt.Errorf("providers: must be provider_one, provider_two or provider_three, is %q", name)
		}
		if err := provider.Preset(changed).Validate(); err != nil {
			return fmt.Errorf("providers.%s: %w", name, err)
		}
	}
	if c.DNSServer != "" {
		if _, _, err := net.SplitHostPort(c.DNSServer); err != nil {
			return fmt.Errorf("dns_server: must be host:port, is %q", c.DNSServer)
		}
	}
	return nil
}

// verifyMail does not repeat smtp_url, which can hold a password.
func (c *Settings) verifyMail() error {
	if c.SMTPURL != "" {
		if err := mail.CheckServer(c.SMTPURL); err != nil {
			return fmt.Errorf("smtp_url: %w", err)
		}
	}
	if _, err := mail.ParseFrom(c.MailFrom); err != nil {
		return fmt.Errorf("mail_from: %w", err)
	}
	return nil
}

func (c *Settings) verifyStores() error {
	var isolation error
	if c.Isolation != IsolationProcess && c.Isolation != IsolationNone {
		isolation = fmt.Errorf("isolation: must be %s or %s, is %q", IsolationProcess, IsolationNone, c.Isolation)
	}
	_, mode := c.LocalFileMode()
	return firstError(positive("store_timeout", c.StoreTimeout), c.verifyAzure(), c.verifyKMS(), mode,
		atLeast("cache_memory_mib", c.CacheMemory, 1), atLeast("cache_disk_mib", c.CacheDisk, 1), atLeast("body_rows", c.BodyRows, 1),
		atLeast("sandbox_quota_mib", c.SandboxQuota, 1), isolation)
}

// LocalFileMode returns [Settings.FileMode] as a mode; zero means none.
func (c *Settings) LocalFileMode() (fs.FileMode, error) {
	if c.FileMode == "" {
		return 0, nil
	}
	mode, err := strconv.ParseUint(c.FileMode, 8, 32)
	if err != nil || mode&0o600 != 0o600 || mode&^0o666 != 0 {
		return 0, fmt.Errorf("file_mode: must be octal, for files that their owner reads and writes, like 0640, is %q", c.FileMode)
	}
	return fs.FileMode(mode), nil
}

// kmsURI is the form of key_kms_uri.
var kmsURI = regexp.MustCompile(`^aws-kms://arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:(key|alias)/[a-zA-Z0-9/_-]+$`)

func (c *Settings) verifyKMS() error {
	if c.KeyKMSURI != "" && !kmsURI.MatchString(c.KeyKMSURI) {
		return fmt.Errorf("key_kms_uri: must be like aws-kms://arn:aws:kms:eu-central-1:111122223333:key/ID, is %q", c.KeyKMSURI)
	}
	return c.verifyServiceURL("key_kms_endpoint", c.KeyKMSEndpoint)
}

// verifyServiceURL checks the URL of a service to which credentials are sent: without TLS
// only where private endpoints are allowed.
func (c *Settings) verifyServiceURL(key, text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && (u.Scheme != "http" || !c.AllowPrivateEndpoints) {
		return errors.New(key + ": must be an https URL")
	}
	return nil
}

func (c *Settings) verifyAzure() error {
	if err := c.verifyServiceURL("azure_authority", c.AzureAuthority); err != nil {
		return err
	}
	if _, err := kind.ParseAmbientPatterns(c.AmbientStorage); err != nil {
		return fmt.Errorf("ambient_storage: %w", err)
	}
	return nil
}

// verifyTimeouts compares settings that are valid individually.
func (c *Settings) verifyTimeouts() error {
	if c.QueryTimeout > c.MaxTimeout {
		return errors.New("query_timeout: must not exceed max_query_timeout")
	}
	return nil
}

func atLeast[N int | int64](key string, value, least N) error {
	if value < least {
		return fmt.Errorf("%s: must be at least %d, is %d", key, least, value)
	}
	return nil
}

func positive(key string, value time.Duration) error {
	if value <= 0 {
		return fmt.Errorf("%s: must be a positive duration, is %s", key, value)
	}
	return nil
}

// firstError returns the first error that is not nil.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
