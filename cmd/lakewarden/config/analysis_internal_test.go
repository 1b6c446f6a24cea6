package config

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

func TestSettingsOfAnalyses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "settings.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`
analysis_cost_per_day: 2.5
analysis_family_c_base_url: https://models.example/v1
analysis_models:
  familyB-5.6: {name: five-point-six, input_price: 1.25, output_price: 10}
  familyA-opus-5: {input_price: 5}
`), 0o600))
	t.Setenv("LAKEWARDEN_ANALYSIS_FAMILY_A_KEY", "hush-a")
	t.Setenv("LAKEWARDEN_ANALYSIS_FAMILY_C_KEY", "hush-c")
	t.Setenv("LAKEWARDEN_ANALYSIS_FAMILY_C_PREFIX", "models/gemini-")
	t.Setenv("LAKEWARDEN_ANALYSES_PER_MINUTE", "0")
	c, err := Load(flag.NewFlagSet("test", flag.ContinueOnError), []string{"--data-dir", t.TempDir(), "--config", file})
	require.NoError(t, err)
	a := c.Analysis
	require.Zero(t, a.PerMinute)
	require.EqualValues(t, 2_000_000, a.TokensPerDay)
	require.EqualValues(t, 2_500_000, a.CostMicrosPerDay())
	require.Equal(t, 30*time.Second, a.ModelTimeout)
	require.Equal(t, map[catalog.ModelFamily]AnalysisFamily{
		catalog.FamilyA: {Key: "hush-a", Prefix: "claude-"}, catalog.FamilyB: {Prefix: "gpt-"},
		catalog.FamilyC: {Key: "hush-c", BaseURL: "https://models.example/v1", Prefix: "models/gemini-"},
	}, a.Families())
	require.Equal(t, map[string]AnalysisModel{
		"familyB-5.6": {Name: "five-point-six", InputPrice: 1.25, OutputPrice: 10}, "familyA-opus-5": {InputPrice: 5},
	}, a.Models, "ids contain the separator of keys")

	logged := fmt.Sprint(c.Attributes()...)
	require.Contains(t, logged, "[familyA familyC]")
	require.NotContains(t, logged, "hush")
}

func TestSettingsOfAnalysesAreChecked(t *testing.T) {
	for want, change := range map[string]func(*AnalysisSettings){
		"analyses_per_minute: must be at most 6000": func(a *AnalysisSettings) { a.PerMinute = 6001 },
		"analysis_cost_per_day: must be between":    func(a *AnalysisSettings) { a.CostPerDay = math.NaN() },
		"analysis_models.familyC-2.5-pro: name": func(a *AnalysisSettings) {
			a.Models = map[string]AnalysisModel{"familyC-2.5-pro": {Name: "a b"}}
		},
		"analysis_models.familyA-opus-5.output_price: must": func(a *AnalysisSettings) {
			a.Models = map[string]AnalysisModel{"familyA-opus-5": {OutputPrice: math.Inf(1)}}
		},
		`analysis_models: must be ids such as familyA-sonnet-5, has "familyD-1"`: func(a *AnalysisSettings) {
			a.Models = map[string]AnalysisModel{"familyD-1": {}}
		},
		"analysis_family_b_base_url: must be an https URL": func(a *AnalysisSettings) { a.FamilyBBaseURL = "http://u:hush@models.example" },
		"analysis_family_c_key: must have visible ASCII":   func(a *AnalysisSettings) { a.FamilyCKey = "hush hush" },
	} {
		c := loaded(t)
		change(&c.Analysis)
		err := c.Verify()
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hush")
	}
	c := loaded(t)
	c.AllowPrivateEndpoints, c.Analysis.FamilyBBaseURL = true, "http://127.0.0.1:9"
	require.NoError(t, c.Verify())
}
