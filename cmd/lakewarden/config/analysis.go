package config

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
)

// AnalysisSettings configures the models that word analyses, and limits their use. Fields
// of a family are the operator's own; an organisation can have a key of its own.
type AnalysisSettings struct {
	// PerMinute bounds the analyses that an organisation begins in a minute, on all
	// replicas together; 0 means any number.
	PerMinute int `koanf:"analyses_per_minute"`
	// TokensPerDay and CostPerDay bound, for one organisation and day of UTC, the tokens of
	// models and their cost in US dollars; 0 means any.
	TokensPerDay int64   `koanf:"analysis_tokens_per_day"`
	CostPerDay   float64 `koanf:"analysis_cost_per_day"`
	// ModelTimeout bounds one call of a model.
	ModelTimeout time.Duration `koanf:"analysis_model_timeout"`
	// The key, the base URL and the prefix of model names at the vendor of a family. An
	// empty base URL is that of the vendor.
	FamilyAKey     string `koanf:"analysis_family_a_key"`
	FamilyABaseURL string `koanf:"analysis_family_a_base_url"`
	FamilyAPrefix  string `koanf:"analysis_family_a_prefix"`
	FamilyBKey     string `koanf:"analysis_family_b_key"`
	FamilyBBaseURL string `koanf:"analysis_family_b_base_url"`
	FamilyBPrefix  string `koanf:"analysis_family_b_prefix"`
	FamilyCKey     string `koanf:"analysis_family_c_key"`
	FamilyCBaseURL string `koanf:"analysis_family_c_base_url"`
	FamilyCPrefix  string `koanf:"analysis_family_c_prefix"`
	// Models changes models by their id, such as familyA-sonnet-5.
	Models map[string]AnalysisModel `koanf:"analysis_models"`
}

// AnalysisModel changes a model. Empty fields change nothing.
type AnalysisModel struct {
	// Name is the name at the vendor, instead of the prefix of the family with the rest of
	// the id.
	Name string `koanf:"name"`
	// InputPrice and OutputPrice are the prices of a million tokens in US dollars. Without
	// them calls of the model cost nothing.
	InputPrice  float64 `koanf:"input_price"`
	OutputPrice float64 `koanf:"output_price"`
}

// AnalysisFamily is what the operator has set for a family of models.
type AnalysisFamily struct{ Key, BaseURL, Prefix string }

// Families returns the settings of all families.
func (a *AnalysisSettings) Families() map[catalog.ModelFamily]AnalysisFamily {
	return map[catalog.ModelFamily]AnalysisFamily{
		catalog.FamilyA: {a.FamilyAKey, a.FamilyABaseURL, a.FamilyAPrefix},
		catalog.FamilyB: {a.FamilyBKey, a.FamilyBBaseURL, a.FamilyBPrefix},
		catalog.FamilyC: {a.FamilyCKey, a.FamilyCBaseURL, a.FamilyCPrefix},
	}
}

// CostMicrosPerDay returns CostPerDay in millionths of a US dollar.
func (a *AnalysisSettings) CostMicrosPerDay() int64 { return int64(math.Round(a.CostPerDay * 1e6)) }

// configured returns the families for which the operator has a key, in a fixed order.
func (a *AnalysisSettings) configured() []string {
	families := []string{}
	for _, family := range catalog.ModelFamilies() {
		if a.Families()[family].Key != "" {
			families = append(families, string(family))
		}
	}
	return families
}

const (
	// maxAnalysesPerMinute bounds analyses_per_minute: the catalog holds the time of each.
	maxAnalysesPerMinute = 6000
	// maxDollars bounds prices and costs, so that sums of them are exact.
	maxDollars = 1e6
)

// verifyAnalysis checks the settings of analyses. Its errors contain neither keys nor base
// URLs, which can hold a password.
func (c *Settings) verifyAnalysis() error {
	a := &c.Analysis
	var most error
	if a.PerMinute > maxAnalysesPerMinute {
		most = fmt.Errorf("analyses_per_minute: must be at most %d, is %d", maxAnalysesPerMinute, a.PerMinute)
	}
	err := firstError(atLeast("analyses_per_minute", a.PerMinute, 0), most,
		atLeast("analysis_tokens_per_day", a.TokensPerDay, 0), dollars("analysis_cost_per_day", a.CostPerDay),
		positive("analysis_model_timeout", a.ModelTimeout))
	if err != nil {
		return err
	}
	for _, f := range []struct {
		letter string
		family catalog.ModelFamily
	}{{"a", catalog.FamilyA}, {"b", catalog.FamilyB}, {"c", catalog.FamilyC}} {
		if err := c.verifyFamily("analysis_family_"+f.letter, a.Families()[f.family]); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(a.Models)) {
		model := a.Models[id]
		family, rest, found := strings.Cut(id, "-")
		if !found || rest == "" || !slices.Contains(catalog.ModelFamilies(), catalog.ModelFamily(family)) {
			return fmt.Errorf("analysis_models: must be ids such as familyA-sonnet-5, has %q", id)
		}
		if !plainToken(model.Name) {
			return fmt.Errorf("analysis_models.%s: name must have visible ASCII characters only", id)
		}
		if err := firstError(dollars("analysis_models."+id+".input_price", model.InputPrice),
			dollars("analysis_models."+id+".output_price", model.OutputPrice)); err != nil {
			return err
		}
	}
	return nil
}

// verifyFamily checks the settings of a family, whose keys begin with prefix.
func (c *Settings) verifyFamily(prefix string, f AnalysisFamily) error {
	if !plainToken(f.Key) { // it becomes a header
		return errors.New(prefix + "_key: must have visible ASCII characters only")
	}
	if err := c.verifyServiceURL(prefix+"_base_url", f.BaseURL); err != nil {
		return err
	}
	if !plainToken(f.Prefix) {
		return errors.New(prefix + "_prefix: must have visible ASCII characters only")
	}
	return nil
}

// plainToken reports whether text consists of visible ASCII characters.
func plainToken(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

func dollars(key string, value float64) error {
	if !(value >= 0 && value <= maxDollars) { // false for NaN, too
		return fmt.Errorf("%s: must be between 0 and %d US dollars, is %v", key, int64(maxDollars), value)
	}
	return nil
}
