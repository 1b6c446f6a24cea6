package feature_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/feature"
	"github.com/lakewarden/lakewarden/catalog"
)

// organisation is a store of one organisation.
type organisation catalog.OrganisationConfig

func (o organisation) Organisation(_ context.Context, org catalog.OrgID) (catalog.Organisation, error) {
	if org != "known" {
		return catalog.Organisation{}, catalog.ErrNotFound
	}
	return catalog.Organisation{Config: catalog.OrganisationConfig(o)}, nil
}

func TestFeaturesAreOffUnlessSaidOtherwise(t *testing.T) {
	turned := organisation{Features: map[string]bool{catalog.FeatureSharing: false, catalog.FeatureSandbox: true}}
	require.NoError(t, feature.Require(t.Context(), turned, "known", catalog.FeatureSandbox))
	require.NoError(t, feature.Require(t.Context(), turned, "known", catalog.FeatureAnalysis), "on by default")
	for _, key := range []string{catalog.FeatureSharing, catalog.FeatureAnalysisModels, "unknown"} {
		var disabled *feature.DisabledError
		require.ErrorAs(t, feature.Require(t.Context(), turned, "known", key), &disabled)
		require.Equal(t, key, disabled.Key)
		require.Equal(t, "feature_disabled", disabled.ProblemCode())
	}
	require.ErrorIs(t, feature.Require(t.Context(), turned, "other", catalog.FeatureSandbox), catalog.ErrNotFound)
}
