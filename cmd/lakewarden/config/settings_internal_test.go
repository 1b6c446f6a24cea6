package config

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHelpListsEverySetting checks that the help lists every setting with its default,
// and that the table of README.md has each of them.
func TestHelpListsEverySetting(t *testing.T) {
	var help bytes.Buffer
	flags := flag.NewFlagSet(ServeCommand, flag.ContinueOnError)
	flags.SetOutput(&help)
	_, err := Load(flags, []string{"--help"})
	require.ErrorIs(t, err, flag.ErrHelp)
	listed := map[string]string{}
	for line := range strings.Lines(help.String()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		listed[name] = strings.TrimSpace(value)
	}
	readme, err := os.ReadFile("../../../README.md")
	require.NoError(t, err)
	require.Greater(t, len(settingKeys()), 30)
	for _, key := range settingKeys() {
		require.NotEmpty(t, listed[variable(key)], key)
		if key != "issuers" && key != "providers" && key != "analysis_models" { // these cannot be set by a variable
			require.Contains(t, string(readme), "`"+variable(key)+"`")
		}
	}
	require.Contains(t, string(readme), "## Configuration", "the help names it")
	require.Equal(t, "127.0.0.1:8080", listed["LAKEWARDEN_LISTEN"])
	require.Equal(t, "10m", listed["LAKEWARDEN_MAX_QUERY_TIMEOUT"])
	require.Equal(t, "none", listed["LAKEWARDEN_RESULTS_ROLE_ARN"])

	// The paths in the help match the effective paths.
	dir := t.TempDir()
	t.Setenv("LAKEWARDEN_DATA_DIR", dir)
	config, err := Load(flag.NewFlagSet("test", flag.ContinueOnError), nil)
	require.NoError(t, err)
	in := func(key string) string { return strings.ReplaceAll(listed[variable(key)], "<data dir>", dir) }
	require.Equal(t, []string{in("local_roots")}, config.LocalRoots)
	require.Equal(t, in("key_file"), config.KeyFile)
	require.Equal(t, "file://"+filepath.ToSlash(in("results_url")), config.ResultsURL)
}
