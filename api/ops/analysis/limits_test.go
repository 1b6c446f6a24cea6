package analysis_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/analysis"
	"github.com/lakewarden/lakewarden/auth"
)

func TestAnalysesAreLimitedByMinute(t *testing.T) {
	w := newWorld(t)
	l := analysis.Limits{Store: w.store, PerMinute: 2, Now: w.clock}
	viewer := as(t, w.org, auth.RoleViewer)
	require.NoError(t, l.Begin(viewer, w.org))
	w.now = w.now.Add(20 * time.Second)
	require.NoError(t, l.Begin(viewer, w.org))
	var many *analysis.TooManyError
	require.ErrorAs(t, l.Begin(viewer, w.org), &many)
	require.Equal(t, 40*time.Second, many.RetryIn())
	require.Equal(t, "rate_limited", many.ProblemCode())
	w.now = w.now.Add(many.RetryIn())
	require.NoError(t, l.Begin(viewer, w.org))
	l.PerMinute = 0
	for range 10 {
		require.NoError(t, l.Begin(viewer, w.org))
	}
}

func TestModelsAreLimitedByDay(t *testing.T) {
	w := newWorld(t)
	l := analysis.Limits{
		Store: w.store, TokensPerDay: 1000, CostPerDay: 2500, Now: w.clock,
		Prices: map[string]analysis.Price{"priced": {Input: 1.25, Output: 10}},
	}
	viewer := as(t, w.org, auth.RoleViewer)
	allows := func() bool {
		t.Helper()
		allowed, err := l.Allows(viewer, w.org)
		require.NoError(t, err)
		return allowed
	}
	spend := func(model string, input, output int64) int64 {
		t.Helper()
		gone, cancel := context.WithCancel(viewer)
		cancel() // a client that does not wait pays, too
		cost, err := l.Spend(gone, w.org, model, input, output)
		require.NoError(t, err)
		return cost
	}
	require.True(t, allows())
	require.EqualValues(t, 1250+1000+2, spend("priced", 1001, 100), "rounded up")
	require.False(t, allows(), "1101 tokens")
	l.TokensPerDay = 0
	require.True(t, allows(), "2252 of 2500")
	require.Zero(t, spend("free", 1_000_000, 0))
	require.True(t, allows())
	require.EqualValues(t, 200, spend("priced", 0, 20))
	require.True(t, allows(), "2452 of 2500")
	require.EqualValues(t, 50, spend("priced", 0, 5))
	require.False(t, allows(), "2502 of 2500")
	w.now = w.now.Add(24 * time.Hour)
	require.True(t, allows(), "another day")
	l.CostPerDay = 0
	require.True(t, allows())

	l.CostPerDay = 1
	w.now = w.now.Add(-24 * time.Hour)
	require.NoError(t, l.Sweep(t.Context()))
	require.False(t, allows())
	first := w.now
	w.now = w.now.Add(91 * 24 * time.Hour)
	require.NoError(t, l.Sweep(t.Context()))
	w.now = first
	require.True(t, allows(), "forgotten")
}
