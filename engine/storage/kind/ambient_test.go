package kind_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/storage/kind"
)

func TestPatternsOfTheServersIdentity(t *testing.T) {
	const org, other = "0b9c2b6e-1111-4222-8333-444455556666", "0b9c2b6e-9999-4222-8333-444455556666"
	for _, test := range []struct {
		pattern, root, endpoint, org string
		first, want                  bool
	}{
		{"s3://lake", "s3://lake", "", org, true, true},
		{"s3://lake/", "s3://lake/any/folder", "", org, true, true},
		{"s3://lake", "s3://lake-2", "", org, true, false},
		{"s3://lake-*", "s3://lake-2/x", "", org, true, true},
		{"s3://lake-*", "s3://lake", "", org, true, false},
		{"s3://*", "s3://lake", "", org, true, true},
		{"gs://lake", "s3://lake", "", org, true, false},
		{"s3://lake", "s3://lake", "", other, false, false}, // another organisation
		{"s3://lake-{org}", "s3://lake-" + org, "", org, false, true},
		{"s3://lake-{org}", "s3://lake-" + org, "", other, false, false},
		{"s3://lake-{org}", "s3://lake-" + org, "", other, true, false},
		{"s3://lake-{org}", "s3://lake-", "", "", false, false},
		{"s3://lake/{org}", "s3://lake/" + org, "", org, false, true},
		{"s3://lake/{org}", "s3://lake/" + org + "/x", "", org, false, true},
		{"s3://lake/{org}", "s3://lake/" + org + "x", "", org, false, false},
		{"s3://lake/{org}", "s3://lake", "", org, false, false}, // the folders of all
		{"s3://lake/{org}", "s3://lake/" + other, "", org, false, false},
		{"s3://lake/team/*", "s3://lake/team", "", org, true, false},
		{"az://account/raw-*", "az://account/raw-1", "", org, true, true},
		{"az://account/raw-*", "az://account2/raw-1", "", org, true, false},
		{"az://account", "az://account", "", org, true, false},
		// The server's signature goes to no host that the operator has not named.
		{"s3://lake", "s3://lake", "https://evil.example", org, true, false},
		{"s3://lake?endpoint=https://store.example", "s3://lake", "https://store.example/", org, true, true},
		{"s3://lake?endpoint=https://store.example", "s3://lake", "https://store.example:8443", org, true, false},
		{"s3://lake?endpoint=https://store.example", "s3://lake", "https://store.example.evil.example", org, true, false},
		{"s3://lake?endpoint=https://store.example", "s3://lake", "http://store.example", org, true, false},
		{"s3://lake?endpoint=https://store.example", "s3://lake", "", org, true, false},
	} {
		patterns, err := kind.ParseAmbientPatterns([]string{test.pattern})
		if test.pattern == "az://account" {
			require.Error(t, err)
			continue
		}
		require.NoError(t, err, test.pattern)
		use := kind.AmbientUse{Root: test.root, Endpoint: test.endpoint}
		require.Equal(t, test.want, patterns.Allow(use, test.org, test.first), "%+v", test)
	}
	for _, wrong := range []string{
		"", "lake", "s3://", "s3:///lake", "s3://a//b", "s3://[", "file:///lake", "https://lake", "az://account", "s3://lake?endpoint=",
		"s3://lake?endpoint=store.example", "s3://lake?endpoint=file:///x",
	} {
		_, err := kind.ParseAmbientPatterns([]string{"s3://fine", wrong})
		require.Error(t, err, wrong)
	}
	require.False(t, kind.AmbientPatterns(nil).Allow(kind.AmbientUse{Root: "s3://lake"}, org, true))
}
