package config

import (
	"fmt"
	"log/slog"
	"os"
)

// Level parses log_level.
func (c *Settings) Level() (slog.Level, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return level, fmt.Errorf("log_level: must be debug, info, warn or error, is %q", c.LogLevel)
	}
	return level, nil
}

// Attributes returns the main settings for the log. The database URL can hold a password,
// so only its kind is included. Only families of models with a key are listed.
func (c *Settings) Attributes() []any {
	database := "sqlite"
	if c.DatabaseURL != "" {
		database = "postgres"
	}
	return []any{
		"listen", c.Listen, "metrics_addr", c.MetricsAddr, "trusted_proxies", c.TrustedProxies, "data_dir", c.DataDir,
		"database", database, "local_roots", c.LocalRoots, "memory_mib", c.Memory, "statement_memory_mib", c.Lease,
		"temp_mib", c.TempBytes, "spill_mib", c.SpillBytes, "spill_org_mib", c.SpillOrgBytes, "threads", c.Threads, "max_running", c.MaxRunning,
		"query_timeout", c.QueryTimeout.String(), "max_query_timeout", c.MaxTimeout.String(), "issuers", len(c.Issuers),
		"key_file", c.KeyFile, "key_kms_uri", c.KeyKMSURI,
		"allow_private_endpoints", c.AllowPrivateEndpoints, "open_registration", c.OpenRegistration, "store_timeout", c.StoreTimeout.String(),
		"analysis_families", c.Analysis.configured(), "analyses_per_minute", c.Analysis.PerMinute,
		"analysis_tokens_per_day", c.Analysis.TokensPerDay, "analysis_cost_per_day", c.Analysis.CostPerDay,
	}
}

// NewLogger returns a logger that writes JSON lines to stderr. Commands write their
// results to stdout.
func (c *Settings) NewLogger() *slog.Logger {
	level, _ := c.Level() // Verify has checked it
	return slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}
