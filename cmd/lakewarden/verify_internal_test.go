package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// faults sets one setting each to a value that the server refuses.
var faults = map[string]func(*Config){
	"listen":               func(c *Config) { c.Listen = "nowhere" },
	"metrics_addr":         func(c *Config) { c.MetricsAddr = "nowhere" },
	"trusted_proxies":      func(c *Config) { c.TrustedProxies = []string{"10.0.0.0/8", "everybody"} },
	"database_url":         func(c *Config) { c.DatabaseURL = "mysql://db" },
	"log_level":            func(c *Config) { c.LogLevel = "loud" },
	"memory_mib":           func(c *Config) { c.Memory = 127 },
	"statement_memory_mib": func(c *Config) { c.Lease = 127 },
	"threads":              func(c *Config) { c.Threads = 0 },
	"temp_mib":             func(c *Config) { c.TempBytes = 0 },
	"spill_mib":            func(c *Config) { c.SpillBytes = 0 },
	"spill_org_mib":        func(c *Config) { c.SpillOrgBytes = 0 },
	"max_running":          func(c *Config) { c.MaxRunning = -1 },
	"max_queued":           func(c *Config) { c.MaxQueued = 0 },
	"query_timeout":        func(c *Config) { c.QueryTimeout = -1 },
	"max_query_timeout":    func(c *Config) { c.MaxTimeout = 0 },
	"rate_per_minute":      func(c *Config) { c.RatePerMinute = 0 },
	"rate_burst":           func(c *Config) { c.RateBurst = 0 },
	"discovery_interval":   func(c *Config) { c.DiscoveryEvery = 0 },
	"drain_timeout":        func(c *Config) { c.DrainTimeout = 0 },
	"drain_notice":         func(c *Config) { c.DrainNotice = -1 },
	"results_url":          func(c *Config) { c.ResultsURL = "ftp://results" },
	"result_mib":           func(c *Config) { c.ResultBytes = 0 },
	"results_org_mib":      func(c *Config) { c.ResultsOrgBytes = 0 },
	"results_keep":         func(c *Config) { c.ResultsKeep = 0 },
	"issuers":              func(c *Config) { c.Issuers = []IssuerEntry{{}} },
	"store_timeout":        func(c *Config) { c.StoreTimeout = 0 },
	"cache_memory_mib":     func(c *Config) { c.CacheMemory = 0 },
	"cache_disk_mib":       func(c *Config) { c.CacheDisk = 0 },
	"body_rows":            func(c *Config) { c.BodyRows = 0 },
	"isolation":            func(c *Config) { c.Isolation = "hope" },
}

// TestVerifyNamesTheFirstSettingAtFault breaks all settings, then repairs them
// one by one: what Verify names is always the first broken one in the order of
// Config, whichever way a map is walked.
func TestVerifyNamesTheFirstSettingAtFault(t *testing.T) {
	var order []string
	for _, key := range settingKeys() {
		if faults[key] != nil {
			order = append(order, key)
		}
	}
	require.Len(t, order, len(faults), "every fault is of a setting")
	sound := testConfig(t)
	require.NoError(t, sound.Verify())
	for len(order) > 0 {
		broken := sound
		for _, key := range order {
			faults[key](&broken)
		}
		for range 30 {
			require.Equal(t, order[0], named(broken.Verify()))
		}
		alone := sound
		faults[order[0]](&alone)
		require.Equal(t, order[0], named(alone.Verify()))
		order = slices.Delete(order, 0, 1)
	}
}

func TestVerifyComparesTheTwoTimeouts(t *testing.T) {
	c := testConfig(t)
	c.QueryTimeout = c.MaxTimeout + 1
	require.EqualError(t, c.Verify(), "query_timeout: must not exceed max_query_timeout")
}

// named is the setting that an error names.
func named(err error) string {
	if err == nil {
		return ""
	}
	key, _, _ := strings.Cut(err.Error(), ":")
	key, _, _ = strings.Cut(key, "[")
	return key
}
