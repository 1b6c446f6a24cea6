package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSettingsOfResults(t *testing.T) {
	for text, want := range map[string]string{
		"s3://lake/kept?region=eu-central-1":                                             "",
		"s3://lake?region=eu-central-1&endpoint=http%3A%2F%2Fstore:9000&path_style=true": "",
		"s3://lake/kept":                                "results_url: region",
		"s3://L/kept?region=eu-central-1":               "results_url: bucket",
		"s3://lake/a//b?region=eu-central-1":            "results_url: prefix",
		"s3://lake/../b?region=eu-central-1":            "results_url: prefix",
		"s3://lake?region=eu-central-1&secret=hush":     "results_url: takes",
		"s3://lake?region=eu-central-1&region=x":        "results_url: takes",
		"s3://lake?region=eu-central-1&path_style=1":    "results_url: takes",
		"s3://id:hush@lake/kept?region=eu-central-1":    "results_url: must be",
		"s3://lake?region=eu-central-1&endpoint=ftp://": "results_url: endpoint",
		"gs://lake":        "results_url: must be",
		"file://host/dir":  "results_url: must be",
		"file:///a?b=hush": "results_url: must be",
		"://hush":          "results_url: must be",
	} {
		c := loaded(t)
		c.ResultsURL, c.ResultsAccessKeyID, c.ResultsSecretAccessKey = text, "id", "hush"
		err := c.Verify()
		if want == "" {
			require.NoError(t, err, text)
			continue
		}
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "hush")
	}
	c := loaded(t)
	c.ResultsSecretAccessKey = "hush"
	require.ErrorContains(t, c.Verify(), "are for a results_url of s3://")
	c.ResultsURL = "s3://lake?region=eu-central-1"
	require.ErrorContains(t, c.Verify(), "results_access_key_id: must not be empty")
	c.ResultsAccessKeyID, c.ResultsRoleARN = "id", "nobody"
	require.ErrorContains(t, c.Verify(), "results_role_arn: must be")
}
