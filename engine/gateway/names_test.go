package gateway_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func unescape(t *testing.T, name string) string {
	t.Helper()
	name, err := url.PathUnescape(name)
	require.NoError(t, err)
	return name
}

// listed is what S3 lists: names after a start, those in a folder as the folder.
func listed(names []string, prefix, delimiter, after string) []string {
	out := []string{}
	for _, name := range names {
		rest, below := strings.CutPrefix(name, prefix)
		if !below || name <= after {
			continue
		}
		if slash := strings.Index(rest, "/"); delimiter != "" && slash >= 0 {
			name = prefix + rest[:slash+1]
		}
		// A start that is the folder itself skips it: it is the last of a page.
		if name != after {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
