package config

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// faults sets one setting each to an invalid value.
var faults = map[string]func(*Settings){
	"listen":               func(c *Settings) { c.Listen = "nowhere" },
	"metrics_addr":         func(c *Settings) { c.MetricsAddr = "nowhere" },
	"dns_server":           func(c *Settings) { c.DNSServer = "nowhere" },
	"trusted_proxies":      func(c *Settings) { c.TrustedProxies = []string{"10.0.0.0/8", "everybody"} },
	"database_url":         func(c *Settings) { c.DatabaseURL = "mysql://db" },
	"log_level":            func(c *Settings) { c.LogLevel = "loud" },
	"memory_mib":           func(c *Settings) { c.Memory = 127 },
	"statement_memory_mib": func(c *Settings) { c.Lease = 127 },
	"threads":              func(c *Settings) { c.Threads = 0 },
	"temp_mib":             func(c *Settings) { c.TempBytes = 0 },
	"spill_mib":            func(c *Settings) { c.SpillBytes = 0 },
	"spill_org_mib":        func(c *Settings) { c.SpillOrgBytes = 0 },
	"max_running":          func(c *Settings) { c.MaxRunning = -1 },
	"max_queued":           func(c *Settings) { c.MaxQueued = 0 },
	"query_timeout":        func(c *Settings) { c.QueryTimeout = -1 },
	"max_query_timeout":    func(c *Settings) { c.MaxTimeout = 0 },
	"rate_per_minute":      func(c *Settings) { c.RatePerMinute = 0 },
	"rate_burst":           func(c *Settings) { c.RateBurst = 0 },
	"rate_org_per_minute":  func(c *Settings) { c.RateOrgPerMinute = 0 },
	"rate_org_burst":       func(c *Settings) { c.RateOrgBurst = 0 },
	"discovery_interval":   func(c *Settings) { c.DiscoveryEvery = 0 },
	"vanish_after":         func(c *Settings) { c.VanishAfter = 0 },
	"undo_window":          func(c *Settings) { c.UndoWindow = 0 },
	"drain_timeout":        func(c *Settings) { c.DrainTimeout = 0 },
	"drain_notice":         func(c *Settings) { c.DrainNotice = -1 },
	"organisations":        func(c *Settings) { c.Organisations = "nobody" },
	"results_url":          func(c *Settings) { c.ResultsURL = "ftp://results" },
	"result_mib":           func(c *Settings) { c.ResultBytes = 0 },
	"results_org_mib":      func(c *Settings) { c.ResultsOrgBytes = 0 },
	"results_keep":         func(c *Settings) { c.ResultsKeep = 0 },
	"issuers":              func(c *Settings) { c.Issuers = []Issuer{{}} },
	"smtp_url":             func(c *Settings) { c.SMTPURL = "http://mail.example" },
	"mail_from":            func(c *Settings) { c.MailFrom = "nobody" },
	"store_timeout":        func(c *Settings) { c.StoreTimeout = 0 },
	"file_mode":            func(c *Settings) { c.FileMode = "0440" },
	"cache_memory_mib":     func(c *Settings) { c.CacheMemory = 0 },
	"cache_disk_mib":       func(c *Settings) { c.CacheDisk = 0 },
	"body_rows":            func(c *Settings) { c.BodyRows = 0 },
	"isolation":            func(c *Settings) { c.Isolation = "hope" },
	"azure_authority":      func(c *Settings) { c.AzureAuthority = "http://login.example" },
	"ambient_storage":      func(c *Settings) { c.AmbientStorage = []string{"az://account"} },

	"analyses_per_minute":        func(c *Settings) { c.Analysis.PerMinute = -1 },
	"analysis_tokens_per_day":    func(c *Settings) { c.Analysis.TokensPerDay = -1 },
	"analysis_cost_per_day":      func(c *Settings) { c.Analysis.CostPerDay = -0.01 },
	"analysis_model_timeout":     func(c *Settings) { c.Analysis.ModelTimeout = 0 },
	"analysis_family_a_key":      func(c *Settings) { c.Analysis.FamilyAKey = "two words" },
	"analysis_family_a_base_url": func(c *Settings) { c.Analysis.FamilyABaseURL = "http://models.example" },
	"analysis_family_a_prefix":   func(c *Settings) { c.Analysis.FamilyAPrefix = "a b" },
	"analysis_family_b_key":      func(c *Settings) { c.Analysis.FamilyBKey = "line\n" },
	"analysis_family_b_base_url": func(c *Settings) { c.Analysis.FamilyBBaseURL = "models.example" },
	"analysis_family_b_prefix":   func(c *Settings) { c.Analysis.FamilyBPrefix = "a b" },
	"analysis_family_c_key":      func(c *Settings) { c.Analysis.FamilyCKey = "\x00" },
	"analysis_family_c_base_url": func(c *Settings) { c.Analysis.FamilyCBaseURL = "https://" },
	"analysis_family_c_prefix":   func(c *Settings) { c.Analysis.FamilyCPrefix = "a b" },
	"analysis_models":            func(c *Settings) { c.Analysis.Models = map[string]AnalysisModel{"opus": {}} },
}

// TestVerifyNamesTheFirstSettingAtFault makes all settings invalid and then corrects
// them one by one. Verify must name the first invalid one in the order of Settings,
// whatever the order of map iteration.
func TestVerifyNamesTheFirstSettingAtFault(t *testing.T) {
	var order []string
	for _, key := range settingKeys() {
		if faults[key] != nil {
			order = append(order, key)
		}
	}
	require.Len(t, order, len(faults), "every fault is of a setting")
	sound := loaded(t)
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
	c := loaded(t)
	c.QueryTimeout = c.MaxTimeout + 1
	require.EqualError(t, c.Verify(), "query_timeout: must not exceed max_query_timeout")
}

// loaded returns the default settings with a temporary data directory.
func loaded(t testing.TB) Settings {
	t.Helper()
	config, err := Load(flag.NewFlagSet("test", flag.ContinueOnError), []string{"--data-dir", t.TempDir()})
	require.NoError(t, err)
	return config
}

// named returns the setting that an error names.
func named(err error) string {
	if err == nil {
		return ""
	}
	key, _, _ := strings.Cut(err.Error(), ":")
	key, _, _ = strings.Cut(key, "[")
	return key
}
