package archtest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// metricName matches the names of metrics in Go files and in the table of
// docs/operations.md, and a few other names.
var metricName = regexp.MustCompile("[\"`](lakewarden_[a-z_]+)[\"`{]")

// notMetrics holds the other names that metricName matches.
var notMetrics = map[string]bool{
	"lakewarden_epoch":        true, // a channel of PostgreSQL
	"lakewarden_commits":      true, // another channel of PostgreSQL
	"lakewarden_is_deleted":   true, // a column of generated SQL
	"lakewarden_variant_text": true, // a function of generated SQL
	"lakewarden_":             true, // the common prefix
}

func metricsIn(text string) map[string]bool {
	names := map[string]bool{}
	for _, match := range metricName.FindAllStringSubmatch(text, -1) {
		if !notMetrics[match[1]] {
			names[match[1]] = true
		}
	}
	return names
}

// TestEveryMetricIsDocumented compares the metrics in the code with the documented
// ones.
func TestEveryMetricIsDocumented(t *testing.T) {
	root := os.DirFS(filepath.Join("..", ".."))
	var code strings.Builder
	require.NoError(t, fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && skipFolder(name):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(root, name)
		code.Write(text)
		return err
	}))
	text, err := fs.ReadFile(root, "docs/operations.md")
	require.NoError(t, err)
	require.NotEmpty(t, metricsIn(code.String()))
	require.Equal(t, metricsIn(code.String()), metricsIn(string(text)))
}
