package catalog

import (
	"context"
	"time"
)

// AnalysisUse is what an organisation's analyses have used of models in a day.
type AnalysisUse struct {
	InputTokens, OutputTokens int64
	// CostMicros is the price in millionths of a US dollar.
	CostMicros int64
}

// Tokens returns the number of all tokens.
func (u AnalysisUse) Tokens() int64 { return u.InputTokens + u.OutputTokens }

// maxAnalysisUse bounds each number that is added at once, so that sums do not overflow.
const maxAnalysisUse = 1_000_000_000_000

// Validate returns nil or [FieldErrors].
func (u AnalysisUse) Validate() error {
	var e FieldErrors
	for _, n := range []struct {
		field string
		value int64
	}{{"input_tokens", u.InputTokens}, {"output_tokens", u.OutputTokens}, {"cost_micros", u.CostMicros}} {
		if n.value < 0 || n.value > maxAnalysisUse {
			e.add(n.field, "must be between 0 and %d", int64(maxAnalysisUse))
		}
	}
	return e.Err()
}

// AnalysisUses counts the analyses of organisations and their use of models, on all replicas
// together. No method raises the epoch.
//
// A day is a day of UTC; a method takes any time in it.
type AnalysisUses interface {
	// CountAnalysis counts an analysis that begins now, unless the organisation has begun
	// limit of them in the time window that ends now. It then returns how long to wait until
	// one may begin, else 0. A limit of 0 means any number, which are not counted. The window
	// slides: no period of that length has more analyses than the limit. Times are those of
	// the replicas, so that the window is as exact as their clocks agree.
	CountAnalysis(ctx context.Context, org OrgID, limit int, window time.Duration) (wait time.Duration, err error)
	// AddAnalysisUse adds to the use of a day and returns the sum.
	AddAnalysisUse(ctx context.Context, org OrgID, day time.Time, use AnalysisUse) (AnalysisUse, error)
	// AnalysisUse returns the use of a day.
	AnalysisUse(ctx context.Context, org OrgID, day time.Time) (AnalysisUse, error)
	// ForgetAnalysisUse removes, for all organisations, the use of days before that of the
	// given time, and the counts of organisations that have begun no analysis since then. It
	// returns the number of removed records.
	ForgetAnalysisUse(ctx context.Context, before time.Time) (int64, error)
}
