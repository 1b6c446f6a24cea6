package v1

import (
	"context"

	"github.com/danielgtaylor/huma/v2"
)

// Limits are the server's limits, as GET /v1/limits returns them.
type Limits struct {
	BodyBytes         int64 `json:"body_bytes" doc:"Largest JSON body"`
	BodyRows          int64 `json:"body_rows" doc:"Largest number of rows in one write request"`
	SQLBytes          int64 `json:"sql_bytes" doc:"Longest statement"`
	RequestsPerMinute int   `json:"requests_per_minute" doc:"Per API key or person"`
	RequestBurst      int   `json:"request_burst"`

	OrganisationRequestsPerMinute int `json:"organisation_requests_per_minute" doc:"Of all keys and people of the organisation together"`
	OrganisationRequestBurst      int `json:"organisation_request_burst"`
	RefusedCredentialsPerMinute   int `json:"refused_credentials_per_minute" doc:"By address, by prefix of a key and by account"`
	HiddenRowRefusalsPerMinute    int `json:"hidden_row_refusals_per_minute" doc:"Writes of one user that keys or references refuse because of rows that the user may not see, on each replica"`
	ClientTokensPerMinute         int `json:"client_tokens_per_minute" doc:"Tokens of one service account"`

	OrganisationAnalysesPerMinute    int   `json:"organisation_analyses_per_minute" doc:"Analyses that begin, on all replicas together; 0 is any number"`
	OrganisationAnalysisTokensPerDay int64 `json:"organisation_analysis_tokens_per_day" doc:"Tokens of models, by days of UTC; 0 is any number"`

	QueryTimeoutMS       int64 `json:"query_timeout_ms" doc:"Used when timeout_ms is not sent"`
	MaxQueryTimeoutMS    int64 `json:"max_query_timeout_ms"`
	JSONRows             int64 `json:"json_rows" doc:"Rows of a JSON result"`
	JSONBytes            int64 `json:"json_bytes" doc:"Bytes of a JSON result"`
	StatementMemoryBytes int64 `json:"statement_memory_bytes"`
	StatementTempBytes   int64 `json:"statement_temp_bytes"`
	StatementThreads     int   `json:"statement_threads"`
	StoredResultBytes    int64 `json:"stored_result_bytes" doc:"Largest result of an operation"`
	PageSize             int   `json:"page_size" doc:"Largest page"`
}

// LimitRoutes registers the route that returns the limits.
func LimitRoutes(api huma.API, limits Limits) {
	limits.JSONRows, limits.JSONBytes = JSONRows, JSONBytes
	Add(api, Route{Method: "GET", Path: "/v1/limits", ID: "getLimits", Tag: "Service", Summary: "What the server allows"},
		func(context.Context, *NoInput) (Limits, error) { return limits, nil })
}
