package app

import (
	"github.com/lakewarden/lakewarden/api/middleware"
	"github.com/lakewarden/lakewarden/api/oauth2"
	"github.com/lakewarden/lakewarden/api/ops/write"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
	"github.com/lakewarden/lakewarden/engine/duckdb"
)

// limitsOf returns the limits that clients can read.
func limitsOf(settings config.Settings) v1.Limits {
	return v1.Limits{
		BodyBytes: middleware.DefaultMaxBody, BodyRows: settings.BodyRows, SQLBytes: duckdb.MaxSQL,
		RequestsPerMinute: settings.RatePerMinute, RequestBurst: settings.RateBurst,
		OrganisationRequestsPerMinute: settings.RateOrgPerMinute, OrganisationRequestBurst: settings.RateOrgBurst,
		RefusedCredentialsPerMinute: middleware.DefaultFailureRate.PerMinute,
		HiddenRowRefusalsPerMinute:  write.RefusalsPerMinute, ClientTokensPerMinute: oauth2.TokenRate.PerMinute,
		OrganisationAnalysesPerMinute: settings.Analysis.PerMinute, OrganisationAnalysisTokensPerDay: settings.Analysis.TokensPerDay,
		QueryTimeoutMS: settings.QueryTimeout.Milliseconds(), MaxQueryTimeoutMS: settings.MaxTimeout.Milliseconds(),
		StatementMemoryBytes: settings.Lease * config.MiB, StatementTempBytes: settings.TempBytes * config.MiB,
		StatementThreads: settings.Threads, StoredResultBytes: settings.ResultBytes * config.MiB, PageSize: 1000,
	}
}
