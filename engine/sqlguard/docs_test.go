package sqlguard_test

import (
	"fmt"
	"os"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/sqlguard/functions"
)

const (
	docsFile  = "../../docs/sql.md"
	docsStart = "<!-- functions: written by the test, LAKEWARDEN_UPDATE_DOCS=1 go test ./engine/sqlguard -run Documentation -->\n"
)

// TestDocumentation keeps the list of functions in the documentation equal to
// the classification.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile(docsFile)
	require.NoError(t, err)
	head, tail, found := strings.Cut(string(text), docsStart)
	require.True(t, found)
	want := functionList()
	if os.Getenv("LAKEWARDEN_UPDATE_DOCS") == "1" {
		require.NoError(t, os.WriteFile(docsFile, []byte(head+docsStart+want), 0o644))
		return
	}
	require.Equal(t, want, tail)
}

func functionList() string {
	groups := map[string][]string{}
	for _, f := range functions.All() {
		if f.Namespace == "pragma" {
			continue
		}
		kind := map[string]string{"scalar": "In expressions", "table": "In FROM"}[f.Namespace]
		var title string
		switch f.Class {
		case functions.Allow:
			title = fmt.Sprintf("### %s: allowed", kind)
		case functions.Volatile:
			title = fmt.Sprintf("### %s: allowed, the result differs from run to run", kind)
		case functions.Cap:
			title = fmt.Sprintf("### %s: allowed, arguments bounded", kind)
		case functions.Constant:
			title = fmt.Sprintf("### %s: answered by the service", kind)
		default:
			title = fmt.Sprintf("### %s: refused, because %s", kind, f.Rule)
		}
		groups[title] = append(groups[title], "`"+strings.ReplaceAll(f.Name, "|", "&#124;")+"`")
	}
	titles := make([]string, 0, len(groups))
	for title := range groups {
		titles = append(titles, title)
	}
	sort.Strings(titles)
	var out strings.Builder
	for _, title := range titles {
		fmt.Fprintf(&out, "\n%s\n\n%s\n", title, strings.Join(groups[title], " "))
	}
	return out.String()
}
