package analysis

import (
	"context"
	"math"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// TooManyError is returned for an analysis beyond the number that an organisation may
// begin in a minute: 429.
type TooManyError struct{ Wait time.Duration }

// Error implements error.
func (e *TooManyError) Error() string { return "too many analyses of the organisation" }

// ProblemCode names the line in the table of errors.
func (e *TooManyError) ProblemCode() string { return "rate_limited" }

// RetryIn returns when the organisation may begin the next analysis.
func (e *TooManyError) RetryIn() time.Duration { return e.Wait }

// Price is the price of a million tokens in US dollars.
type Price struct{ Input, Output float64 }

// Micros returns the price of tokens in millionths of a US dollar, rounded up.
func (p Price) Micros(input, output int64) int64 {
	return int64(math.Ceil(float64(input)*p.Input + float64(output)*p.Output))
}

// Limits bounds the analyses of each organisation, on all replicas together. A limit of 0
// means any number.
type Limits struct {
	Store catalog.AnalysisUses
	// PerMinute bounds the analyses that begin within a minute.
	PerMinute int
	// TokensPerDay and CostPerDay bound the use of models in a day of UTC. CostPerDay is in
	// millionths of a US dollar.
	TokensPerDay, CostPerDay int64
	// Prices are those of models by id. A model without a price costs nothing.
	Prices map[string]Price
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

const (
	// useKept is how long the use of a day is stored.
	useKept = 90 * 24 * time.Hour
	// spendTime bounds the storing of use after its request has ended.
	spendTime = 5 * time.Second
)

// Begin counts an analysis that begins now. It returns a [*TooManyError] if the
// organisation may not begin one.
func (l Limits) Begin(ctx context.Context, org catalog.OrgID) error {
	wait, err := l.Store.CountAnalysis(authz.System(ctx, "count of analyses"), org, l.PerMinute, time.Minute)
	if err == nil && wait > 0 {
		err = &TooManyError{wait}
	}
	return err
}

// Allows reports whether a model may be called for an organisation: neither the tokens nor
// the cost of the day have reached their limit. Calls that run at the same time can exceed
// it together, by what they use.
func (l Limits) Allows(ctx context.Context, org catalog.OrgID) (bool, error) {
	if l.TokensPerDay == 0 && l.CostPerDay == 0 {
		return true, nil
	}
	use, err := l.Store.AnalysisUse(authz.System(ctx, "use of models"), org, l.now())
	if err != nil {
		return false, err
	}
	return (l.TokensPerDay == 0 || use.Tokens() < l.TokensPerDay) && (l.CostPerDay == 0 || use.CostMicros < l.CostPerDay), nil
}

// Spend adds the tokens of a call of a model to the use of the day, also if ctx has ended.
// It returns the cost in millionths of a US dollar.
func (l Limits) Spend(ctx context.Context, org catalog.OrgID, model string, input, output int64) (cost int64, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), spendTime)
	defer cancel()
	cost = l.Prices[model].Micros(input, output)
	_, err = l.Store.AddAnalysisUse(authz.System(ctx, "use of models"), org, l.now(),
		catalog.AnalysisUse{InputTokens: input, OutputTokens: output, CostMicros: cost})
	return cost, err
}

// Sweep deletes the use of days long ago.
func (l Limits) Sweep(ctx context.Context) error {
	_, err := l.Store.ForgetAnalysisUse(authz.System(ctx, "use of models"), l.now().Add(-useKept))
	return err
}

func (l Limits) now() time.Time {
	if l.Now == nil {
		return time.Now()
	}
	return l.Now()
}
